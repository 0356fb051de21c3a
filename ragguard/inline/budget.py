"""Time budget: how long a set is read before only the ends of its other long texts are."""

from __future__ import annotations

from math import inf
from time import perf_counter, thread_time


class Budget:
    """Processor time of the calling thread, from now on; that of an embedder is not counted.

    Not time on the clock: a busy machine must not decide what is read whole. In two halves: a
    pause of the garbage collector, which may fall into any step, ends one of them, not both.
    """

    def __init__(self, max_ms: float = inf) -> None:
        self._half_s = max_ms / 2000.0
        self._second = False
        self._began, self._worked = perf_counter(), thread_time()

    def spent(self) -> bool:
        """Return True once the second half is spent."""
        # The clock first, which costs a tenth of asking for processor time, and is never behind it.
        if (
            perf_counter() - self._began <= self._half_s
            or thread_time() - self._worked <= self._half_s
        ):
            return False
        if self._second:
            return True
        self._second = True
        self._began, self._worked = perf_counter(), thread_time()
        return False
