"""Keeps count of verdicts, and what they scored, off the inline path: a thread writes them."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from random import Random

from ragguard.audit.periodic import WRITE_S, Writer
from ragguard.audit.records import AuditStore, ScoredQuery

logger = logging.getLogger(__name__)

SAMPLE_SIZE = 2000
"""How many queries the sample holds: enough to calibrate for an alpha of 0.0005."""

RECENT_SIZE = 1000
"""How many of the newest queries are kept beside the sample."""

_SEED = 0
_MAX_PENDING = 4000


class VerdictCounter(Writer):
    """Verdict counters and scores that reach the store within a second or so.

    `on_scored` is called from the thread that writes, with every batch of scores, once.
    """

    def __init__(
        self,
        store: AuditStore,
        *,
        on_scored: Callable[[Sequence[ScoredQuery]], None] | None = None,
    ) -> None:
        self._store = store
        self._on_scored = on_scored
        super().__init__("ragguard-counts", WRITE_S)

    def _begin(self) -> None:
        super()._begin()
        self._pending: Counter[str] = Counter()  # not known to be in the store
        # Bounded: a store that is down for long must not fill the memory; the newest are kept.
        self._scored: deque[ScoredQuery] = deque(maxlen=_MAX_PENDING)
        self._unwritten: deque[ScoredQuery] = deque(maxlen=_MAX_PENDING)
        self._random: Random | None = None

    def add(self, scored: ScoredQuery | None = None, /, **counts: int) -> None:
        """Add to the counters and scores; costs about a microsecond and never raises."""
        with self._lock:
            self._pending.update({name: count for name, count in counts.items() if count})
            if scored is not None:
                self._scored.append(scored)
            self._start()

    def flush(self) -> None:
        """Write what has been counted; on a failing store it is kept for the next time."""
        with self._stepping:
            with self._lock:
                counts, scored = self._pending.copy(), list(self._scored)
                self._scored.clear()
            self._unwritten.extend(scored)
            if scored and self._on_scored is not None:
                self._on_scored(scored)
            try:
                self._write_scores()
                if counts:
                    self._store.add_counts(counts)
            except Exception as error:  # whatever a store raises, the thread must live on
                self._fails("counts of verdicts", error)
            else:
                with self._lock:
                    self._pending -= counts
                self.error = None

    def _write_scores(self) -> None:
        if not self._unwritten:
            return
        if self._random is None:
            # The seed is fixed, but a process that is started anew goes on where the last one
            # ended: or nightly runs over one file would sample the same lines every night.
            self._random = Random(f"{_SEED}:{self._store.counts().get('queries', 0)}")
        batch = [replace(scored, priority=self._random.random()) for scored in self._unwritten]
        self._store.add_scores(batch, sample=SAMPLE_SIZE, recent=RECENT_SIZE)
        self._unwritten.clear()

    @property
    def unwritten(self) -> int:
        """How many queries were counted that are not known to be counted in the store."""
        return self._pending["queries"]

    def close(self, timeout: float | None = 10.0) -> None:
        """Write the last counts and stop; say what is not written after `timeout` seconds."""
        super().close(timeout)
        if unwritten := self.unwritten:
            logger.error(
                "the verdicts of %d queries are not in the counters: the store has failed, or "
                "has not answered in time",
                unwritten,
            )


def sampled(scored: Sequence[ScoredQuery], size: int = SAMPLE_SIZE) -> list[ScoredQuery]:
    """Return the `size` records of lowest priority, in their order.

    With independent uniform priorities it is a reservoir sample (Efraimidis and Spirakis, 2006,
    equal weights): every record ever seen is in it with the same probability, and samples of
    several writers merge into one of the whole.
    """
    lowest = sorted(range(len(scored)), key=lambda position: scored[position].priority)[:size]
    return [scored[position] for position in sorted(lowest)]


def retained(
    scored: Sequence[ScoredQuery], *, sample: int, recent: int, scorers: Set[str]
) -> list[ScoredQuery]:
    """Return what `AuditStore.add_scores` keeps, in order, and all that is of no such scorer."""
    kept = {id(record) for record in scored if record.scorer not in scorers}
    for scorer in scorers:
        mine = [record for record in scored if record.scorer == scorer]
        newest = mine[max(0, len(mine) - recent) :]
        kept |= {id(record) for record in (*newest, *sampled(mine, sample))}
    return [record for record in scored if id(record) in kept]
