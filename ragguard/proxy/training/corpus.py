"""What a proxy is trained on: passages of a knowledge base, and questions with their contexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ragguard.errors import InvalidInputError
from ragguard.jsonl import kind_of, open_input, read_lines
from ragguard.proxy.manifest import sha256_of

__all__ = ["Corpus", "Reading", "read_corpora"]

_HELD_OUT = 25


@dataclass(frozen=True)
class Reading:
    """A context, a question about it, and the answers that it gives."""

    context: str
    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Corpus:
    """Texts to train on.

    Attributes:
        readings: Reading-comprehension records.
        passages: Plain passages.
        sources: For each file its name, its records and the SHA-256 of its bytes.
    """

    readings: tuple[Reading, ...]
    passages: tuple[str, ...]
    sources: tuple[dict[str, Any], ...] = ()

    def split(self) -> tuple[Corpus, Corpus]:
        """Return what is trained on, and every 25th record, which is kept back to measure on.

        Raises:
            InvalidInputError: There are too few records to keep any back.
        """
        if len(self.readings) + len(self.passages) < 2 * _HELD_OUT:
            raise InvalidInputError(
                f"a corpus must have at least {2 * _HELD_OUT} records, not "
                f"{len(self.readings) + len(self.passages)}; pass --corpus more files"
            )
        kept, held = (
            Corpus(
                tuple(r for i, r in enumerate(self.readings) if (i % _HELD_OUT == 0) is back),
                tuple(p for i, p in enumerate(self.passages) if (i % _HELD_OUT == 0) is back),
                self.sources,
            )
            for back in (False, True)
        )
        return kept, held


def read_corpora(paths: Sequence[Path]) -> Corpus:
    """Read JSON lines of {"text"} or of {"context", "question", "answers"}, mixed at will.

    Records without an answer, and texts that are blank, are left out.

    Raises:
        InvalidInputError: A file cannot be read or a line is neither; the message names it.
    """
    readings: list[Reading] = []
    passages: list[str] = []
    sources = []
    for path in paths:
        before = len(readings) + len(passages)
        with open_input(path) as stream:
            for line in read_lines(stream, str(path)):
                record = _record(line.value, line.place)
                if isinstance(record, Reading):
                    if record.answers and record.context.strip() and record.question.strip():
                        readings.append(record)
                elif record.strip():
                    passages.append(record)
        count = len(readings) + len(passages) - before
        sources.append({"name": path.name, "records": count, "sha256": sha256_of(path)})
    return Corpus(tuple(readings), tuple(passages), tuple(sources))


def _record(value: Any, place: str) -> Reading | str:
    if not isinstance(value, dict):
        _reject(place, kind_of(value))
    if isinstance(value.get("text"), str):
        return str(value["text"])
    context, question, answers = (value.get(key) for key in ("context", "question", "answers"))
    if not (isinstance(context, str) and isinstance(question, str) and isinstance(answers, list)):
        _reject(place, f"one with {', '.join(sorted(map(str, value))) or 'nothing'}")
    if not all(isinstance(answer, str) for answer in answers):
        _reject(place, "an answer that is not a string")
    return Reading(context, question, tuple(answer for answer in answers if answer.strip()))


def _reject(place: str, got: str) -> NoReturn:
    raise InvalidInputError(
        f'{place}: expected an object with "text" (str), or with "context" (str), "question" (str) '
        f'and "answers" (list of str), got {got}'
    )
