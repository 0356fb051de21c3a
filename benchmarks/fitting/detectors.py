"""The fit of the detectors: logistic regressions, whose log-odds are their scores.

A way of carrying the question, and how a passage is written, are two signs of one thing, and hardly
depend on each other in clean traffic: their log-odds add up (naive Bayes). So each detector of a
way is given the weight of manner as well, `MANNER` of what manner says by itself.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.fitting.samples import PLANS, Plan, Samples
from ragguard.inline.scoring import Detector

Floats = NDArray[np.float64]

_PENALTY = 1e-4
_RIDGE = 3e-5
_LEAST_WEIGHT = 0.25  # nats


def score(detector: Detector, found: Samples) -> Floats:
    """Return what a detector says of n passages: float64 of shape (n,)."""
    columns = [found.names.index(name) for name in detector.weights]
    total: Floats = found.signals[:, columns] @ [*detector.weights.values()] + detector.bias
    return total


def fit_detector(plan: Plan, found: Samples) -> Detector:
    """Fit a detector: the log-odds, in nats, that a passage is poison of the plan's forms.

    Signals that add less than a quarter of a nat are left out.
    """
    weight = found.weights(plan)
    used = weight > 0
    columns = [found.names.index(name) for name in plan.signals]
    bias, weights = _regress(
        found.signals[used][:, columns], found.poisoned[used].astype(np.float64), weight[used]
    )
    fitted = dict(zip(plan.signals, weights.tolist(), strict=True))
    kept = {name: weight for name, weight in fitted.items() if weight > _LEAST_WEIGHT}
    return Detector(bias, kept or {plan.signals[0]: _LEAST_WEIGHT})


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


def fit_detectors(found: Samples, plans: Mapping[str, Plan] = PLANS) -> dict[str, Detector]:
    """Fit all detectors, each way of carrying the question together with manner."""
    return with_manner({name: fit_detector(plan, found) for name, plan in plans.items()})


def with_manner(fitted: Mapping[str, Detector]) -> dict[str, Detector]:
    """Return detectors with what manner says by itself added to those of the ways."""
    by_itself = fitted.get("manner")
    weight = by_itself.weights.get("manner", 0.0) if by_itself else 0.0
    if not weight:
        return dict(fitted)
    return {
        name: one if name == "manner" else replace(one, weights={**one.weights, "manner": weight})
        for name, one in fitted.items()
    }


def left_out_scores(found: Samples, without: Mapping[int, Detector]) -> Floats:
    """Return the sets' scores by the detector without their fold: float64 of shape (s,)."""
    out = np.empty(len(found.found))
    for fold, detector in without.items():
        here = found.folds == fold
        if here.any():
            own = found.where(here)
            out[here] = own.highest(score(detector, own))
    return out


def cross_scores(found: Samples, plans: Mapping[str, Plan] = PLANS) -> dict[str, Floats]:
    """Return for every detector the sets' scores by weights fitted on the other folds."""
    without = {
        fold: fit_detectors(found.where(found.folds != fold), plans)
        for fold in np.unique(found.folds).tolist()
    }
    return {
        name: left_out_scores(found, {fold: fitted[name] for fold, fitted in without.items()})
        for name in plans
    }
