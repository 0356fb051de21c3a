"""From clean traffic to a calibration, and from a judgement to what is recorded of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from types import NoneType

import numpy as np
from numpy.typing import NDArray

from ragguard.audit.records import ScoredQuery
from ragguard.errors import CalibrationError, InvalidInputError
from ragguard.inline.conformal import Calibration, load_calibration
from ragguard.inline.judge import ConformalJudge
from ragguard.inline.judgement import Judgement
from ragguard.inline.scoring import SCORER
from ragguard.inline.tokens import tokenize_query
from ragguard.passage import Passage, as_passages

__all__ = ["as_calibration", "calibrated_on", "recorded"]


def calibrated_on(
    traffic: Iterable[tuple[str, Sequence[str | Passage]]], judge: ConformalJudge, k: int | None
) -> Calibration:
    """Return the calibration of trusted clean traffic.

    Args:
        traffic: Pairs of query and passages, without attacks; queries without passages are skipped.
        judge: Scores them.
        k: How many passages the generator gets, where the traffic is over-fetched; None: all.

    Raises:
        CalibrationError: No query has passages.
        InvalidInputError: Passages are of the wrong type.
    """
    scores: list[float] = []
    suspicion: list[NDArray[np.float64]] = []
    size, with_reference = 1, False
    for query, passages in traffic:
        given = as_passages(passages)
        if not given:
            continue
        judged = len(given) if k is None else min(k, len(given))
        scored = judge.score(query, given, judged)
        scores.append(scored.score)
        suspicion.append(scored.suspicion)
        size = max(size, judged)
        with_reference |= len(given) > judged
    if not scores:
        raise CalibrationError("no query of the traffic has passages; give clean traffic")
    return Calibration(
        scores=np.array(scores),
        passage_scores=np.concatenate(suspicion),
        size=size,
        with_reference=with_reference,
        scorer=SCORER,
        source=f"{len(scores)} queries given to Guard.calibrate",
    )


def as_calibration(
    calibration: Calibration | str | os.PathLike[str] | None,
) -> Calibration | None:
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


def recorded(judgement: Judgement, query: str) -> ScoredQuery | None:
    """Return what is recorded of a judgement of `query`, or None if nothing was scored."""
    scored = judgement.scored
    if scored is None:
        return None
    return ScoredQuery(
        score=scored.score,
        suspicions=tuple(scored.suspicion.tolist()),
        with_reference=scored.with_reference,
        attacked=judgement.attacked,
        scorer=SCORER,
        question=_digest(query),
    )


def _digest(query: str) -> str:
    """Return 16 hex digits of a question's content words, whatever their order.

    The cheapest ways to ask the same again are to shuffle, and to vary function words.
    """
    words = " ".join(sorted(tokenize_query(query).content)).encode("utf-8", "surrogatepass")
    return blake2b(words, digest_size=8).hexdigest()
