"""Answers that the system gave, as keyed hashes, so that reports can be bound to them.

Whoever reports chooses question, response and passages, and so what an attribution looks at. Where
answers are recorded as they are given, a report of one that nobody was given can be told from one
that somebody was. Of the texts nothing is kept; without the store's key nobody can look for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Protocol

from ragguard.audit.quarantine import utc_now
from ragguard.content import content_key
from ragguard.passage import Passage

ANSWER_DAY = timedelta(days=1)
"""For how long an answer may be reported; it is kept twice as long, since events may wait."""

KEPT_ANSWERS = 100_000
"""How many of the newest answers of a tenant a store keeps."""


KEPT_ALIKE = 100
"""How many answers of one digest are looked at, the newest."""


@dataclass(frozen=True)
class Answer:
    """An answer that the system gave.

    Attributes:
        digest: Keyed hash of question and response, but for case and white space: 32 hex digits.
        passages: Keyed hashes of the passages that the generator saw, 16 hex digits each.
        given_at: When, UTC.
    """

    digest: str
    passages: frozenset[str] = frozenset()
    given_at: datetime = field(default_factory=utc_now)


def answer_of(query: str, response: str, passages: Sequence[Passage], key: bytes) -> Answer:
    """Return the hashes of an answer, under a key of 32 bytes."""
    texts = [" ".join(text.casefold().split()) for text in (query, response)]
    # The length says where the question ends.
    given = f"{len(texts[0])}\n{texts[0]}{texts[1]}".encode("utf-8", "surrogatepass")
    seen = {content_key(passage.text) for passage in passages}
    return Answer(
        blake2b(given, digest_size=16, key=key).hexdigest(),
        frozenset(blake2b(one.encode(), digest_size=8, key=key).hexdigest() for one in seen),
    )


class AnswerStore(Protocol):
    """The part of an `AuditStore` that keeps answers; raises its errors."""

    def answer_key(self) -> bytes:
        """Return the key of the hashes, 32 bytes; the same for all processes on the store."""

    def add_answer(self, answer: Answer) -> None:
        """Keep an answer, and forget those of two days ago and all but the newest 100,000."""

    def answers(self, digest: str, *, since: datetime) -> list[Answer]:
        """Return the answers with this digest that were given since then, `KEPT_ALIKE` at most."""
