"""Calibrations in files: the shipped ones, and those of `Guard.save_calibration`."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import cache, lru_cache
from importlib import resources
from math import inf
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from ragguard.errors import CalibrationError, InvalidInputError
from ragguard.files import write_json
from ragguard.inline.conformal import CONFIDENCE, Calibration
from ragguard.inline.scoring import NOTHING, SCORER

_FORMAT = 1
_PLAIN = {"size": int, "with_reference": bool, "scorer": str, "source": str}
_ARRAYS = ("scores", "passage_scores", "naming", "passage_naming")


def as_calibration(calibration: Calibration | str | os.PathLike[str] | None) -> Calibration | None:
    """Return the calibration that `calibration` names, checked for this version's scorer.

    Raises:
        InvalidInputError: It is neither a Calibration, a path nor None.
        CalibrationError: It cannot be read, or was made by another scorer.
    """
    if isinstance(calibration, (str, os.PathLike)):
        calibration = load_calibration(calibration)
    if not isinstance(calibration, (Calibration, NoneType)):
        raise InvalidInputError(
            f"calibration must be a Calibration, a path or None, not {type(calibration).__name__}"
        )
    if calibration is not None and calibration.scorer != SCORER:
        raise CalibrationError(
            f"the calibration was made with scorer {calibration.scorer!r}, this version uses "
            f"{SCORER!r}; calibrate anew"
        )
    return calibration


def save_calibration(calibration: Calibration, path: str | os.PathLike[str]) -> None:
    """Write a calibration as JSON; raises as `write_json`."""
    plain = {name: getattr(calibration, name) for name in _PLAIN}
    # Every digit: a query that comes back must tie with its own score, not fall beside it.
    arrays = {name: getattr(calibration, name).tolist() for name in _ARRAYS}
    write_json(path, "calibration", {"format": _FORMAT, **plain, **arrays})


def load_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Read what `save_calibration` wrote.

    Raises:
        CalibrationError: The file is missing, damaged, or of a format this version cannot read.
    """
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise CalibrationError(
            f"cannot read the calibration {path}: {error}; make one with "
            "`ragguard calibrate`, or with save_calibration of a calibrated Guard"
        ) from error
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise CalibrationError(f"{path} is no calibration of format {_FORMAT}; calibrate anew")
    return _from_json(data, str(path))


def _from_json(data: dict[str, Any], where: str) -> Calibration:
    data = {"naming": (), "passage_naming": (), **data}  # which older files lack
    try:
        made: dict[str, Any] = {name: kind(data[name]) for name, kind in _PLAIN.items()}
        made |= {name: np.array(data[name], np.float64) for name in _ARRAYS}
        return Calibration(**made)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CalibrationError(f"{where} is damaged ({error!r}); calibrate anew") from error


def default_calibration(judged: int, *, with_reference: bool) -> Calibration:
    """Return the shipped calibration of the smallest size not below `judged`, else the largest."""
    fitting = _shipped(with_reference)
    return next((entry for entry in fitting if entry.size >= judged), fitting[-1])


@cache
def _shipped(with_reference: bool) -> list[Calibration]:
    file = resources.files("ragguard.inline") / "default_calibration.json"
    entries = json.loads(file.read_text(encoding="utf-8"))
    read = [_from_json(entry, "the shipped calibration") for entry in entries]
    fitting = [entry for entry in read if entry.with_reference == with_reference]
    fitting.sort(key=lambda entry: entry.size)
    # Nothing is more usual than a set without any sign, for which an older scorer said less.
    return [
        replace(entry, scores=np.maximum(entry.scores, NOTHING), in_blocks=False, confident=True)
        for entry in fitting
    ]


def measure_for(
    calibration: Calibration | None, size: int, *, with_reference: bool, naming: bool, alpha: float
) -> Calibration:
    """Return what a query is compared with: the sample of its class, else the shipped one.

    A sample that is not `confident` lowers no threshold: the shipped one counts as well. The class
    is whether a query only names something, which nobody who writes passages has a hand in. A
    `calibration` of None is the shipped one, which alone minds `with_reference`: whether passages
    below the `size` first ones are known.
    """
    own = None if calibration is None else calibration.of(naming, alpha)
    shipped = default_calibration(size, with_reference=with_reference)
    if own is None or own.confident:
        return own or shipped
    return _no_lower(own, shipped)


@lru_cache(256)
def _no_lower(own: Calibration, shipped: Calibration) -> Calibration:
    return own.at_least(shipped)


def require_each_class(calibration: Calibration | None, alpha: float) -> None:
    """Raise `CalibrationError` where either class of queries has too few samples for `alpha`."""
    shipped = default_calibration(1, with_reference=False)
    (calibration or shipped).require(alpha)
    if calibration is None or shipped.threshold(alpha, 1) < inf:
        return
    for naming, do in ((False, "ask something"), (True, "only name something")):
        if calibration.of(naming, alpha) is None:
            raise CalibrationError(
                f"with alpha={alpha:g} no query of those that {do} could be found attacked: the "
                "calibration has too few of them, and so has the shipped one; add such queries to "
                "the clean traffic or raise alpha"
            )


def gate_threshold(
    calibration: Calibration | None,
    alpha: float,
    size: int,
    *,
    with_reference: bool,
    naming: bool = False,
) -> float:
    """Return the lowest score that fires the gate for a query; arguments as of `measure_for`."""
    measure = measure_for(
        calibration, size, with_reference=with_reference, naming=naming, alpha=alpha
    )
    return measure.threshold(alpha, min(size, measure.reach(alpha)))


def promise(calibration: Calibration, alpha: float) -> str:
    """Say in words what each class of queries is compared with, and how surely alpha is kept.

    >>> few = Calibration(np.zeros(99), np.zeros(99), 5, False, "words", "a test")
    >>> promise(few, 0.01)
    'asking: 99 queries, alpha kept on average; naming: as shipped'
    """
    if calibration.pooled(alpha):
        return f"asking and naming: {_kept(calibration.of(False, alpha))}"
    classes = {"asking": False, "naming": True}
    return "; ".join(
        f"{name}: {_kept(calibration.of(naming, alpha))}" for name, naming in classes.items()
    )


def _kept(sample: Calibration | None) -> str:
    if sample is None:
        return "as shipped"
    surely = f"with {100 * CONFIDENCE:g} % confidence" if sample.confident else "on average"
    return f"{len(sample.scores)} queries, alpha kept {surely}"
