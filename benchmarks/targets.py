"""Questions with a right and a wrong answer, and the texts that argue for the wrong one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragguard.content import content_key
from ragguard.demo.corpus import load_corpus
from ragguard.errors import InvalidInputError
from ragguard.jsonl import open_input, read_lines
from ragguard.stems import tokenize

__all__ = ["OWN", "Target", "load_targets", "says"]

OWN = "skerrin"
"""The name of the project's own data."""


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
            yield name, list(_read(path))[half::2][:limit]
    corpus = load_corpus()
    pages = _distinct(passage.text for passage in corpus.passages)
    own = [
        Target(q.text, q.correct_answer, q.incorrect_answer, pages, dict(q.texts.items()))
        for q in corpus.questions
    ]
    yield OWN, own[:limit]


def _read(path: Path) -> Iterator[Target]:
    with open_input(path) as stream:
        for line in read_lines(stream, str(path)):
            value = line.value
            try:
                yield Target(
                    value["question"],
                    value["correct_answer"],
                    value["incorrect_answer"],
                    _distinct(hit["text"] for hit in value["hits"]),
                    {kind: tuple(texts) for kind, texts in value["poison"].items()},
                )
            except (AttributeError, KeyError, TypeError) as error:
                raise InvalidInputError(
                    f'{line.place}: expected an object with "question", "correct_answer", '
                    f'"incorrect_answer", "hits" and "poison" ({error!r})'
                ) from error


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Return every text once; texts of the same words are one, as they are to the methods."""
    return tuple({content_key(text): text for text in texts}.values())


def says(text: str, answer: str) -> bool:
    """Return True if the words of `answer` stand in `text` in a row.

    >>> says("It was the Big Man.", "big man")
    True
    """
    return f" {' '.join(tokenize(answer))} " in f" {' '.join(tokenize(text))} "
