"""From what the filter recorded to a calibration, and to the recent p-values that drift is in."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

import numpy as np
from numpy.typing import NDArray

from ragguard.audit.records import ScoredQuery
from ragguard.audit.sampling import RECENT_SIZE, sampled
from ragguard.errors import CalibrationError
from ragguard.inline.calibration import Calibration, default_calibration
from ragguard.inline.suspicion import nonconformity

__all__ = ["calibration_from", "recent_p_values"]


def calibration_from(
    scored: Sequence[ScoredQuery],
    scorer: str,
    *,
    alpha: float,
    newest: int | None = None,
    clean_looking: bool = False,
) -> Calibration:
    """Make a calibration from recorded queries.

    Only one kind of query can be calibrated on at a time, with or without reference passages: the
    more frequent kind is, and `Calibration.source` says what was left out.

    Args:
        scored: What the store keeps, oldest first.
        scorer: Records of other versions of the scorer are left out.
        alpha: Share of clean queries that the gates which recorded them may touch.
        newest: None for the sample of all traffic, else the newest so many queries, at most
            `RECENT_SIZE`.
        clean_looking: Of what the gate took for attacked keep only the share alpha, the lowest
            scores: as much as clean traffic has there itself. Leaving out all of it would cut off
            the clean traffic's own tail, and every calibration would touch alpha more than the
            last one.

    Raises:
        CalibrationError: No usable query was recorded.
    """
    known = [record for record in scored if record.scorer == scorer]
    chosen = sampled(known) if newest is None else known[-min(newest, RECENT_SIZE) :]
    over_fetched = 2 * sum(record.with_reference for record in chosen) > len(chosen)
    kind = [record for record in chosen if record.with_reference == over_fetched]
    stopped = sorted((r for r in kind if r.attacked), key=lambda record: record.score)
    allowed = floor(alpha * (len(kind) + 1)) if clean_looking else len(stopped)
    used = [record for record in kind if not record.attacked] + stopped[:allowed]
    if not used:
        raise CalibrationError(
            f"the store has no usable scores of scorer {scorer!r}; run a Guard on it in monitor "
            "mode first, over clean traffic"
        )
    moments = [record.recorded_at for record in used]
    return Calibration(
        scores=np.array([record.score for record in used]),
        passage_scores=np.concatenate([record.suspicions for record in used]),
        size=max(len(record.suspicions) for record in used),
        with_reference=over_fetched,
        scorer=scorer,
        source=(
            f"{len(used)} queries recorded from {min(moments):%Y-%m-%d} to {max(moments):%Y-%m-%d}"
            f" UTC, {len(stopped[:allowed])} of {len(stopped)} judged attacked; "
            f"{len(chosen) - len(kind)} {'without' if over_fetched else 'with'} reference "
            "passages left out"
        ),
    )


def recent_p_values(
    scored: Sequence[ScoredQuery],
    scorer: str,
    calibration: Calibration | None,
    *,
    alpha: float,
) -> tuple[NDArray[np.float64], int]:
    """Return the p-values of the newest queries, and the size of what they are compared with.

    Args:
        scored: What the store keeps, oldest first.
        scorer: Records of other versions of the scorer are left out.
        calibration: None for the shipped one. With a calibration of one's own, queries that differ
            from it in having reference passages or not are left out.
        alpha: Of the gates that recorded them; it says how many passages of a query they looked at.

    Returns:
        float64 array of shape (m,), m at most `RECENT_SIZE`, and how many queries the calibration
        has.
    """
    recent = [record for record in scored if record.scorer == scorer][-RECENT_SIZE:]
    if calibration is not None:
        recent = [item for item in recent if item.with_reference == calibration.with_reference]
    p_values, sizes = [], []
    for record in recent:
        measure = calibration or default_calibration(
            len(record.suspicions), with_reference=record.with_reference
        )
        judged = np.array(record.suspicions[: measure.reach(alpha)])
        p_values.append(measure.p_value(nonconformity(judged), len(judged)))
        sizes.append(len(measure.scores))
    return np.array(p_values, dtype=np.float64), min(sizes, default=1)
