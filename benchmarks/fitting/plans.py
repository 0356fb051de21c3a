"""The plans: for each detector the signals it may look at, and the attacks it is fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["PLANS", "Plan"]


@dataclass(frozen=True)
class Plan:
    """What a detector may look at, and which attacks it is fitted on.

    Attributes:
        signals: Its signals.
        forms: Weight of every question form.
        counts: How many planted texts a question it is fitted on.
        stretch: How many times steeper than the others it is made: an offset that lifts what is
            telling would else lift what shows nothing, if the signals are nearly all or nothing.
    """

    signals: tuple[str, ...]
    forms: Mapping[str, float]
    counts: tuple[int, ...] = (1, 5)
    stretch: float = 1.0


_COMPANY = (
    "company_restatement",
    "company_pairs",
    "company_wording",
    "company_key_pairs",
    "company_key_run",
    "company_window",
)
_PARTS = ("middle", "statement", "halves", "dropped")

PLANS: Mapping[str, Plan] = {
    "question": Plan(("echo_whole", "echo_edge", "restatement"), {"prepend": 1.0}, stretch=3.0),
    "restated": Plan(
        ("restatement", "echo_pairs", "company_restatement", "company_pairs", "company_window"),
        {"prepend": 2.0, **dict.fromkeys(_PARTS, 1.0)},
    ),
    "wording": Plan(
        ("wording", "company_wording", "company_window"),
        {"shuffled": 1.0, "spread": 1.0},
        stretch=2.0,
    ),
    "key words": Plan(
        ("key_pairs", "key_run", "repetition", "company_key_pairs", "company_key_run"),
        {"keywords": 1.0},
    ),
    "company": Plan(
        _COMPANY, dict.fromkeys((*_PARTS, "shuffled", "spread", "keywords"), 1.0), counts=(5,)
    ),
}
"""The detectors that are fitted, each for one way of carrying the question."""
