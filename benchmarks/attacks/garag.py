"""GARAG: genuine passages with typing errors where the answer stands.

The genetic search of the paper needs a language model. Its released texts are used where the data
has them; else two letters change places in the answer and in long words of the golden passage.
"""

from collections.abc import Sequence
from random import Random

from benchmarks.attacks.described import argued
from benchmarks.datasets import Record
from benchmarks.plugins import About, Attack

_LONG = 5
_SHARE = 0.3


def _misspelt(text: str, answer: str, draw: Random) -> str:
    words = []
    for word in text.split():
        hit = word.strip(".,") in answer.split() or draw.random() < _SHARE
        if hit and len(word) > _LONG - 2 * (word.strip(".,") in answer.split()):
            at = draw.randrange(1, len(word) - 2)
            word = word[:at] + word[at + 1] + word[at] + word[at + 2 :]  # noqa: PLW2901
        words.append(word)
    return " ".join(words)


def _plant(record: Record, count: int, draw: Random) -> Sequence[str]:
    if found := argued(record, count, kinds=["garag"]):
        return found
    answer = " ".join(record.correct[:1])
    genuine = sorted(record.golden)[:1]
    texts = [_misspelt(text, answer, draw) for text in genuine for _ in range(count)]
    return [text for text in dict.fromkeys(texts) if text not in record.golden]


_PAPER = ("Typos that Broke the RAG's Back, Cho et al.", "EMNLP Findings 2024")
_ABOUT = About("GARAG", *_PAPER, "changes genuine texts", "language model", "released texts")
ATTACK = Attack(_ABOUT, _plant)
