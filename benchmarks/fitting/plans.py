"""The plans: for each detector the signals it may look at, and the attacks it is fitted on."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """The signals that a detector may look at, and the attacks and counts that it is fitted on."""

    signals: tuple[str, ...]
    forms: tuple[str, ...]
    counts: tuple[int, ...] = (1, 5)


PLANS: Mapping[str, Plan] = {
    "verbatim": Plan(("verbatim_question", "verbatim_at_boundary"), ("prepend",)),
    "boundary_overlap": Plan(("boundary_overlap",), ("statement", "halves")),
    "window_density": Plan(("window_density",), ("shuffled", "middle", "dropped")),
    "inserted_words": Plan(("inserted_words",), ("spread",)),
    "keywords": Plan(("keyword_bigrams", "keywords_at_boundary"), ("keywords", "stuffed")),
    "manner": Plan(("manner",), ("plain",)),
}
"""The detectors that are fitted, each for one way of carrying the question."""
