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
    "question": Detector(-1.0, {("echo_edge",): 5.0}),
    **BY_HAND,
}
"""Every detector by name, on the scale of `ragguard.inline.suspicion.suspicions`."""
