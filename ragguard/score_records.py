"""From a decision to what is recorded of it, and from that to calibrations and recent p-values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from statistics import multimode
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ragguard.audit.records import ScoredQuery
from ragguard.audit.verdict_counter import RECENT_SIZE, sampled
from ragguard.errors import CalibrationError
from ragguard.inline.calibration_file import measure_for
from ragguard.inline.conformal import Calibration
from ragguard.inline.decision import Decision
from ragguard.inline.drift import Drift, drift
from ragguard.inline.scoring import SCORER, nonconformity
from ragguard.inline.tokens import TokenizedQuery, tokenize_query


def record_of(decision: Decision, query: str) -> ScoredQuery | None:
    """Return what is recorded of a decision on `query`, or None if nothing was scored."""
    scored = decision.scored
    if scored is None:
        return None
    return ScoredQuery(
        score=scored.score,
        suspicions=tuple(scored.suspicion.tolist()),
        with_reference=scored.with_reference,
        attacked=decision.attacked,
        scorer=SCORER,
        question=question_hash(query),
        naming=scored.naming,
    )


def question_hash(query: str) -> str:
    """Return 16 hex digits of a question's content words: shuffling changes nothing."""
    return tokenize_query(query).once(_hash)


def _hash(query: TokenizedQuery) -> str:
    words = " ".join(sorted(query.content)).encode("utf-8", "surrogatepass")
    return blake2b(words, digest_size=8).hexdigest()


@dataclass(frozen=True)
class Recording:
    """The queries of a record that a calibration is made of, and how many were left out."""

    queries: tuple[ScoredQuery, ...]  # one at least, oldest first; alike, each question once
    repeated: int  # because the same question was asked again later
    other_kind: int  # for having reference passages while most have none, or the other way round
    other_size: int  # for having more or fewer passages than most

    @classmethod
    def of(cls, scored: Sequence[ScoredQuery], *, newest: int | None = None) -> Self:
        """Choose from what a store keeps.

        Only one kind of query can be calibrated on at a time, with or without reference passages
        and with so many judged ones: the most frequent. Of a question that was asked several times
        the last time counts: nobody gets more weight by asking again. Other scorers' records are
        left out. What the store keeps is oldest first; `newest` is that of `calibrate_from_store`.
        """
        known = [record for record in scored if record.scorer == SCORER]
        found = sampled(known) if newest is None else known[-RECENT_SIZE:]
        if not found:
            raise CalibrationError(
                f"the store has no usable scores of scorer {SCORER!r}; run a Guard on it in "
                "monitor mode first, over clean traffic"
            )
        last: dict[object, ScoredQuery] = {}
        for record in reversed(found):
            # What older versions recorded has no hash, and may be any question.
            question = record.question or id(record)
            last.setdefault((question, record.with_reference), record)
        once = list(last.values())[:newest][::-1]
        over_fetched = 2 * sum(record.with_reference for record in once) > len(once)
        kind = [record for record in once if record.with_reference == over_fetched]
        size = max(multimode(len(record.suspicions) for record in kind))
        alike = [record for record in kind if len(record.suspicions) == size]
        left_out = len(found) - len(last), len(once) - len(kind), len(kind) - len(alike)
        return cls(tuple(alike), *left_out)

    @property
    def size(self) -> int:
        """How many passages were judged for each query."""
        return len(self.queries[0].suspicions)

    @property
    def with_reference(self) -> bool:
        """Whether the queries have reference passages."""
        return self.queries[0].with_reference

    def fired(self, in_force: Calibration | None, alpha: float) -> Drift:
        """Compare the queries with the calibration in force (None: the shipped one)."""
        return drift(*_p_values(self.queries, in_force, alpha), alpha)

    def calibration(
        self, fired: Drift, *, below: Mapping[bool, float] | None = None
    ) -> Calibration:
        """Make a calibration of the queries, in whose source `fired` is told.

        With thresholds `below`, of queries that ask and of those that only name, nothing from them
        on is learned: what scores so high counts as just below, so that they cannot rise. Leaving
        such queries out would cut off the clean traffic's own tail, and every calibration would
        touch more than the last one.
        """
        learned = []
        for one in self.queries:
            highest = np.nextafter(below[one.naming] if below else np.inf, -np.inf)
            suspicions = np.minimum(one.suspicions, highest)
            learned.append((one.naming, min(one.score, highest), suspicions))
        capped = " and counts as just below its threshold there" if below else ""
        moments = [record.recorded_at for record in self.queries]
        return Calibration.learned(
            learned,
            size=self.size,
            with_reference=self.with_reference,
            scorer=SCORER,
            source=(
                f"{len(self.queries)} queries recorded from {min(moments):%Y-%m-%d} to "
                f"{max(moments):%Y-%m-%d} UTC; the gate in force fires on {fired.above} of them"
                f"{capped}; left out: {self.repeated} repeated questions, {self.other_kind} "
                f"{'without' if self.with_reference else 'with'} reference passages, "
                f"{self.other_size} with more or fewer passages than {self.size}"
            ),
        )


def recent_p_values(
    scored: Sequence[ScoredQuery], calibration: Calibration | None, *, alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the p-values of the newest queries, and the size of what each is compared with.

    float64 and int64 of shape (m,), m at most `RECENT_SIZE`. Of what the store keeps, oldest first,
    other scorers' records are left out, and queries that differ from what they are compared with in
    having reference passages or not. The `alpha` of the gates that recorded them says how many
    passages of a query they counted.
    """
    recent = [record for record in scored if record.scorer == SCORER][-RECENT_SIZE:]
    alike = [
        record
        for record in recent
        if measure_of(record, calibration, alpha).with_reference == record.with_reference
    ]
    return _p_values(alike, calibration, alpha)


def measure_of(record: ScoredQuery, calibration: Calibration | None, alpha: float) -> Calibration:
    """Return what a recorded query is compared with, by a gate of this alpha; None: as shipped."""
    return measure_for(
        calibration,
        len(record.suspicions),
        with_reference=record.with_reference,
        naming=record.naming,
        alpha=alpha,
    )


def _p_values(
    scored: Sequence[ScoredQuery], calibration: Calibration | None, alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    p_values, sizes = [], []
    for record in scored:
        measure = measure_of(record, calibration, alpha)
        counted = min(len(record.suspicions), measure.reach(alpha))
        p_values.append(measure.p_value(nonconformity(np.array(record.suspicions)), counted))
        sizes.append(len(measure.scores))
    return np.array(p_values, dtype=np.float64), np.array(sizes, dtype=np.int64)
