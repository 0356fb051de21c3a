"""The plans: for each detector the signals it may look at, and the attacks it is fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.forms import FITTED_FORMS
from ragguard.inline.features import SIGNALS

__all__ = ["PLANS", "Plan"]


@dataclass(frozen=True)
class Plan:
    """What a detector may look at, and which attacks it is fitted on.

    Attributes:
        signals: Its signals.
        forms: The question forms.
        counts: How many planted texts a question it is fitted on.
    """

    signals: tuple[str, ...]
    forms: tuple[str, ...]
    counts: tuple[int, ...] = (1, 5)


PLANS: Mapping[str, Plan] = {
    "question": Plan(("echo_whole", "echo_edge", "restatement"), ("prepend",)),
    "restated": Plan(("restatement", "company_restatement"), ("middle",)),
    "heading": Plan(("heading", "company_heading"), ("statement", "halves")),
    "dense": Plan(("dense", "company_dense"), ("shuffled", "middle", "dropped")),
    "disorder": Plan(("disorder", "company_disorder"), ("shuffled",)),
    "strewn": Plan(("strewn", "company_strewn"), ("spread",)),
    "key words": Plan(("key_pairs", "key_edge"), ("keywords",)),
    "key row": Plan(("key_row", "company_key_row"), ("stuffed",)),
    "company": Plan(
        tuple(name for name in SIGNALS if name.startswith("company_")),
        tuple(form for form in FITTED_FORMS if form not in {"prepend", "plain"}),
        counts=(5,),
    ),
    "agreement": Plan(("agreement",), ("plain",), counts=(5,)),
}
"""The detectors that are fitted, each for one way of carrying the question."""
