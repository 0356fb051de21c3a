"""The judge in force, and what becomes of the watch when another takes its place."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragguard import Guard
from ragguard.audit import ScoredQuery
from ragguard.calibrator import Calibrator
from ragguard.embedding import HashedEmbedder
from ragguard.errors import CalibrationError
from ragguard.inline import calibration_bounds
from ragguard.inline.calibration_file import gate_threshold
from ragguard.inline.conformal import Calibration
from ragguard.inline.ragdefender.baseline import RAGDefenderFilter
from ragguard.inline.scoring import SCORER
from ragguard.passage import Passage

QUERIES = [
    (
        f"What is the {word} of Halden like with a {other}?",
        [f"The {other} of Halden is by the river."],
    )
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
    return judge.select(judge.gate("Who?", [Passage("The mill.")], 1), embedder).p_value


def test_another_judge_comes_with_every_calibration():
    made = calibrator()
    shipped = made.filter
    assert made.adopted is None
    first = made.adopt_traffic(QUERIES, None, force=True)
    by_traffic = made.filter
    assert made.adopted is first
    second = made.adopt_recorded([score() for _ in range(30)], newest=20, force=True)
    assert (made.adopted, len(second.scores)) == (second, 20)
    assert len({id(judge) for judge in (shipped, by_traffic, made.filter)}) == 3
    # Who began with an earlier judge ends with it.
    embedder = HashedEmbedder()
    assert p_value(shipped, embedder) == p_value(calibrator().filter, embedder)
    assert p_value(by_traffic, embedder) == p_value(calibrator(first).filter, embedder)


def test_a_file_that_cannot_be_written(tmp_path):
    made = calibrator()
    made.adopt_traffic(QUERIES, None, force=True)
    with pytest.raises(CalibrationError, match=r"cannot write .*; pass a path that"):
        made.save(tmp_path / "missing" / "c.json")


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    path = tmp_path / "c.json"
    calibrator(own(19)).save(path)
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(CalibrationError, match=r"No space left on device; pass a path that"):
        calibrator(own(30)).save(path)
    assert path.read_bytes() == before


def test_what_is_refused_changes_nothing():
    given = own(19)
    made = calibrator(given)
    judge = made.filter
    with pytest.raises(CalibrationError, match="at least 19 calibration queries, there are 18"):
        made.adopt_traffic(QUERIES[:18], None)
    with pytest.raises(CalibrationError):
        made.adopt_recorded([])
    assert (made.filter, made.adopted) == (judge, given)
    with pytest.raises(CalibrationError):
        calibrator(own(18))


def test_without_a_gate_there_is_nothing_to_adopt():
    made = calibrator()
    made.filter_without_gate()
    with pytest.raises(CalibrationError, match="no gate to calibrate"):
        made.adopt_traffic(QUERIES, None)
    assert isinstance(made.filter, RAGDefenderFilter)
    assert made.adopted is None


@pytest.mark.parametrize("adopts", [False, True])
def test_the_watch_begins_anew_with_the_calibration(adopts, caplog):
    made = calibrator()
    made.watch([score(attacked=True)] * 499)
    if adopts:
        made.adopt_traffic(QUERIES, None, force=True)
    made.watch([score(attacked=True)])
    assert ("the gate fired on 500" in caplog.text) is not adopts


# Traffic that strangers have a hand in


def recording(highest, queries=1000, high=10):
    """Return records of which `high` score `highest`; ten of 1000 set the threshold."""
    scores = [-1.0] * (queries - high) + [highest] * high
    return [
        ScoredQuery(value, (value,) * 5, False, False, SCORER, question=str(n))
        for n, value in enumerate(scores)
    ]


def line(made, alpha=0.01):
    return gate_threshold(made.adopted, alpha, 5, with_reference=False)


def found(made, alpha=0.01):
    """Return the share of the reference attacks that the judge in force finds of the shipped's.

    Of those on questions that ask, as what is recorded here does.
    """
    asking = np.array([not attack.naming for attack in calibration_bounds.reference_attacks()])
    scores = calibration_bounds.reference_scores(5, with_reference=False)[asking]
    shipped = scores >= gate_threshold(None, alpha, 5, with_reference=False)
    return (scores >= line(made, alpha)).sum() / shipped.sum()


def at_one_percent():
    return Calibrator(HashedEmbedder(), strategy="auto", alpha=0.01, calibration=None)


def test_what_is_refused_is_adopted_by_force():
    made = at_one_percent()
    judge = made.filter
    with pytest.raises(CalibrationError, match="the threshold would rise"):
        made.adopt_recorded(recording(11.5))
    with pytest.raises(CalibrationError, match="50% of this record looks attacked"):
        made.adopt_recorded(recording(11.5, high=500))
    assert (made.filter, made.adopted) == (judge, None)
    made.adopt_recorded(recording(11.5, high=500), force=True)
    assert line(made) > 11.5
    assert found(made) < 0.9


@pytest.mark.parametrize("high", [10, 12, 500, 1000])
def test_clean_looking_never_raises_the_threshold(high):
    made = at_one_percent()
    before = line(made)
    made.adopt_recorded(recording(11.5, high=high), clean_looking=True)
    assert line(made) == before
    made.adopt_recorded(recording(before - 1.0, high=high), clean_looking=True)
    assert line(made) < before
    assert found(made) >= 1.0


def test_many_small_steps_go_no_further_than_the_reference_attacks_allow():
    made = at_one_percent()
    size = 0.999
    steps = 0
    for _ in range(200):
        before = line(made)
        try:
            made.adopt_recorded(recording(before + size))
        except CalibrationError:
            size /= 2
        else:
            steps += 1
            assert before < line(made) <= before + 1.0
            assert found(made) >= 0.9
        if size < 1e-3:
            break
    assert steps >= 2
    assert size < 1e-3  # whoever goes by smaller steps gets no further either


@pytest.mark.slow
@given(st.lists(st.floats(-2.0, 14.0), min_size=1, max_size=5), st.booleans())
@settings(max_examples=20)
def test_whatever_is_recorded_the_attacks_are_found(scores, clean_looking):
    made = at_one_percent()
    for score in scores:
        with contextlib.suppress(CalibrationError):
            made.adopt_recorded(recording(score), clean_looking=clean_looking)
        assert found(made) >= 0.9


def test_trusted_traffic_raises_the_threshold_by_one_step_at_most(caplog):
    made = Calibrator(HashedEmbedder(), strategy="auto", alpha=0.05, calibration=None)
    planted = [(query, [query, *passages]) for query, passages in QUERIES]
    for _ in range(2):
        before = line(made, 0.05)
        adopted = made.adopt_traffic(planted, None)
        assert made.adopted is adopted
        assert before < line(made, 0.05) <= before + 1.0
        assert "queries score higher than one calibration may raise" in adopted.source
    assert found(made, 0.05) >= 0.9
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2
    forced = made.adopt_traffic(planted, None, force=True)
    assert line(made, 0.05) > before + 1.0
    assert "higher" not in forced.source


def longer(pairs):
    """Return the pairs with one more, of far more passages than the others have."""
    return [*pairs, ("What is the fort of Halden like?", [f"Stone {n} is grey." for n in range(9)])]


def test_one_longer_set_makes_no_way_around_the_bounds():
    made = calibrator()
    planted = [(query, [query, *passages]) for query, passages in QUERIES]
    before = line(made, 0.05)
    made.adopt_traffic(longer(planted), None)
    assert line(made, 0.05) <= before + 1.0
    adopted = made.adopt_traffic(longer(QUERIES), None, force=True)
    assert (adopted.size, adopted.queries) == (1, len(QUERIES))
    assert adopted.source.endswith(
        "left out: 0 repeated questions, 1 with more or fewer passages than 1"
    )


@pytest.mark.parametrize("decide", ["quarantine", "allow"])
@pytest.mark.parametrize("k", [None, 2])
def test_nothing_is_learned_of_what_the_filter_does_not_judge(decide, k):
    planted = [
        (query, [Passage(query, metadata={"source": "faq"}), *passages])
        for query, passages in QUERIES
    ]
    with Guard(alpha=0.05) as guard:
        if decide == "allow":
            guard.allow("faq", why="our own")
        else:
            for _, (page, *_) in planted:
                guard.quarantine(page, why="planted")
        made = guard.calibrate(planted, k=k)
    clean = calibrator().adopt_traffic(QUERIES, None, force=True)
    assert made.scores.tolist() == clean.scores.tolist()
    assert (made.size, made.with_reference) == (1, False)


def test_a_query_of_which_nothing_is_judged_does_not_count():
    with Guard(alpha=0.05) as guard:
        guard.quarantine(QUERIES[0][1][0], why="planted")
        with pytest.raises(CalibrationError, match="no query of the traffic has passages"):
            guard.calibrate(QUERIES[:1])


def test_a_question_that_comes_again_counts_once_as_it_came_last():
    earlier = [(query, [query]) for query, _ in QUERIES]
    shuffled = [(" ".join(reversed(query.split())), [query]) for query, _ in QUERIES]
    made, once = calibrator(), calibrator()
    adopted = made.adopt_traffic([*earlier, *shuffled, *QUERIES], None)
    assert adopted.scores.tolist() == once.adopt_traffic(QUERIES, None).scores.tolist()
    assert f"left out: {2 * len(QUERIES)} repeated questions" in adopted.source
    with pytest.raises(CalibrationError, match="at least 19 calibration queries, there are 5"):
        made.adopt_traffic(QUERIES[:5] * 10, None)
