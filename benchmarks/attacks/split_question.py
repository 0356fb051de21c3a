"""The question in parts: its first half before one text, its second before the next."""

from collections.abc import Sequence
from random import Random

from benchmarks.attacks.described import OURS, argued
from benchmarks.datasets import Record
from benchmarks.plugins import About, Attack


def _plant(record: Record, count: int, _: Random) -> Sequence[str]:
    words = record.question.rstrip("?").split()
    half = (len(words) + 1) // 2
    parts = [" ".join(part) for part in (words[:half], words[half:]) if part]
    texts = argued(record, count)
    return (
        [f"{parts[at % len(parts)]}. {text}" for at, text in enumerate(texts)] if parts else texts
    )


ATTACK = Attack(About("split question", *OURS), _plant)
