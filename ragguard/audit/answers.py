"""How an answer that was given is recognised when somebody reports it: by hashes under a key."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from ragguard.audit.records import ANSWER_DAY, Answer, AuditStore, Event
from ragguard.passage import Passage, text_digest


def answer_of(query: str, response: str, passages: Sequence[Passage], key: bytes) -> Answer:
    """Return the hashes of an answer, under a key of 32 bytes."""
    texts = [" ".join(text.casefold().split()) for text in (query, response)]
    # The length says where the question ends.
    given = f"{len(texts[0])}\n{texts[0]}{texts[1]}".encode("utf-8", "surrogatepass")
    # The very texts: where a question mark stands is a mark of an attack, and no part of a key.
    seen = {text_digest(passage.text) for passage in passages}
    return Answer(
        blake2b(given, digest_size=16, key=key).hexdigest(),
        frozenset(blake2b(one, digest_size=8, key=key).hexdigest() for one in seen),
    )


def was_given(store: AuditStore, event: Event) -> bool:
    """Return whether an event is about an answer that `Guard.answered` recorded in the day before.

    It may name fewer passages than the generator saw, and none that it did not see.
    """
    mine = store.of_tenant(event.tenant or None)
    told = answer_of(event.query, event.response, event.passages, mine.answer_key())
    given = mine.answers(told.digest, since=event.created_at - ANSWER_DAY)
    return any(told.passages <= one.passages for one in given)
