"""What was refused waits for a person: as a proposal that is confirmed or rejected."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ragguard.admission.judging import Admission
from ragguard.audit.quarantine import QuarantineEntry, QuarantineStore
from ragguard.content import content_key
from ragguard.passage import Passage

__all__ = ["propose"]

_AT_ONCE = 200


def propose(store: QuarantineStore, found: Iterable[tuple[Admission, Passage]]) -> int:
    """Put what was refused to a person, and return how many are new to the store.

    What the store knows already stays as it is: what a person has decided above all.

    Args:
        store: Keeps them.
        found: Passages with what was found; those that were not refused are left out.

    Raises:
        StoreError: The store fails.
    """
    entries = (
        QuarantineEntry(
            key=content_key(passage.text),
            passage_id=passage.id,
            text=passage.text,
            reason=f"refused at admission: {'; '.join(admission.reasons)}",
            status="proposed",
        )
        for admission, passage in found
        if admission.status == "refused"
    )
    new = 0
    while part := list(islice(entries, _AT_ONCE)):
        new += store.add_quarantine(part)
    return new
