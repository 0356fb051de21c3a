"""A scan: passages are read part by part, and judged together at the end.

What a person has said of a passage stands, and so does the quarantine. Everything else is judged by
what it shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from ragguard.admission.base import Base
from ragguard.admission.batch import Batch
from ragguard.admission.judging import ALPHA, Admission, judged
from ragguard.content import content_key
from ragguard.inline.quarantined import Quarantined
from ragguard.passage import Passage

__all__ = ["Scan", "admit"]

_AT_ONCE = 512


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

    def add(self, passages: Iterable[Passage]) -> Iterator[int]:
        """Read passages, and yield how many have been read after each part.

        Raises:
            Exception: What a text of a type of its own raises.
        """
        rest = iter(passages)
        while part := list(islice(rest, _AT_ONCE)):
            self._parts.append(Batch.of(part))
            for row, found in _standing(part, self._held):
                self._standing[self._count + row] = found
            self._count += len(part)
            yield self._count

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
    for _ in scan.add(passages):
        pass
    return scan.judged(base, alpha=alpha)


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
