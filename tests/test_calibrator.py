"""The judge in force, and what becomes of the watch when another takes its place."""

import numpy as np
import pytest

from ragguard.audit import ScoredQuery
from ragguard.calibrator import Calibrator
from ragguard.embedding import HashedEmbedder
from ragguard.errors import CalibrationError
from ragguard.inline.calibration import Calibration
from ragguard.inline.ragdefender import RAGDefenderJudge
from ragguard.inline.suspicion import SCORER
from ragguard.passage import Passage

QUERIES = [
    (f"What is the {word} of Halden like?", [f"The {other} of Halden is by the river."])
    for word in "mill port inn lock farm".split()
    for other in "church bridge ford tower barn".split()
]


def calibrator(calibration=None):
    return Calibrator(HashedEmbedder(), strategy="auto", alpha=0.05, calibration=calibration)


def score(attacked=False):
    return ScoredQuery(0.0, (0.0,), False, attacked, SCORER)


def own(n):
    return Calibration(np.arange(n, dtype=float), np.zeros(n), 1, False, SCORER, "test")


def p_value(judge, embedder):
    return judge.open("Who?", [Passage("The mill.")], 1).finish(embedder).p_value


def test_another_judge_comes_with_every_calibration():
    made = calibrator()
    shipped = made.judge
    assert made.adopted is None
    first = made.adopt_traffic(QUERIES, None)
    by_traffic = made.judge
    assert made.adopted is first
    second = made.adopt_recorded([score()] * 30, newest=20, clean_looking=False)
    assert (made.adopted, len(second.scores)) == (second, 20)
    assert len({id(judge) for judge in (shipped, by_traffic, made.judge)}) == 3
    # Who began with an earlier judge ends with it.
    embedder = HashedEmbedder()
    assert p_value(shipped, embedder) == p_value(calibrator().judge, embedder)
    assert p_value(by_traffic, embedder) == p_value(calibrator(first).judge, embedder)


def test_what_is_refused_changes_nothing():
    given = own(19)
    made = calibrator(given)
    judge = made.judge
    with pytest.raises(CalibrationError, match="at least 19 calibration queries, there are 18"):
        made.adopt_traffic(QUERIES[:18], None)
    with pytest.raises(CalibrationError):
        made.adopt_recorded([], newest=None, clean_looking=False)
    assert (made.judge, made.adopted) == (judge, given)
    with pytest.raises(CalibrationError):
        calibrator(own(18))


def test_without_a_gate_there_is_nothing_to_adopt():
    made = calibrator()
    made.judge_without_gate()
    with pytest.raises(CalibrationError, match="no gate to calibrate"):
        made.adopt_traffic(QUERIES, None)
    assert isinstance(made.judge, RAGDefenderJudge)
    assert made.adopted is None


@pytest.mark.parametrize("adopts", [False, True])
def test_the_watch_begins_anew_with_the_calibration(adopts, caplog):
    made = calibrator()
    made.watch([score(attacked=True)] * 499)
    if adopts:
        made.adopt_traffic(QUERIES, None)
    made.watch([score(attacked=True)])
    assert ("the gate fired on 500" in caplog.text) is not adopts
