"""Questions with a right and a wrong answer, and the texts that argue for the wrong one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.datasets import OWN, Record, skerrin
from benchmarks.datasets.records import load_file
from ragguard.content import content_key

__all__ = ["OWN", "Target", "load_targets"]


@dataclass(frozen=True)
class Target:
    """A question that an attacker aims at.

    Attributes:
        question: As a user types it.
        right: Its answer.
        wrong: The answer that the attacker wants.
        hits: What retrievers returned for it, free of poison, every text once.
        poison: The attacker's texts by kind of attack, not yet in any question form.
    """

    question: str
    right: str
    wrong: str
    hits: tuple[str, ...]
    poison: Mapping[str, tuple[str, ...]]


def load_targets(
    folder: Path | None, names: Sequence[str], *, half: int, limit: int | None
) -> Iterator[tuple[str, list[Target]]]:
    """Yield each dataset that the folder holds, and the project's own.

    Args:
        folder: Holds `<name>.jsonl`; None: the project's own data alone.
        names: Which datasets.
        half: 1 for the records with odd numbers, which are reported; 0 for the even ones. The
            project's own are yielded whole.
        limit: Records of a dataset at most.

    Raises:
        InvalidInputError: A line is not a record.
    """
    for name in names:
        path = None if folder is None else folder / f"{name}.jsonl"
        if path is not None and path.is_file():
            yield name, _targets(load_file(path, name).records[half::2][:limit])
    yield OWN, _targets(skerrin().records[:limit])


def _targets(records: Sequence[Record]) -> list[Target]:
    return [
        Target(one.question, one.correct[0], one.incorrect[0], _distinct(one.hits), one.poison)
        for one in records
    ]


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Return every text once; texts of the same words are one, as they are to the methods."""
    return tuple({content_key(text): text for text in texts}.values())
