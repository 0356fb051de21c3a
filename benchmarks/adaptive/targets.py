"""What an adaptive attacker works on: a question, the false answer, and texts that argue for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.datasets import Dataset, Record
from ragguard.demo.corpus import load_corpus
from ragguard.jsonl import open_input, read_lines
from ragguard.stems import tokenize

__all__ = ["Target", "states", "targets"]

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


def targets(dataset: Dataset, folder: Path | None, limit: int) -> list[Target]:
    """Return at most `limit` targets of a dataset's report half.

    Args:
        dataset: The questions.
        folder: Where its file is; None for the project's own data.
        limit: How many, in order; questions without a false answer do not count.

    Raises:
        InvalidInputError: A line of the file is not a record.
    """
    wrong = _own_answers() if folder is None else dict(_answers(folder / f"{dataset.name}.jsonl"))
    found: list[Target] = []
    for at, record in enumerate(dataset.report):
        kind = next((kind for kind in _KINDS if record.poison.get(kind)), None)
        if kind is None or not wrong.get(record.question) or len(found) == limit:
            continue
        others = [*dataset.report[at + 1 :], *dataset.report[:at]]
        found.append(
            Target(
                record,
                wrong[record.question],
                _distinct(record.poison[kind]),
                _distinct(text for one in _POOL for text in record.poison.get(one, ())),
                tuple(others[:10]),
            )
        )
    return found


def states(text: str, answer: str) -> bool:
    """Return True if a text holds an answer word for word.

    >>> states("It is in Oslo, Norway.", "oslo norway")
    True
    """
    return f" {' '.join(tokenize(answer))} " in f" {' '.join(tokenize(text))} "


def _distinct(texts: Iterator[str] | Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def _own_answers() -> dict[str, str]:
    return {question.text: question.incorrect_answer for question in load_corpus().questions}


def _answers(path: Path) -> Iterator[tuple[str, str]]:
    with open_input(path) as stream:
        for line in read_lines(stream, str(path)):
            if isinstance(line.value, dict) and "incorrect_answer" in line.value:
                yield line.value["question"], line.value["incorrect_answer"]
