"""Reports that are bound to answers: whether the system gave the one that an event is about."""

from __future__ import annotations

from ragguard.audit.answers import ANSWER_DAY, answer_of
from ragguard.audit.records import AuditStore, Event

__all__ = ["UNKNOWN_ANSWER", "was_given"]

UNKNOWN_ANSWER = (
    "no answer of this system is on record with this question and response, over these passages, "
    "in the day before: the report is kept, and not attributed"
)


def was_given(store: AuditStore, event: Event) -> bool:
    """Return whether an event is about an answer that `Guard.answered` recorded in the day before.

    It may name fewer passages than the generator saw, and none that it did not see.

    Raises:
        StoreError: The store fails.
    """
    mine = store.of_tenant(event.tenant or None)
    told = answer_of(event.query, event.response, event.passages, mine.answer_key())
    given = mine.answers(told.digest, since=event.created_at - ANSWER_DAY)
    return any(told.passages <= one.passages for one in given)
