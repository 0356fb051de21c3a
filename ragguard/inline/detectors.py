"""The detectors: for each way of carrying a question, the signals that tell, and their weights.

From `python -m benchmarks.fit_suspicion`, except the two that the data says nothing about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["BY_HAND", "DETECTORS", "Detector", "Term"]

Term = tuple[str, ...]
"""A signal, or the product of two."""


@dataclass(frozen=True)
class Detector:
    """A weighted sum of signals and of products of two.

    Products, because what clean traffic shows one at a time it hardly ever shows together.

    Attributes:
        bias: What it says of a passage without any of its signals.
        weights: Weight of every term, never below 0: no signal speaks for a passage.
    """

    bias: float
    weights: Mapping[Term, float]


BY_HAND: Mapping[str, Detector] = {
    "address": Detector(-6.0, {("address",): 14.0}),
    "soup": Detector(-6.0, {("soup",): 24.0}),
}
"""Set by hand, since the data holds no passage that addresses the model and no optimised soup."""

DETECTORS: Mapping[str, Detector] = {
    "question": Detector(
        -0.41,
        {
            ("echo_edge",): 4.40,
            ("echo_whole", "echo_edge"): 4.40,
            ("echo_edge", "echo_edge"): 4.40,
            ("echo_whole",): 2.35,
            ("echo_whole", "echo_whole"): 2.35,
            ("echo_edge", "restatement"): 2.22,
            ("echo_whole", "restatement"): 2.09,
            ("restatement",): 2.07,
        },
    ),
    "restated": Detector(
        -1.52,
        {
            ("echo_pairs",): 8.74,
            ("restatement",): 3.22,
            ("company_window",): 0.81,
            ("company_window", "company_window"): 0.52,
        },
    ),
    "wording": Detector(
        -1.90,
        {
            ("wording",): 13.81,
            ("company_window", "company_window"): 0.94,
            ("company_wording", "company_window"): 0.54,
            ("company_window",): 0.38,
        },
    ),
    "key words": Detector(
        -1.61,
        {
            ("key_pairs",): 4.76,
            ("key_run", "key_run"): 3.13,
            ("key_pairs", "key_run"): 2.34,
            ("key_pairs", "repetition"): 1.55,
            ("key_run",): 1.09,
            ("repetition",): 0.98,
        },
    ),
    "company": Detector(
        -2.41,
        {
            ("company_pairs",): 7.20,
            ("company_wording",): 4.76,
            ("company_key_pairs", "company_key_run"): 3.26,
            ("company_key_run",): 2.25,
            ("company_key_pairs",): 1.92,
            ("company_window",): 1.52,
            ("company_wording", "company_wording"): 0.51,
            ("company_restatement",): 0.46,
        },
    ),
    **BY_HAND,
}
"""Every detector by name, on the scale of `ragguard.inline.suspicion.suspicions`."""
