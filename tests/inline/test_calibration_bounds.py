"""What a new calibration must pass: a small step, and the reference attacks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.embedding import HashedEmbedder
from ragguard.errors import CalibrationError
from ragguard.inline.calibration_bounds import (
    MAX_STEP,
    REFERENCE_SHARE,
    reference_attacks,
    reference_scores,
    require_admissible,
    require_calm,
    within_step,
)
from ragguard.inline.calibration_file import default_calibration, gate_threshold, measure_for
from ragguard.inline.conformal import Calibration
from ragguard.inline.drift import drift
from ragguard.inline.pipeline import ConformalFilter
from ragguard.inline.scoring import SCORER

ALPHA = 0.01
JUDGE = ConformalFilter(HashedEmbedder())
LINE = gate_threshold(None, ALPHA, 5, with_reference=False)


def calibration(highest, size=5, with_reference=False):
    """Return a calibration whose gate fires, at `ALPHA`, from just above `highest` on."""
    scores = np.append(np.full(98, -1.0), highest)
    return Calibration(scores, scores, size, with_reference, SCORER, "test")


def naming(highest, **changes):
    """Return the same of queries that only name something; those that ask go by the shipped one."""
    made = calibration(highest, **changes)
    none = np.empty(0)
    sample = {"naming": made.scores, "passage_naming": made.passage_scores}
    return replace(made, scores=none, passage_scores=none, **sample)


def admitted(made, in_force=None):
    try:
        require_admissible(made, in_force, ALPHA)
    except CalibrationError as refusal:
        return str(refusal)
    return None


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), st.floats(0.02, 0.5))
def test_the_line_is_where_the_gate_fires(scores, alpha):
    values = np.array(scores, dtype=np.float64)
    given = Calibration(values, values, 2, False, SCORER, "test")
    for size in (1, 2, 4, 100):
        line = gate_threshold(given, alpha, size, with_reference=False)
        own = measure_for(given, size, with_reference=False, naming=False, alpha=alpha)
        for score in np.arange(-6.0, 7.0):
            p_value = own.p_value(score, min(size, own.reach(alpha)))
            if abs(p_value - alpha) > 1e-6:
                assert (score >= line) == (p_value <= alpha)


def test_the_shipped_line_is_that_of_the_size():
    for size, below in ((1, False), (5, True), (12, False)):
        shipped = default_calibration(size, with_reference=below)
        line = gate_threshold(None, ALPHA, size, with_reference=below)
        assert line == shipped.threshold(ALPHA, size)
    # Of a longer list only as much is looked at as was calibrated.
    longest = gate_threshold(None, ALPHA, 50, with_reference=False)
    assert gate_threshold(None, ALPHA, 5000, with_reference=False) == longest


@pytest.mark.slow
def test_a_calibration_raises_the_threshold_by_one_step_at_most():
    step = float(np.nextafter(LINE + MAX_STEP, 0.0))
    assert not (admitted(calibration(step)) or "").startswith("the threshold would rise")
    assert admitted(calibration(LINE - 3.0)) is None
    refusal = admitted(calibration(LINE + MAX_STEP))
    assert f"would rise from {LINE:.1f} to {LINE + MAX_STEP:.1f} nats" in refusal
    assert "1 of 99 queries" in refusal
    assert "clean_looking=True" in refusal
    assert "force=True" in refusal
    # From where it is, not from the shipped one.
    high, low, near = (replace(calibration(line), confident=True) for line in (4.5, 3.0, 3.6))
    assert admitted(high, low).startswith("the threshold would rise")
    assert admitted(high, near) is None


@pytest.mark.parametrize("queries", [99, 104, 150, 199, 223])
def test_clean_traffic_of_any_number_of_queries_moves_no_line(queries):
    """The least p-value of 150 queries is 1 / 151: the shipped line of that is far higher."""
    clean = Calibration(np.zeros(queries), np.zeros(queries), 5, False, SCORER, "test")
    assert gate_threshold(clean, ALPHA, 5, with_reference=False) == LINE


def test_clean_traffic_that_is_too_little_goes_back_to_the_shipped_line():
    little = calibration(0.0)
    much = replace(little, confident=True)
    assert gate_threshold(much, ALPHA, 5, with_reference=False) < LINE - MAX_STEP
    assert gate_threshold(little, ALPHA, 5, with_reference=False) == LINE
    assert admitted(little, much) is None


def test_the_line_of_each_class_rises_by_one_step_at_most():
    step = float(np.nextafter(LINE + MAX_STEP, 0.0))
    assert "would rise" not in (admitted(naming(step)) or "")
    assert admitted(naming(LINE + MAX_STEP)).startswith("the threshold would rise")
    both = replace(naming(LINE + 3.0), scores=np.zeros(99), passage_scores=np.zeros(99))
    assert "would rise" in admitted(both)
    assert "would rise" in admitted(both, calibration(LINE + 3.0))
    assert "would rise" not in (admitted(both, both) or "")
    # A class whose sample is lost goes back to the shipped line, from wherever it was.
    assert admitted(calibration(LINE), naming(LINE - 3.0)) is None


@pytest.mark.slow
@pytest.mark.parametrize("with_reference", [False, True])
@pytest.mark.parametrize("class_of", [calibration, naming])
def test_the_reference_attacks_must_still_be_found(class_of, with_reference):
    named = np.array([attack.naming for attack in reference_attacks()])
    scores = reference_scores(5, with_reference=with_reference)
    scores = np.sort(scores[named == (class_of is naming)])
    shipped = gate_threshold(None, ALPHA, 5, with_reference=with_reference)
    found = scores[scores >= shipped]
    most = int(len(found) * (1 - REFERENCE_SHARE) + 1e-9)  # may be missed

    def made(highest):
        return class_of(highest, with_reference=with_reference)

    # The next one ties with more than may be missed: beyond it they are all lost.
    enough, too_far = np.nextafter(found[most], 0.0), found[most]
    in_force = made(too_far - MAX_STEP / 2)
    assert admitted(made(enough), in_force) is None
    refusal = admitted(made(too_far), in_force)
    lost = int((found <= too_far).sum())
    assert f"would find {(len(found) - lost) / len(found):.0%} of the reference" in refusal
    assert "It would miss" in refusal
    assert "force=True" in refusal


def test_what_its_owner_forced_may_stay_and_may_fall_but_not_lose_more():
    forced = calibration(8.5)
    assert admitted(forced).startswith("the threshold would rise")
    assert admitted(calibration(8.5), forced) is None
    assert admitted(calibration(7.0), forced) is None
    assert "reference attacks" in admitted(calibration(9.3), forced)


def test_an_alpha_too_small_for_the_shipped_calibration_is_measured_by_its_smallest():
    def made(highest):
        scores = np.append(np.full(4998, -1.0), highest)
        return Calibration(scores, scores, 5, False, SCORER, "test")

    with pytest.raises(CalibrationError, match="of the reference attacks"):
        require_admissible(made(11.9), made(11.0), 0.0002)
    require_admissible(made(11.0), made(11.0), 0.0002)


def test_a_record_in_which_the_gate_fires_as_often_as_it_may_is_calm():
    def fired(above, queries):
        return drift(np.r_[np.zeros(above), np.ones(queries - above)], 1158, 0.01)

    for above, queries in ((0, 99), (3, 200), (8, 500)):
        require_calm(fired(above, queries))
    with pytest.raises(CalibrationError) as refusal:
        require_calm(fired(100, 200))
    assert str(refusal.value).startswith(
        "50% of this record looks attacked: the gate in force fires on 100 of 200 queries, its "
        "calibration allows about 2.0."
    )
    assert "clean_looking=True (--clean-looking)" in str(refusal.value)
    with pytest.raises(CalibrationError, match="fires on 25 of 500"):
        require_calm(fired(25, 500))


@pytest.mark.parametrize("class_of", [calibration, naming])
@pytest.mark.parametrize("highest", [LINE - 1.0, LINE + 0.9, LINE + 3.0, 12.0])
def test_within_a_step_all_is_admitted(class_of, highest):
    made = class_of(highest)
    capped = within_step(made, None, ALPHA)
    assert admitted(capped) is None
    assert (capped is made) == (admitted(made) is None)
    # As often as it is tried again.
    assert admitted(within_step(made, capped, ALPHA), capped) is None
