"""A scan: passages are read part by part, and judged together at the end.

What a person has said of a passage stands, and so does the quarantine. Everything else is judged by
what it shows, and what is refused waits for a person as a proposal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from ragguard.admission.base import Base
from ragguard.admission.batch import Batch
from ragguard.admission.judging import ALPHA, Admission, judged
from ragguard.audit.quarantine import QuarantineEntry, QuarantineStore
from ragguard.content import content_key
from ragguard.inline.quarantined import Quarantined
from ragguard.passage import Passage

__all__ = ["Scan", "admit", "propose"]

_AT_ONCE = 512
_PROPOSED_AT_ONCE = 200


class Scan:
    """Passages that are to be judged together; takes some 500 bytes a passage, texts aside.

    Args:
        held: What is in quarantine, and what is allowed.
    """

    def __init__(self, held: Quarantined | None = None) -> None:
        self._held = held or Quarantined()
        self._parts: list[Batch] = []
        self._standing: dict[int, Admission] = {}
        self._count = 0

    def add(self, passages: Iterable[Passage]) -> None:
        """Read passages.

        Raises:
            Exception: What a text of a type of its own raises.
        """
        rest = iter(passages)
        while part := list(islice(rest, _AT_ONCE)):
            self._parts.append(Batch.of(part))
            for row, found in _standing(part, self._held):
                self._standing[self._count + row] = found
            self._count += len(part)

    def batch(self) -> Batch:
        """Return what has been read."""
        return Batch.joined(self._parts)

    def judged(self, base: Base | None = None, *, alpha: float = ALPHA) -> list[Admission]:
        """Return an `Admission` for every passage, in order; see `judging.judged`.

        Raises:
            InvalidInputError: `alpha` is not between 0 and 1.
        """
        found = judged(self.batch(), base, alpha=alpha)
        for row, standing in self._standing.items():
            found[row] = standing
        return found

    def usual(self, found: Sequence[Admission]) -> Base:
        """Return what is usual in the passages, but for those that were refused."""
        kept = [one.status != "refused" for one in found]
        return self.batch().where(np.array(kept, np.bool_)).base


def admit(
    passages: Sequence[Passage],
    base: Base | None = None,
    *,
    alpha: float = ALPHA,
    held: Quarantined | None = None,
) -> list[Admission]:
    """Judge passages together; `Guard.admit` says the rest."""
    scan = Scan(held)
    scan.add(passages)
    return scan.judged(base, alpha=alpha)


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
    while part := list(islice(entries, _PROPOSED_AT_ONCE)):
        new += store.add_quarantine(part)
    return new


def _standing(passages: Sequence[Passage], held: Quarantined) -> Iterator[tuple[int, Admission]]:
    if not (held.keys or held.spared or held.allowed):
        return
    open_rows = []
    for row, passage in enumerate(passages):
        key = content_key(passage.text)
        if held.allowed.holds(passage) or key in held.spared:
            yield row, Admission(passage.id, "admitted", 1.0, ("a person has let it through",))
        elif key in held.keys:
            yield row, Admission(passage.id, "refused", 0.0, ("it is in quarantine",))
        else:
            open_rows.append(row)
    copies = held.copies.find([passages[row].text for row in open_rows])
    for row, copy in zip(open_rows, copies, strict=True):
        if copy is not None:
            said = f"it is an edited copy of {copy.key[:12]}, which is in quarantine"
            yield row, Admission(passages[row].id, "refused", 0.0, (said,))
