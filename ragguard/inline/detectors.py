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
        -2.91,
        {
            ("echo_edge",): 3.86,
            ("echo_whole", "echo_edge"): 3.86,
            ("echo_whole",): 3.15,
            ("echo_edge", "restatement"): 1.10,
            ("echo_whole", "restatement"): 0.98,
            ("restatement",): 0.97,
        },
    ),
    "restated": Detector(
        -4.88,
        {
            ("restatement",): 15.33,
            ("company_restatement",): 0.39,
        },
    ),
    "heading": Detector(
        -4.04,
        {
            ("heading",): 13.71,
        },
    ),
    "dense": Detector(
        -3.48,
        {
            ("dense",): 15.00,
            ("company_dense",): 0.96,
        },
    ),
    "disorder": Detector(
        -6.43,
        {
            ("disorder",): 15.81,
            ("company_disorder",): 1.28,
            ("disorder", "company_disorder"): 1.24,
        },
    ),
    "strewn": Detector(
        -3.74,
        {
            ("strewn",): 20.89,
            ("company_strewn",): 2.97,
        },
    ),
    "key words": Detector(
        -1.94,
        {
            ("key_pairs",): 11.87,
            ("key_edge",): 8.62,
        },
    ),
    "key row": Detector(
        -8.09,
        {
            ("key_row",): 11.22,
        },
    ),
    "company": Detector(
        -3.71,
        {
            ("company_strewn",): 11.40,
            ("company_disorder",): 9.24,
            ("company_heading",): 7.33,
            ("company_dense",): 7.31,
            ("company_key_row",): 6.27,
            ("company_restatement",): 0.76,
        },
    ),
    "agreement": Detector(
        -0.14,
        {
            ("agreement",): 16.87,
        },
    ),
    **BY_HAND,
}
"""Every detector by name, on the scale of `ragguard.inline.suspicion.suspicions`."""
