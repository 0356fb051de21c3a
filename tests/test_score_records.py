"""What is recorded of queries becomes a calibration, and the recent p-values that drift is in."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.audit import ScoredQuery
from ragguard.audit.verdict_counter import RECENT_SIZE, SAMPLE_SIZE
from ragguard.embedding import HashedEmbedder
from ragguard.errors import CalibrationError
from ragguard.inline.calibration_file import default_calibration
from ragguard.inline.conformal import Calibration
from ragguard.inline.drift import Drift
from ragguard.inline.pipeline import ConformalFilter
from ragguard.inline.scoring import SCORER
from ragguard.passage import Passage
from ragguard.score_records import Recording, recent_p_values, record_of

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def scored(number, priority=0.0, scorer=SCORER, **fields):
    values = {
        "score": float(number),
        "suspicions": (float(number), -1.0 / 3.0),
        "with_reference": False,
        "attacked": False,
        "recorded_at": NOON + timedelta(seconds=number),
    }
    return ScoredQuery(scorer=scorer, priority=priority, **{**values, **fields})


CALM = Drift(queries=1, above=0, alpha=0.1, p_value=1.0, drifted=False)


def lines(asking, naming=None):
    return {False: asking, True: asking if naming is None else naming}


def made(records, **options):
    return Recording.of(records, **options).calibration(CALM)


def test_calibration_from_the_sample_and_from_the_newest():
    records = [scored(n, priority=n / 3000) for n in range(2500)]
    sample = made(records)
    assert sample.scores.tolist() == [float(n) for n in range(SAMPLE_SIZE)]
    assert len(sample.passage_scores) == 2 * SAMPLE_SIZE
    assert (sample.size, sample.with_reference, sample.scorer) == (2, False, SCORER)
    assert "2000 queries recorded from 2024-05-01 to 2024-05-01 UTC" in sample.source
    newest = made(records, newest=100)
    assert newest.scores.tolist() == [float(n) for n in range(2400, 2500)]
    assert len(made(records, newest=5000).scores) == RECENT_SIZE


def test_calibration_from_one_kind_of_query_and_one_scorer():
    records = [
        scored(1, scorer="other"),
        scored(2, with_reference=True),
        scored(3),
        scored(4, attacked=True),
    ]
    everything = made(records)
    assert everything.scores.tolist() == [3.0, 4.0]
    assert "left out: 0 repeated questions, 1 with reference passages" in everything.source
    with_reference = made(
        [*records, scored(5, with_reference=True), scored(6, with_reference=True)]
    )
    assert with_reference.with_reference
    assert with_reference.scores.tolist() == [2.0, 5.0, 6.0]
    assert "2 without reference passages" in with_reference.source


def test_calibration_from_the_most_frequent_number_of_judged_passages():
    records = [
        scored(1),
        scored(2),
        scored(3, suspicions=(3.0,)),
        scored(30, suspicions=(30.0,) * 21),
    ]
    most = made(records)
    assert most.scores.tolist() == [1.0, 2.0]
    assert most.size == 2
    assert most.source.endswith("2 with more or fewer passages than 2")
    even = made([*records, scored(4, suspicions=(4.0,) * 3), scored(5, suspicions=(5.0,) * 3)])
    assert even.size == 3


def test_a_question_counts_once_and_as_it_was_asked_last():
    records = [
        scored(9, question="a"),
        scored(8, question="b"),
        *[scored(n, question="a") for n in (7, 6, 5)],
        scored(4, question="b", with_reference=True),
        scored(3),
        scored(3),  # nobody knows what older versions were asked
    ]
    once = made(records)
    assert once.scores.tolist() == [3.0, 3.0, 5.0, 8.0]
    assert "4 queries recorded" in once.source
    assert "3 repeated questions, 1 with reference passages" in once.source
    # The newest two questions, not the newest two queries.
    again = [*records, *[scored(2, question="c") for _ in range(50)]]
    assert made(again, newest=2).scores.tolist() == [2.0, 3.0]


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=40), st.integers(1, 6))
def test_nobody_gets_more_weight_by_asking_again(asked, newest):
    records = [scored(n, question=question) for n, question in enumerate(asked)]
    last = {question: float(n) for n, question in enumerate(asked)}
    assert made(records).scores.tolist() == sorted(last.values())
    assert made(records, newest=newest).scores.tolist() == sorted(last.values())[-newest:]


def test_below_a_threshold_nothing_from_it_on_is_learned():
    records = [scored(n, suspicions=(float(n), -1.0)) for n in range(20)]
    recording = Recording.of(records)
    capped = recording.calibration(CALM, below=lines(15.0))
    just_below = np.nextafter(15.0, 0.0)
    assert capped.scores.tolist() == [*map(float, range(15)), *[just_below] * 5]
    assert capped.passage_scores[-5:].tolist() == [just_below] * 5
    assert capped.threshold(0.1, 2) == 15.0
    assert recording.calibration(CALM).threshold(0.1, 2) == np.nextafter(18.0, np.inf)
    # Where the traffic is quieter than the threshold in force, it may fall.
    assert recording.calibration(CALM, below=lines(25.0)).threshold(0.1, 2) < 25.0


@given(
    st.lists(st.floats(-20, 30), min_size=9, max_size=60),
    st.floats(-5, 20),
    st.integers(1, 6),
)
def test_a_capped_calibration_never_raises_the_threshold(scores, line, judged):
    records = [scored(0, score=score, suspicions=(score,) * judged) for score in scores]
    capped = Recording.of(records).calibration(CALM, below=lines(line))
    assert capped.threshold(0.1, judged) <= line


def test_how_often_the_gate_in_force_fires_on_a_record():
    in_force = Calibration(
        np.arange(1.0, 10.0), np.arange(3.0), 2, with_reference=False, scorer="s", source="test"
    )
    records = [scored(n) for n in (1, 8, 9, 10, 11)]
    # Of 9 scores a share of 0.2 allows one above: the gate fires from beyond 9 on, and at 9.
    fired = Recording.of(records).fired(in_force, 0.2)
    assert (fired.queries, fired.above, fired.alpha) == (5, 3, 0.2)
    assert "fires on 3 of them" in Recording.of(records).calibration(fired).source
    attacked = [scored(n) for n in (*range(100), *[50] * 100)]
    assert Recording.of(attacked).fired(in_force, 0.2).drifted


@pytest.mark.parametrize("records", [[], [scored(1, scorer="old")]])
def test_nothing_recorded_is_said_so(records):
    with pytest.raises(CalibrationError, match="monitor mode"):
        Recording.of(records)


def test_recent_p_values_are_those_of_the_calibration():
    calibration = Calibration(
        np.arange(1.0, 10.0), np.arange(3.0), 2, with_reference=False, scorer="s", source="test"
    )
    records = [
        scored(5),
        scored(9),
        scored(10),
        scored(10, with_reference=True),
        scored(10, scorer="other"),
        scored(10, suspicions=(10.0, 0.0, 0.0)),
    ]
    p_values, sizes = recent_p_values(records, calibration, alpha=0.2)
    assert sizes.tolist() == [9] * 4
    assert p_values.tolist() == pytest.approx([6 / 10, 2 / 10, 1 / 10, 2 / 10])
    p_values, sizes = recent_p_values([], calibration, alpha=0.2)
    assert (p_values.tolist(), sizes.tolist()) == ([], [])
    p_values, sizes = recent_p_values(
        [scored(-100, suspicions=(-100.0, -200.0)), scored(100)], None, alpha=0.2
    )
    queries = len(default_calibration(3, with_reference=False).scores)
    assert (p_values.tolist(), sizes.tolist()) == ([1.0, 1 / (queries + 1)], [queries] * 2)


def test_recent_p_values_count_as_many_passages_as_the_gate_and_look_at_all():
    calibration = Calibration(
        np.arange(1.0, 10.0), np.arange(3.0), 2, with_reference=False, scorer="s", source="test"
    )
    behind = scored(10, suspicions=(4.0, 5.0, 10.0))
    # Of 9 queries a share of 0.1 allows one block of two passages, and 0.2 allows two blocks.
    assert recent_p_values([behind], calibration, alpha=0.1)[0] == pytest.approx([1 / 10])
    assert recent_p_values([behind], calibration, alpha=0.2)[0] == pytest.approx([2 / 10])
    largest = default_calibration(10_000, with_reference=False).size
    for place in (largest - 1, largest):
        suspicions = [-100.0] * (largest + 1)
        suspicions[place] = 100.0
        shipped = scored(100, suspicions=tuple(suspicions))
        assert 0.0001 <= recent_p_values([shipped], None, alpha=0.01)[0] <= 0.01


# Queries that ask, and queries that only name


def test_what_is_recorded_says_whether_the_query_only_names():
    guard = ConformalFilter(HashedEmbedder())
    for query, naming in (("Marrow Light", True), ("When was the Marrow Light lit?", False)):
        decision = guard.decide(query, [Passage("The Marrow Light was lit in 1874.")], 1)
        assert record_of(decision, query).naming is naming


def test_each_class_is_learned_by_itself_and_below_its_own_line():
    records = [scored(n, naming=n % 2 == 1, suspicions=(float(n),)) for n in range(20)]
    recording = Recording.of(records)
    both = recording.calibration(CALM)
    assert both.scores.tolist() == both.passage_scores.tolist() == [*range(0, 20, 2)]
    assert both.naming.tolist() == both.passage_naming.tolist() == [*range(1, 20, 2)]
    assert "20 queries recorded" in both.source
    capped = recording.calibration(CALM, below=lines(17.0, naming=10.0))
    assert capped.scores.tolist() == [*range(0, 18, 2), np.nextafter(17.0, 0.0)]
    assert capped.naming.tolist() == [1, 3, 5, 7, 9, *[np.nextafter(10.0, 0.0)] * 5]


def test_a_query_is_compared_with_its_class():
    asking, naming = np.arange(1.0, 10.0), np.arange(11.0, 30.0)
    both = Calibration(asking, asking, 2, False, "s", "test", naming=naming, passage_naming=naming)
    records = [scored(10), scored(10, naming=True), scored(30, naming=True)]
    p_values, sizes = recent_p_values(records, both, alpha=0.1)
    assert p_values.tolist() == pytest.approx([1 / 10, 1.0, 1 / 20])
    assert sizes.tolist() == [9, 19, 19]
    # Who has no sample of its own goes by the shipped one, whatever the other class scores.
    alone = Calibration(asking, asking, 2, False, "s", "test")
    shipped = default_calibration(2, with_reference=False)
    p_values, sizes = recent_p_values(records, alone, alpha=0.1)
    assert p_values[1:].tolist() == [shipped.p_value(n, 2) for n in (10.0, 30.0)]
    assert sizes.tolist() == [9, *[len(shipped.scores)] * 2]
