"""The judge that a guard asks, what it was calibrated on, and the watch over its promise."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from ragguard.arguments import require_path
from ragguard.audit.records import ScoredQuery
from ragguard.embedding.adapt import Embedder
from ragguard.errors import CalibrationError, InvalidInputError
from ragguard.inline.admission import gate_line, require_admissible, require_calm
from ragguard.inline.conformal import Calibration, default_calibration, save_calibration
from ragguard.inline.drift import Drift, DriftWatch
from ragguard.inline.judge import ConformalJudge
from ragguard.inline.judgement import Judge, Strategy
from ragguard.inline.ragdefender.filter import RAGDefenderJudge
from ragguard.inline.scoring import SCORER
from ragguard.inline.traffic import calibrated_on
from ragguard.passage import Passage
from ragguard.recorded import Recording

__all__ = ["Calibrator"]


class Calibrator:
    """Makes the judge anew with every calibration that is adopted, and watches for drift from it.

    Queries may be judged in other threads meanwhile: they go on with the judge they began with.

    Args:
        embedder: Of the judge.
        strategy: Of the judge.
        alpha: Share of clean queries that may be touched.
        calibration: Scores of clean traffic; None means the shipped ones.

    Attributes:
        judge: The judge in force.
        adopted: Its calibration, or None for the shipped one.

    Raises:
        CalibrationError: The calibration has too few queries for `alpha`.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        strategy: Strategy,
        alpha: float,
        calibration: Calibration | None,
    ) -> None:
        self._embedder = embedder
        self._strategy: Strategy = strategy
        self._alpha = alpha
        self.adopted = calibration
        self.judge: Judge = self._judge_by(calibration)
        self._drift = DriftWatch(alpha, self._calibrated)

    @property
    def gated(self) -> bool:
        """Whether the judge asks a gate first; RAGDefender's own has none."""
        return not isinstance(self.judge, RAGDefenderJudge)

    def judge_without_gate(self) -> None:
        """Judge by RAGDefender as published from now on."""
        self.judge = RAGDefenderJudge(self._embedder, strategy=self._strategy)

    def adopt_traffic(
        self,
        traffic: Iterable[tuple[str, Sequence[str | Passage]]],
        k: int | None,
        *,
        force: bool = False,
    ) -> Calibration:
        """Adopt trusted clean traffic, and return its calibration.

        Raises:
            CalibrationError: Fewer than 1 / alpha - 1 queries with passages; or, without `force`,
                it is refused by `ragguard.inline.admission`.
            InvalidInputError: Passages are of the wrong type.
        """
        return self._adopt(calibrated_on(traffic, self._judge_by(None), k), force=force)

    def adopt_recorded(
        self,
        scored: Sequence[ScoredQuery],
        *,
        newest: int | None = None,
        clean_looking: bool = False,
        force: bool = False,
    ) -> Calibration:
        """Adopt what a store recorded, and return its calibration.

        `ragguard.recorded.Recording` says what is taken of it.

        Raises:
            CalibrationError: Fewer than 1 / alpha - 1 questions were recorded; or, without `force`,
                the record looks attacked and `clean_looking` is False, or the calibration is
                refused by `ragguard.inline.admission`.
            InvalidInputError: `newest` is not positive.
        """
        if newest is not None and (type(newest) is not int or newest < 1):
            raise InvalidInputError(f"newest must be a positive int or None, not {newest!r}")
        recording = Recording.of(scored, SCORER, newest=newest)
        fired = recording.fired(self.adopted, self._alpha)
        if not clean_looking:
            made = recording.calibration(fired)
            return self._adopt(made, force=force, fired=fired)
        line = gate_line(
            self.adopted, self._alpha, recording.size, with_reference=recording.with_reference
        )
        return self._adopt(recording.calibration(fired, below=line), force=force)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the adopted calibration as JSON.

        Raises:
            CalibrationError: There is none but the shipped one, or the file cannot be written.
            InvalidInputError: `path` is no path.
        """
        if self.adopted is None:
            raise CalibrationError("the guard has no calibration of its own; call calibrate first")
        save_calibration(self.adopted, require_path("path", path))

    def watch(self, scored: Sequence[ScoredQuery]) -> None:
        """Look for drift in further queries; one thread at a time."""
        for record in scored:
            self._drift.see(record.attacked)

    def _judge_by(self, calibration: Calibration | None) -> ConformalJudge:
        return ConformalJudge(
            self._embedder, strategy=self._strategy, alpha=self._alpha, calibration=calibration
        )

    def _adopt(
        self, calibration: Calibration, *, force: bool, fired: Drift | None = None
    ) -> Calibration:
        if not self.gated:
            raise CalibrationError("RAGDefender has no gate to calibrate; use Guard() for one")
        judge = self._judge_by(calibration)
        if not force:
            if fired is not None:
                require_calm(fired)
            require_admissible(calibration, self.adopted, self._alpha, judge)
        self.judge = judge
        self.adopted = calibration
        self._drift = DriftWatch(self._alpha, self._calibrated)
        return calibration

    def _calibrated(self) -> int:
        calibration = self.adopted or default_calibration(1, with_reference=False)
        return len(calibration.scores)
