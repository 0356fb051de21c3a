"""What a reader is asked and answers, and the answers that are kept on disk."""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

ANSWER = "Answer the question from the context with a short phrase."
PASSAGE_CHARACTERS = 500
"""A passage is cut there, so that five of them fit a small model."""


@dataclass(frozen=True)
class Prompt:
    """A question with the passages that are left."""

    question: str  # as the user asks it
    passages: tuple[str, ...]  # best first; may be empty
    instruction: str = ANSWER  # what the model is told to do
    candidates: tuple[str, ...] = ()  # the right answer and the attacker's, to choose from


@dataclass(frozen=True)
class Answer:
    """What a reader said, and how many tokens it read and wrote."""

    text: str
    read: int = 0
    written: int = 0


class Reader(Protocol):
    """Answers questions."""

    @property
    def name(self) -> str:
        """Model and settings: answers of equal names and equal words are the same."""
        ...

    def words(self, prompt: Prompt) -> str:
        """Return all that the answer depends on."""
        ...

    def answer(self, prompt: Prompt) -> Answer:
        """Return the answer."""
        ...


def in_words(prompt: Prompt) -> str:
    """Return a prompt as a language model reads it; without a question the instruction alone."""
    # Without numbers before the passages: small models answer with a number else.
    passages = [text[:PASSAGE_CHARACTERS] for text in prompt.passages]
    context = ["Context:", *passages] if passages else []
    asked = [f"Question: {prompt.question}\nShort answer:"] if prompt.question else []
    return "\n\n".join([prompt.instruction, *context, *asked])


class Kept:
    """A reader that answers equal prompts once: `answers.sqlite`, which processes may share."""

    def __init__(self, reader: Reader, folder: Path) -> None:
        self._reader = reader
        self._file = folder / "answers.sqlite"
        folder.mkdir(parents=True, exist_ok=True)
        with self._open() as kept:
            kept.execute("PRAGMA journal_mode=WAL")
            kept.execute(
                "CREATE TABLE IF NOT EXISTS answers"
                " (key TEXT PRIMARY KEY, text TEXT, read INTEGER, written INTEGER) WITHOUT ROWID"
            )

    def answer(self, prompt: Prompt) -> Answer:
        """Return the answer, asking the model only for what was never asked."""
        asked = f"{self._reader.name}\n{self._reader.words(prompt)}"
        key = hashlib.sha256(asked.encode("utf-8", "replace"))
        with self._open() as kept:
            row = kept.execute(
                "SELECT text, read, written FROM answers WHERE key = ?", (key.hexdigest(),)
            ).fetchone()
        if row is not None:
            return Answer(*row)
        answer = self._reader.answer(prompt)
        with self._open() as kept:
            kept.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)",
                (key.hexdigest(), answer.text, answer.read, answer.written),
            )
        return answer

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._file, timeout=60.0)) as kept, kept:
            yield kept
