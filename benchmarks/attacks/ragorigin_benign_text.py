"""RAGOrigin's adaptive attacker: a genuine passage about the question follows each planted text."""

from collections.abc import Sequence
from random import Random

from benchmarks.attacks.described import argued
from benchmarks.datasets import Record
from benchmarks.plugins import About, Attack


def _plant(record: Record, count: int, draw: Random) -> Sequence[str]:
    del draw
    texts = argued(record, count, "prepend")
    return [f"{text} {record.hits[at % len(record.hits)]}" for at, text in enumerate(texts)]


_PAPER = ("RAGOrigin, Section 6.3", "IEEE S&P 2026")
_ABOUT = About("benign text behind it", *_PAPER, "knows question and attribution; adds texts")
ATTACK = Attack(_ABOUT, _plant)
