"""The fit of one detector: a logistic regression, whose log-odds are its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.fitting.plans import PLANS, Plan
from benchmarks.fitting.samples import FOLDS, Samples
from ragguard.inline.features import SIGNALS
from ragguard.inline.scoring import Detector, Term

__all__ = [
    "cross_scores",
    "fit_detector",
    "left_out_scores",
    "products",
    "score",
    "terms_of",
]

Floats = NDArray[np.float64]

_PENALTY = 1e-4
_RIDGE = 3e-5
_LEAST_WEIGHT = 0.25  # nats


def terms_of(plan: Plan) -> list[Term]:
    """Return what may get a weight: each signal of a plan, and the product of any two."""
    singles: list[Term] = [(name,) for name in plan.signals]
    return singles + list(combinations(plan.signals, 2))


def products(signals: Floats, terms: Sequence[Term], names: Sequence[str] = SIGNALS) -> Floats:
    """Return what the terms are for n passages.

    Args:
        signals: float64 array of shape (n, len(names)).
        terms: The terms.
        names: What the columns of the signals are called.

    Returns:
        float64 array of shape (n, len(terms)).
    """
    out = np.empty((len(signals), len(terms)), dtype=np.float64)
    for column, term in enumerate(terms):
        out[:, column] = np.prod([signals[:, names.index(name)] for name in term], axis=0)
    return out


def score(detector: Detector, found: Samples) -> Floats:
    """Return what a detector says of n passages: float64 of shape (n,)."""
    values = np.array(list(detector.weights.values()))
    terms = products(found.signals, list(detector.weights), found.names)
    total: Floats = terms @ values + detector.bias
    return total


def fit_detector(plan: Plan, found: Samples) -> Detector:
    """Fit a detector: the log-odds, in nats, that a passage is poison of the plan's forms.

    Terms that add less than a quarter of a nat are left out.
    """
    weight, terms = found.weights(plan), terms_of(plan)
    used = weight > 0
    bias, weights = _regress(
        products(found.signals[used], terms, found.names),
        found.poisoned[used].astype(np.float64),
        weight[used],
    )
    fitted = dict(zip(terms, weights.tolist(), strict=True))
    kept = {term: weight for term, weight in fitted.items() if weight > _LEAST_WEIGHT}
    return Detector(bias, kept or {terms[0]: _LEAST_WEIGHT})


def _regress(values: Floats, poisoned: Floats, weight: Floats) -> tuple[float, Floats]:
    def loss(parameters: Floats) -> tuple[float, Floats]:
        slope = parameters[1:]
        log_odds = values @ slope + parameters[0]
        total = weight @ (np.logaddexp(0.0, log_odds) - poisoned * log_odds)
        error = weight * (1.0 / (1.0 + np.exp(-log_odds)) - poisoned)
        steepness = error @ values + _PENALTY + 2 * _RIDGE * slope
        return (
            float(total + _PENALTY * slope.sum() + _RIDGE * slope @ slope),
            np.concatenate([[error.sum()], steepness]),
        )

    size = values.shape[1]
    solved = minimize(
        loss,
        np.zeros(size + 1),
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None)] + [(0.0, None)] * size,
        options={"maxiter": 2000, "ftol": 1e-12, "gtol": 1e-8},
    ).x
    return float(solved[0]), solved[1:]


def cross_scores(found: Samples, plans: Mapping[str, Plan] = PLANS) -> dict[str, Floats]:
    """Return for every detector the sets' scores by weights fitted on the other folds."""
    return {name: left_out_scores(found, plan) for name, plan in plans.items()}


def left_out_scores(found: Samples, plan: Plan) -> Floats:
    """Return the sets' scores by weights fitted on the other folds: float64 of shape (s,)."""
    out = np.empty(len(found.found))
    for fold in range(FOLDS):
        here = found.folds == fold
        if here.any():
            detector, own = fit_detector(plan, found.where(~here)), found.where(here)
            out[here] = own.highest(score(detector, own))
    return out
