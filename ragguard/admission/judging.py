"""Whether a passage may become searchable: how rare what it shows is in a knowledge base.

    p = min over signs of p(sign) / share(sign),    the shares of all signs together 1
    p(sign) = (1 + #{clean passages that show as much}) / (1 + n)

The conformal p-values (Vovk, Gammerman and Shafer 2005) are counted among the clean passages of
many knowledge bases; joined by a weighted Bonferroni test they keep P(p <= alpha) <= alpha for a
clean passage of such a base. A sign that more than a few of the passages at hand show is their way
of writing, and refuses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ragguard.admission.base import Base, Floats, shipped_base, shipped_shares
from ragguard.admission.batch import Batch
from ragguard.arguments import require_share

__all__ = [
    "ALPHA",
    "FEWEST",
    "REVIEW",
    "Admission",
    "Status",
    "joined",
    "judged",
    "p_values",
]

Status = Literal["admitted", "review", "refused"]

ALPHA = 0.001
"""Share of clean passages that may be refused."""

REVIEW = 5.0
"""How many times as many may be refused or put to review."""

FEWEST = 200
"""Passages that tell what is usual among them."""

_COMMON = 0.02  # of the passages at hand
_HIGHEST = 0.99  # p-value of what is worth a look


@dataclass(frozen=True)
class Admission:
    """What is to become of one passage.

    Attributes:
        passage_id: The id of the passage.
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
    """Return the p-value of every sign of every passage, and the signs themselves.

    Args:
        batch: n passages.
        base: The knowledge base that they are to join; None if they are all of it.
        clean: Whose passages are counted; None for the shipped ones.

    Returns:
        Two mappings from names to float64 arrays of shape (n,).
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
    """Judge every passage of a batch.

    Args:
        batch: n passages.
        base: The knowledge base that they are to join, from an earlier scan; None if they are all
            of it, or if there is none. A first scan of fewer than 200 passages, and single
            passages, are compared with the shipped one.
        alpha: Share of clean passages that may be refused.

    Raises:
        InvalidInputError: `alpha` is not between 0 and 1.
    """
    require_share("alpha", alpha, usual=ALPHA)
    p, signs = p_values(batch, base)
    found = joined(p, shipped_shares())
    if base is None and len(batch) >= FEWEST:
        found = {name: _unless_common(values) for name, values in found.items()}
    line = min(REVIEW * alpha, _HIGHEST)
    lowest = np.minimum(np.min([*found.values()], axis=0), 1.0) if len(batch) else np.empty(0)
    out = []
    for row, (id_, p) in enumerate(zip(batch.ids, lowest.tolist(), strict=True)):
        if p > line:
            out.append(Admission(id_, "admitted", p))
            continue
        shown = {name: float(values[row]) for name, values in signs.items()}
        telling = sorted(
            (float(values[row]), name) for name, values in found.items() if values[row] <= line
        )
        reasons = [_reason(name, batch, row, p_value) for p_value, name in telling]
        if copies := int(batch.copies[row]):
            reasons.append(f"it is a near copy of {copies} other{'s' * (copies > 1)} here")
        status: Status = "refused" if p <= alpha else "review"
        out.append(Admission(id_, status, p, tuple(reasons), shown))
    return out


def _unless_common(p: Floats) -> Floats:
    """Return the p-values of a sign, raised where more show it than a few strangers can plant."""
    shown = float((p <= ALPHA).mean())
    return np.maximum(p, shown) if shown > _COMMON else p


def _reason(name: str, batch: Batch, row: int, p_value: float) -> str:
    """Return in words what a sign of one passage says, and how rare that is."""
    said, others = _SAID[name], int(batch.bursts[0][row]) - 1
    if name == "answered" and others:
        said += f", as do {others} other{'s' * (others > 1)} with the same words"
    if name == "hidden":
        count = int(batch.column("hidden")[row])
        said += f"{count} place{'s' * (count > 1)}"
    return f"{said} (fewer than 1 of {max(1, int(1 / p_value)):,} clean passages)"


_SAID = {
    "manner": "it is written as planted passages are: complete, short and sure of itself",
    "jumble": "it holds a row of words that no sentence puts in a row",
    "injection": "it speaks to a language model rather than to a reader",
    "answered": "it asks a question at its beginning or end and answers it",
    "hidden": "it hides characters, in ",
}
