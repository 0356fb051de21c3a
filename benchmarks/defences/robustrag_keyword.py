"""RobustRAG, keyword aggregation: each passage is read alone, and words that recur decide."""

from collections import Counter

from benchmarks.metrics.matching import refuses
from benchmarks.plugins import About, Case, Decision, Defence
from ragguard.stems import tokenize
from ragguard.text import STOP_WORDS

_SHARE = 0.3  # of the answers in which a word has to stand, the paper's alpha
_LEAST = 2


def _judge(case: Case) -> Decision:
    everything = tuple(range(len(case.retrieved.texts)))
    answers = [case.read(case.prompt([position])).text for position in everything]
    given = [answer for answer in answers if not refuses(answer)]
    words = [word for answer in given for word in dict.fromkeys(tokenize(answer))]
    counts = Counter(word for word in words if word not in STOP_WORDS)
    needed = max(_LEAST, _SHARE * len(given))
    recurring = [word for word, count in counts.most_common() if count >= needed]
    hint = f" Words that several sources gave: {', '.join(recurring)}." if recurring else ""
    answer = case.read(case.prompt((), f"Answer the question in a few words.{hint}"))
    return Decision(everything, answer=answer.text)


_PAPER = ("Certifiably Robust RAG, Xiang et al., arXiv 2405.15556", "arXiv 2024")
_ABOUT = About("RobustRAG, keywords", *_PAPER, "one query", "language model", "templated")
DEFENCE = Defence(_ABOUT, lambda _: _judge)
