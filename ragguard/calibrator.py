"""The filter that a guard asks, what it was calibrated on, and the watch over its promise."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from statistics import multimode

import numpy as np
from numpy.typing import NDArray

from ragguard.arguments import RetrievedSets, require_k, require_path
from ragguard.audit.records import ScoredQuery
from ragguard.audit.trail import Change, this_process
from ragguard.embedding.adapt import Embedder
from ragguard.errors import CalibrationError
from ragguard.inline.calibration_bounds import require_admissible, require_calm, within_step
from ragguard.inline.calibration_file import (
    default_calibration,
    gate_threshold,
    promise,
    save_calibration,
)
from ragguard.inline.conformal import Calibration
from ragguard.inline.decision import SetFilter, Strategy
from ragguard.inline.drift import Drift, DriftWatch
from ragguard.inline.evidence import gather
from ragguard.inline.pipeline import ConformalFilter
from ragguard.inline.quarantined import Quarantined
from ragguard.inline.ragdefender.baseline import RAGDefenderFilter
from ragguard.inline.scoring import SCORER
from ragguard.inline.screening import to_judge
from ragguard.passage import as_passages
from ragguard.score_records import Recording, measure_of, question_hash
from ragguard.trust import Trust


class Calibrator:
    """Makes the filter anew with every calibration that is adopted, and watches for drift from it.

    Queries may be filtered in other threads meanwhile: they go on with the filter they began with.
    Args as those of `ConformalFilter`.
    """

    filter: SetFilter  # in force
    adopted: Calibration | None  # its calibration; None for the shipped one
    in_force: str  # the same in words, with the first digits of a hash

    def __init__(
        self,
        embedder: Embedder,
        *,
        strategy: Strategy,
        alpha: float,
        calibration: Calibration | None,
        mark_alpha: float | None = None,
        trust: Trust | None = None,
    ) -> None:
        self._without_gate = partial(RAGDefenderFilter, embedder, strategy=strategy)
        self._filter_by = partial(
            ConformalFilter,
            embedder,
            strategy=strategy,
            alpha=alpha,
            mark_alpha=mark_alpha,
            trust=trust,
        )
        self._alpha = alpha
        self._trust = trust
        default_calibration(1, with_reference=True)  # read now, not at the first query
        self._put_in_force(calibration, self._filter_by(calibration=calibration))

    @property
    def gated(self) -> bool:
        """Whether the filter asks a gate first; RAGDefender's own has none."""
        return not isinstance(self.filter, RAGDefenderFilter)

    def gate(self) -> ConformalFilter:
        """Return the filter with a gate and the calibration in force, whatever filters."""
        by = self.filter
        return by if isinstance(by, ConformalFilter) else self._filter_by(calibration=self.adopted)

    def filter_without_gate(self) -> None:
        """Filter by RAGDefender as published from now on."""
        self.filter = self._without_gate()
        self.in_force = "none: RAGDefender as published"

    def adopt_traffic(
        self,
        traffic: RetrievedSets,
        k: int | None,
        quarantined: Quarantined | None = None,
        *,
        force: bool = False,
    ) -> Calibration:
        """Do what `Guard.calibrate` does; `calibration_bounds` says what is refused."""
        made = calibrated_on(traffic, k, quarantined, self._trust)
        if self.gated and not force:
            made = within_step(made, self.adopted, self._alpha)
        return self._adopt(made, force=force)

    def adopt_recorded(
        self,
        scored: Sequence[ScoredQuery],
        *,
        newest: int | None = None,
        clean_looking: bool = False,
        force: bool = False,
    ) -> Calibration:
        """Do what `Guard.calibrate_from_store` does with what the store recorded."""
        require_k(newest, "newest")
        recording = Recording.of(scored, newest=newest)
        fired = recording.fired(self.adopted, self._alpha)
        if not clean_looking:
            return self._adopt(recording.calibration(fired), force=force, fired=fired)
        given, more = (self.adopted, self._alpha, recording.size), recording.with_reference
        lines = {
            naming: gate_threshold(*given, with_reference=more, naming=naming)
            for naming in (False, True)
        }
        made = recording.calibration(fired, below=lines)
        if made.pooled(self._alpha):  # what serves both must raise the line of neither
            made = recording.calibration(fired, below=dict.fromkeys(lines, min(lines.values())))
        return self._adopt(made, force=force)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Do what `Guard.save_calibration` does."""
        if self.adopted is None:
            raise CalibrationError("the guard has no calibration of its own; call calibrate first")
        save_calibration(self.adopted, require_path("path", path))

    @property
    def change(self) -> Change:
        """What the trail tells of the calibration in force."""
        found = self.adopted
        if found is None:
            return Change("calibration.adopted", "shipped", this_process())
        details = {"queries": found.queries, "alpha": self._alpha, "scorer": found.scorer}
        return Change("calibration.adopted", _digest(found), this_process(), details)

    def watch(self, scored: Sequence[ScoredQuery]) -> None:
        """Look for drift in further queries; one thread at a time."""
        for record in scored:
            measure = measure_of(record, self.adopted, self._alpha)
            self._drift.see(record.attacked, len(measure.scores))

    def _adopt(
        self, calibration: Calibration, *, force: bool, fired: Drift | None = None
    ) -> Calibration:
        if not self.gated:
            raise CalibrationError("RAGDefender has no gate to calibrate; use Guard() for one")
        made = self._filter_by(calibration=calibration)
        if not force:
            if fired is not None:
                require_calm(fired)
            require_admissible(calibration, self.adopted, self._alpha)
        self._put_in_force(calibration, made)
        return calibration

    def _put_in_force(self, calibration: Calibration | None, by: SetFilter) -> None:
        self.filter = by
        self.adopted = calibration
        digest = "" if calibration is None else f"{_digest(calibration)[:12]} "
        self.in_force = digest + self.described
        self._drift = DriftWatch(self._alpha)

    @property
    def described(self) -> str:
        """Where the calibration in force comes from, and what it promises."""
        if self.adopted is None:
            return "shipped with ragguard"
        return f"{self.adopted.source}; {promise(self.adopted, self._alpha)}"


def _digest(made: Calibration) -> str:
    arrays = (made.scores, made.passage_scores, made.naming, made.passage_naming)
    return blake2b(b"".join(array.tobytes() for array in arrays)).hexdigest()[:32]


def calibrated_on(
    traffic: RetrievedSets,
    k: int | None,
    quarantined: Quarantined | None = None,
    trust: Trust | None = None,
) -> Calibration:
    """Return the calibration that `Guard.calibrate` makes; queries without passages are skipped.

    Of a question that comes several times, the last time counts.
    """
    learned: dict[str, tuple[bool, float, NDArray[np.float64]]] = {}
    given, with_reference = 0, False
    for query, passages in traffic:
        found = as_passages(passages)
        shown, judged = to_judge(found, k or len(found), quarantined or Quarantined(), trust)
        if judged:
            scored = gather(query, shown, judged)
            learned[question_hash(query)] = scored.naming, scored.score, scored.suspicion
            with_reference |= len(shown) > judged
            given += 1
    if not learned:
        raise CalibrationError("no query of the traffic has passages; give clean traffic")
    size = max(multimode(len(suspicion) for *_, suspicion in learned.values()))
    alike = [one for one in learned.values() if len(one[2]) == size]
    return Calibration.learned(
        alike,
        size=size,
        with_reference=with_reference,
        scorer=SCORER,
        source=(
            f"{len(alike)} queries given to Guard.calibrate; left out: {given - len(learned)} "
            f"repeated questions, {len(learned) - len(alike)} with more or fewer passages than "
            f"{size}"
        ),
    )
