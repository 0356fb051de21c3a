"""What an adaptive attacker works on: a question, the false answer, and texts that argue for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.datasets import Dataset, Record

_KINDS = ("poisonedrag", "statement")
"""Kinds whose five texts argue for the one false answer, on the public and on the own data."""

_POOL = ("poisonedrag", "gpt4", "gemini", "statement")


@dataclass(frozen=True)
class Target:
    """A question under attack.

    Attributes:
        record: The question and what is retrieved for it.
        wrong: The false answer.
        texts: What the attacker wants read, best first; without the question.
        pool: All texts that argue for the false answer, those of `texts` first.
        others: Records of other questions, which a page of many questions is made up from.
    """

    record: Record
    wrong: str
    texts: tuple[str, ...]
    pool: tuple[str, ...]
    others: tuple[Record, ...]


def targets(dataset: Dataset, limit: int) -> list[Target]:
    """Return at most `limit` targets of a dataset's report half.

    Args:
        dataset: The questions.
        limit: How many, in order; questions without a false answer do not count.
    """
    found: list[Target] = []
    for at, record in enumerate(dataset.report):
        kind = next((kind for kind in _KINDS if record.poison.get(kind)), None)
        if kind is None or not any(record.incorrect) or len(found) == limit:
            continue
        others = [*dataset.report[at + 1 :], *dataset.report[:at]]
        found.append(
            Target(
                record,
                record.incorrect[0],
                _distinct(record.poison[kind]),
                _distinct(text for one in _POOL for text in record.poison.get(one, ())),
                tuple(others[:10]),
            )
        )
    return found


def _distinct(texts: Iterator[str] | Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text.strip()))
