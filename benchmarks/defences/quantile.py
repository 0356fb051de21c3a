"""What the defences share that drop a passage whose score is above those of clean ones."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.plugins import Case, Decision, Judge, Setting
from benchmarks.retrieval import RetrievedSet

Score = Callable[[RetrievedSet], NDArray[np.float64]]


def above(score: Score, percentile: float) -> Callable[[Setting], Judge]:
    """Return what drops passages above a percentile of the clean ones of the choosing half."""

    def make(setting: Setting) -> Judge:
        limit = np.percentile(np.concatenate([score(one) for one in setting.clean]), percentile)

        def judge(case: Case) -> Decision:
            return Decision(tuple(np.flatnonzero(score(case.retrieved) <= limit).tolist()))

        return judge

    return make
