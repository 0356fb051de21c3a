"""RAGSieve, its tests of rank: what do the first k share that the fifteen below them do not?

For every word beside the question's that two of the first k hold, how probable is it that so many
of its holders stand there, were ranks exchangeable? A passage's words are put together by Simes'
inequality. The share of letters of another script is ranked among those of the passages below.
Reduced: the paper adds what language models say to the same threshold.
"""

import unicodedata
from collections import Counter
from math import comb, log10

from benchmarks.plugins import About, Case, Decision, Defence
from ragguard.stems import tokenize

_THRESHOLD, _SHORT = 1.0, 3  # the paper's; words of fewer letters are no anchors, numbers are


def _other_script(text: str) -> float:
    """Return the share of letters that are not of the commonest script."""
    scripts = Counter(unicodedata.name(sign, "?").split()[0] for sign in text if sign.isalpha())
    return 1.0 - max(scripts.values()) / scripts.total() if scripts else 0.0


def _anchor(n: int, k: int, held: int, first: int) -> float:
    """Return P(at least `first` of `held` passages among the first k of n)."""
    ways = [comb(held, i) * comb(n - held, k - i) for i in range(first, min(held, k) + 1)]
    return sum(ways) / comb(n, k)


def scores(question: str, texts: tuple[str, ...], k: int) -> list[float]:
    """Return the evidence against each of the first k; there must be passages below them."""
    n, asked = len(texts), set(tokenize(question))
    words = [{w for w in tokenize(t) if len(w) >= _SHORT or w.isdigit()} - asked for t in texts]
    first = Counter(word for held in words[:k] for word in held)
    everywhere = Counter(word for held in words for word in held)
    anchors = {word: _anchor(n, k, everywhere[word], m) for word, m in first.items() if m > 1}
    strange = [_other_script(text) for text in texts]
    found = []
    for at in range(k):
        p = sorted(anchors[word] for word in words[at] if word in anchors)
        shared = min([1.0, *(len(p) * one / rank for rank, one in enumerate(p, 1))])
        below = [(one > strange[at]) + (one == strange[at]) / 2 for one in strange[k:]]
        odd = (0.5 + sum(below)) / (n - k + 1)
        found.append(-log10(shared) / log10(comb(n, k)) - log10(odd) / log10(2 * (n - k + 1)))
    return found


def _judge(case: Case) -> Decision:
    texts, k = case.retrieved.texts, case.k
    found = scores(case.retrieved.question, texts, k) if len(texts) > k else [0.0] * len(texts)
    gone = {at for at, one in enumerate(found) if one > _THRESHOLD - 1e-9}
    return Decision(tuple(at for at in range(len(texts)) if at not in gone)[:k])


_PAPER = ("RAGSieve, rank tests", "RAGSieve, Xu and Li", "arXiv 2608.13010")
_ABOUT = About(*_PAPER, "one query", fidelity="reduced")
DEFENCE = Defence(_ABOUT, lambda _: _judge, over_fetch=4)
