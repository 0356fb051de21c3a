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
        -6.66,
        {
            ("echo_edge",): 3.86,
            ("echo_whole", "echo_edge"): 3.86,
            ("echo_whole",): 3.15,
            ("echo_edge", "restatement"): 1.11,
            ("echo_whole", "restatement"): 0.98,
            ("restatement",): 0.97,
        },
    ),
    "restated": Detector(
        -4.91,
        {
            ("restatement",): 14.65,
            ("company_restatement",): 0.27,
        },
    ),
    "heading": Detector(
        -5.04,
        {
            ("heading",): 13.71,
        },
    ),
    "dense": Detector(
        -4.91,
        {
            ("dense",): 14.74,
            ("company_dense",): 2.07,
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
        -5.24,
        {
            ("strewn",): 20.89,
            ("company_strewn",): 2.97,
        },
    ),
    "key words": Detector(
        -4.44,
        {
            ("key_pairs",): 11.87,
            ("key_edge",): 8.62,
        },
    ),
    "key row": Detector(
        -7.84,
        {
            ("key_row",): 11.21,
        },
    ),
    "company": Detector(
        -3.71,
        {
            ("company_strewn",): 11.42,
            ("company_disorder",): 8.34,
            ("company_dense",): 7.13,
            ("company_heading",): 6.92,
            ("company_key_row",): 6.35,
            ("company_restatement",): 1.40,
        },
    ),
    **BY_HAND,
}
"""Every detector by name, on the scale of `ragguard.inline.suspicion.suspicions`."""
