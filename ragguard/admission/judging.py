"""Whether a passage may become searchable: how rare what it shows is in a knowledge base.

    p = min over signs of p(sign) / share(sign),    the shares of all signs together 1
    p(sign) = (1 + #{clean passages that show as much}) / (1 + n)

The conformal p-values (Vovk, Gammerman and Shafer 2005) are counted among the clean passages of
many knowledge bases; joined by a weighted Bonferroni test they keep P(p <= alpha) <= alpha for a
clean passage of such a base. A sign that more than a few of the passages at hand show is their way
of writing, and refuses nothing.

What is refused is proposed to a person. Whoever plants a text may end it in what honest pages say
as well: a licence, a footer, a notice on cookies. Once it is confirmed, copies of it are recognised
by its parts, so by what no admitted passage says.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

import numpy as np

from ragguard.admission.base import Base, Floats, shipped_base, shipped_shares
from ragguard.admission.batch import Batch
from ragguard.arguments import require_share
from ragguard.audit.quarantine import QuarantineEntry, QuarantineStore
from ragguard.content import content_key
from ragguard.inline.fingerprints import fingerprints, said_elsewhere, signature
from ragguard.inline.quarantined import Quarantined
from ragguard.passage import Passage

logger = logging.getLogger(__name__)

Status = Literal["admitted", "review", "refused"]

ALPHA = 0.001
"""Share of clean passages that may be refused."""

REVIEW = 5.0
"""How many times as many may be refused or put to review."""

FEWEST = 200
"""Passages that tell what is usual among them."""

MOST_WAITING = 10_000
"""Proposals that may wait for a person before no more are added."""

_AT_ONCE = 512  # passages
_PROPOSED_AT_ONCE = 2_000  # for which what was admitted is read once
_COMMON = 0.02  # of the passages at hand
_HIGHEST = 0.99  # p-value of what is worth a look


@dataclass(frozen=True)
class Admission:
    """What is to become of one passage.

    Attributes:
        status: "admitted", "review" (searchable, and worth a look) or "refused".
        p_value: Of "this is a clean passage", in (0, 1].
        reasons: Why, in words; empty for most that are admitted.
        signs: What it shows, by name, each as it is measured in its knowledge base.
    """

    passage_id: str
    status: Status
    p_value: float
    reasons: tuple[str, ...] = ()
    signs: Mapping[str, float] = field(default_factory=dict, hash=False)


def p_values(
    batch: Batch, base: Base | None = None, clean: Base | None = None
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return the p-value of every sign of n passages, and the signs: float64 of shape (n,) by name.

    `base` is as in `judged`. Counted are the passages of `clean`, None for the shipped ones.
    """
    clean = clean or shipped_base()
    own = base or (batch.base if len(batch) >= FEWEST else None)
    signs = batch.signs(own or clean)
    found = {}
    for name, values in signs.items():
        p = (1.0 + clean.above(name, values)) / (1.0 + clean.count)
        found[name] = p if base is None else np.maximum(p, base.above(name, values) / base.count)
    return found, signs


def joined(p: Mapping[str, Floats], shares: Mapping[str, float]) -> dict[str, Floats]:
    """Return p-values divided by the shares of their signs."""
    return {name: values / shares[name] for name, values in p.items()}


def judged(batch: Batch, base: Base | None = None, *, alpha: float = ALPHA) -> list[Admission]:
    """Judge every passage of a batch; of clean ones a share `alpha`, in (0, 1), may be refused.

    `base` is the knowledge base that they are to join, from an earlier scan; None if they are all
    of it, or if there is none. Fewer than 200 passages are then compared with the shipped one.
    """
    require_share("alpha", alpha, usual=ALPHA)
    p, signs = p_values(batch, base)
    found = joined(p, shipped_shares())
    if base is None and len(batch) >= FEWEST:
        found = {name: _unless_common(values) for name, values in found.items()}
    line = min(REVIEW * alpha, _HIGHEST)
    lowest = np.minimum(np.min([*found.values()], axis=0), 1.0)
    out = []
    for row, (id_, p) in enumerate(zip(batch.ids, lowest.tolist(), strict=True)):
        if p > line:
            out.append(Admission(id_, "admitted", p))
            continue
        shown = {name: float(values[row]) for name, values in signs.items()}
        rare = sorted((float(values[row]), name) for name, values in found.items())
        reasons = [_reason(name, batch, row, rarity) for rarity, name in rare if rarity <= line]
        if copies := int(batch.copies[row]):
            reasons.append(f"it is a near copy of {copies} other{'s' * (copies > 1)} here")
        status: Status = "refused" if p <= alpha else "review"
        out.append(Admission(id_, status, p, tuple(reasons), shown))
    return out


def _unless_common(p: Floats) -> Floats:
    """Return the p-values of a sign, raised where more show it than a few strangers can plant."""
    shown = float((p <= REVIEW * ALPHA).mean())
    return np.maximum(p, shown) if shown > _COMMON else p


def _reason(name: str, batch: Batch, row: int, p_value: float) -> str:
    said, others = _SAID[name], int(batch.bursts[row]) - 1
    if name == "answered" and others:
        said += f", as do {others} other{'s' * (others > 1)} with the same words"
    if name == "hidden":
        count = int(batch.column("hidden")[row])
        said += f"{count} place{'s' * (count > 1)}"
    return f"{said} (fewer than 1 of {max(1, int(1 / p_value)):,} clean passages)"


_SAID = {
    "manner": "it is written as planted passages are: complete, short and sure of itself",
    "gibberish": "it holds a row of words that no sentence puts in a row",
    "injection": "it speaks to a language model rather than to a reader",
    "answered": "it asks a question at its beginning or end and answers it",
    "hidden": "it hides characters, in ",
}


class Scan:
    """Passages that are to be judged together; takes some 500 bytes a passage, texts aside."""

    def __init__(self, held: Quarantined | None = None) -> None:
        self._held = held or Quarantined()
        self._parts: list[Batch] = []
        self._standing: dict[int, Admission] = {}
        self._count = 0

    def add(self, passages: Iterable[Passage]) -> None:
        """Read passages."""
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
        """Return an `Admission` for every passage, in order; `alpha` and errors as in `judged`."""
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


def propose(
    store: QuarantineStore,
    found: Iterable[tuple[Admission, Passage]],
    beside: Callable[[], Iterable[str]] = tuple,
) -> int:
    """Put what `judged` refused to a person, and return how many are new to the store.

    What the store knows already stays as it is: what a person has decided above all. Where
    `MOST_WAITING` proposals wait, more are not added, and the log says so: a later call adds them.
    `beside` returns the texts that were admitted with them, anew each time. Raises `StoreError`.
    """
    refused = (one for one in found if one[0].status == "refused")
    if not (part := list(islice(refused, _PROPOSED_AT_ONCE))):
        return 0
    room, new = MOST_WAITING - store.quarantine_counts().get("proposed", 0), 0
    while part and new < room:
        now, later = part[: room - new], part[room - new :]
        new += store.add_quarantine(_entries(now, beside))  # what is known takes no room
        part = later or list(islice(refused, _PROPOSED_AT_ONCE))
    if left_out := len(part) + sum(1 for _ in refused):
        logger.error(
            "%d proposals wait for a person, so %d refused passages are not proposed; decide with "
            "`ragguard quarantine confirm` and `reject`, and scan again",
            *(MOST_WAITING, left_out),
        )
    return new


def _entries(
    refused: list[tuple[Admission, Passage]], beside: Callable[[], Iterable[str]]
) -> list[QuarantineEntry]:
    # One by one: all of their letters may take a gigabyte.
    own = [fingerprints([passage.text]).distinct(0) for _, passage in refused]
    said = said_elsewhere(np.unique(np.concatenate(own)), beside(), lambda _: True)
    return [
        QuarantineEntry(
            key=content_key(passage.text),
            passage_id=passage.id,
            text=passage.text,
            reason=f"refused at admission: {'; '.join(admission.reasons)}",
            status="proposed",
            signature=signature(passage.text, [said]) if len(said) else None,
        )
        for admission, passage in refused
    ]
