"""The gate: conformal p-values, their guarantee, and the files that keep a calibration."""

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from ragguard import Guard
from ragguard.errors import CalibrationError, RagguardError
from ragguard.inline.calibration_file import (
    default_calibration,
    gate_threshold,
    load_calibration,
    measure_for,
    promise,
    save_calibration,
)
from ragguard.inline.conformal import Calibration, lifted
from ragguard.inline.scoring import SCORER

finite = st.floats(allow_nan=False, allow_infinity=False)


def calibration(scores, **changes):
    values = {
        "passage_scores": scores,
        "size": 5,
        "with_reference": False,
        "scorer": SCORER,
        "source": "test",
    }
    return Calibration(**{"scores": scores, **values, **changes})


# p-values


def test_p_values_by_hand():
    judge = calibration([3.0, 1.0, 2.0, 2.0])
    assert judge.scores.tolist() == [1.0, 2.0, 2.0, 3.0]
    assert judge.p_value(0.0, 5) == 1.0
    assert judge.p_value(1.0, 5) == 1.0
    assert judge.p_value(1.5, 5) == 0.8
    assert judge.p_value(2.0, 5) == 0.8  # those that tie count as at least as strange
    assert judge.p_value(3.0, 5) == 0.4
    assert judge.p_value(9.0, 5) == 0.2
    assert judge.passage_p_values(np.array([0.0, 1.5, 2.0, 3.0, 9.0])).tolist() == [
        1.0,
        0.8,
        0.8,
        0.4,
        0.2,
    ]


def test_the_smallest_suspicion_of_a_passage_s_p_value_by_hand():
    judge = calibration(np.arange(99.0))  # of a hundred one, two ... may be as high
    assert judge.passage_threshold(0.01) == np.nextafter(98.0, np.inf)
    assert judge.passage_threshold(0.02) == np.nextafter(97.0, np.inf)
    assert judge.passage_threshold(0.0099) == np.inf
    assert judge.passage_threshold(1.0) == -np.inf


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30), st.floats(0.001, 1.0))
def test_the_threshold_of_a_passage_is_where_its_p_value_is_alpha(scores, alpha):
    judge = calibration(scores)
    least = judge.passage_threshold(alpha)
    around = np.array([*scores, *np.nextafter(np.array(scores, float), np.inf)])
    assert ((judge.passage_p_values(around) <= alpha + 1e-9) == (around >= least)).all()


@given(st.lists(finite, min_size=1, max_size=30), finite, st.integers(1, 5))
def test_p_values_equal_the_count(scores, score, judged):
    expected = (1 + sum(other >= score for other in scores)) / (1 + len(scores))
    assert calibration(scores).p_value(score, judged) == expected
    assert calibration(scores).passage_p_values(np.array([score])).tolist() == [expected]


@pytest.mark.parametrize(
    ("judged", "blocks"), [(0, 1), (1, 1), (5, 1), (6, 2), (10, 2), (11, 3), (50, 10)]
)
def test_a_larger_set_pays_for_its_blocks(judged, blocks):
    scores = list(range(999))
    assert calibration(scores).p_value(990.5, judged) == pytest.approx(blocks * 9 / 1000)
    assert calibration(scores).p_value(500.0, judged) == min(1.0, blocks * 500 / 1000)


@given(st.integers(1, 7), st.data())
def test_the_guarantee_holds_exactly_for_every_exchangeable_draw(n, data):
    """Over all n + 1 roles of n + 1 scores, ties or not, P(p <= alpha) <= alpha."""
    scores = data.draw(st.lists(st.integers(0, 3), min_size=n + 1, max_size=n + 1))
    p_values = [
        calibration(scores[:role] + scores[role + 1 :]).p_value(scores[role], 5)
        for role in range(n + 1)
    ]
    for alpha in sorted(set(p_values)):
        assert sum(p <= alpha for p in p_values) / (n + 1) <= alpha + 1e-12


def test_the_guarantee_is_tight_where_nothing_ties():
    scores = list(range(10))
    p_values = sorted(
        calibration(scores[:role] + scores[role + 1 :]).p_value(scores[role], 5)
        for role in range(10)
    )
    assert p_values == pytest.approx(np.arange(1, 11) / 10)


@pytest.mark.parametrize(
    ("draw", "alpha"),
    list(
        product(
            [
                lambda random, size: random.normal(size=size),
                lambda random, size: random.integers(0, 4, size=size).astype(float),
                lambda random, size: random.standard_cauchy(size=size),
            ],
            [0.01, 0.05, 0.2],
        )
    ),
)
def test_simulated_clean_traffic_is_touched_at_most_alpha_of_the_time(draw, alpha):
    random = np.random.default_rng(20240501)
    n, rounds, queries = 199, 200, 50
    fired = 0
    for _ in range(rounds):
        sample = calibration(draw(random, n))
        # Of one calibration, the new queries are tested together: their mean is what counts.
        fired += sum(sample.p_value(score, 5) <= alpha for score in draw(random, queries))
    # Given its calibration a gate fires Beta(k, n + 1 - k) of the time, k = alpha (n + 1) at
    # most; the variance of the mean over rounds and queries follows.
    variance = alpha * (1 - alpha) * (1 / (rounds * (n + 2)) + 1 / (rounds * queries))
    assert fired / (rounds * queries) <= alpha + 4 * variance**0.5


# Size


@pytest.mark.parametrize(
    ("alpha", "needed"),
    [(0.01, 99), (0.05, 19), (0.1, 9), (0.07, 14), (0.5, 1), (0.99, 1), (1 / 3, 2), (1 / 49, 48)],
)
def test_the_smallest_calibration_for_an_alpha(alpha, needed):
    calibration([0.0] * needed).require(alpha)
    assert calibration([0.0] * needed).p_value(1.0, 5) <= alpha
    if needed > 1:
        with pytest.raises(CalibrationError, match=f"at least {needed} calibration queries"):
            calibration([0.0] * (needed - 1)).require(alpha)
        assert calibration([0.0] * (needed - 1)).p_value(1.0, 5) > alpha


@given(st.integers(1, 300), st.floats(0.0, 1.0, exclude_min=True, exclude_max=True))
def test_require_asks_whether_a_p_value_of_alpha_can_come_about(n, alpha):
    smallest = 1 / (n + 1)
    assume(not 0 < abs(smallest - alpha) < 1e-9)
    sample = calibration([0.0] * n)
    if smallest <= alpha:
        sample.require(alpha)
        assert sample.p_value(1.0, 1) <= alpha
    else:
        with pytest.raises(CalibrationError):
            sample.require(alpha)


@pytest.mark.parametrize(
    "changes",
    [
        {"scores": []},
        {"passage_scores": []},
        {"scores": [np.nan]},
        {"passage_scores": [np.inf]},
        {"size": 0},
        {"size": -3},
    ],
)
def test_a_calibration_of_nothing_is_refused(changes):
    with pytest.raises(CalibrationError):
        calibration(**{"scores": [1.0], **changes})


def test_scores_cannot_be_changed():
    sample = calibration([2.0, 1.0])
    with pytest.raises(ValueError, match="read-only"):
        sample.scores[0] = 9.0


# Bounds for the calibration at hand


@given(
    st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=60),
    st.sampled_from([1, 2]),
    st.floats(0.5, 0.99),
)
def test_lifted_scores_give_upper_bounds_for_p_values(scores, sets, confidence):
    scores = sorted(scores * sets)
    queries, size = len(scores) // sets, len(scores)
    made = lifted(scores, queries, confidence)
    assert len(made) == size
    assert made.tolist() == sorted(made.tolist())
    assert set(made.tolist()) <= set(scores)
    for score in scores:
        above = sum(other >= score for other in scores) / sets
        # Clopper and Pearson's bound: so few or fewer are seen with probability 1 - confidence.
        bound = beta.ppf(confidence, above + 1, queries - above) if above < queries else 1.0
        p_value = (1 + sum(other >= score for other in made.tolist())) / (1 + size)
        assert p_value >= bound - 1e-9 or p_value == 1.0


def test_lifted_scores_by_hand():
    # Of ten queries 1, 2, 3, 4, 5 above a score are bounded, at even odds, by 0.162, 0.259, 0.355,
    # 0.452, 0.548: of eleven ranks these are 2, 3, 4, 5 and 7.
    made = lifted([float(n) for n in range(10)], 10, 0.5)
    assert made.tolist() == [2.0, 3.0, 4.0, 5.0, 6.0, 6.0, 7.0, 8.0, 9.0, 9.0]


def share_above(line):
    """Of scores spread evenly over (0, 1)."""
    return 1.0 - min(max(line, 0.0), 1.0)


@pytest.mark.parametrize(("n", "alpha"), [(300, 0.01), (400, 0.05), (150, 0.1)])
def test_what_claims_confidence_touches_more_than_alpha_in_one_of_ten_calibrations(n, alpha):
    random = np.random.default_rng(20261123)
    samples = [calibration(random.uniform(size=n)) for _ in range(400)]
    made = [sample.of(False, alpha) for sample in samples]
    assert all(sample.confident for sample in made)  # nothing here lies a nat above the rest
    broken = sum(share_above(sample.threshold(alpha, 5)) > alpha for sample in made)
    assert broken / 400 <= 0.1 + 3 * (0.1 * 0.9 / 400) ** 0.5
    # As they are, about half of them do.
    raw = sum(share_above(sample.threshold(alpha, 5)) > alpha for sample in samples)
    assert raw / 400 > 0.3


@pytest.mark.parametrize(
    ("n", "alpha", "confident"),
    [(229, 0.01, False), (230, 0.01, True), (21, 0.1, False), (22, 0.1, True)],
)
def test_confidence_needs_so_many_queries(n, alpha, confident):
    """With 90 % confidence 1 % lie above the highest of n scores from 0.99^n <= 0.1 on."""
    assert ((1 - alpha) ** n <= 0.1) is confident
    assert calibration([0.0] * n).of(False, alpha).confident is confident


@pytest.mark.parametrize(("highest", "confident"), [(3.0, True), (3.1, False)])
def test_the_bound_raises_the_threshold_by_one_nat_at_most(highest, confident):
    # Of 300 scores 1 % is the third highest; with 90 % confidence it is the highest.
    sample = calibration([*[0.0] * 297, 2.0, 2.0, highest])
    own = sample.of(False, 0.01)
    assert own.confident is confident
    assert own.threshold(0.01, 5) == np.nextafter(highest if confident else 2.0, np.inf)
    assert sample.threshold(0.01, 5) == np.nextafter(2.0, np.inf)


# Classes: queries that ask, and queries that only name


def two(asking, naming, **changes):
    return calibration(asking, naming=naming, passage_naming=naming, **changes)


def test_each_class_has_a_sample_of_its_own():
    both = two(range(10), range(100, 120))
    assert both.queries == 30
    asking, naming = both.of(False, 0.1), both.of(True, 0.1)
    assert asking.scores.tolist() == asking.passage_scores.tolist() == [*range(10)]
    assert naming.scores.tolist() == naming.passage_scores.tolist() == [*range(100, 120)]
    assert not both.pooled(0.1)
    assert both.of(True, 0.1) is naming  # made once
    both.require(1 / 31)
    with pytest.raises(CalibrationError, match="at least 31 calibration queries, there are 30"):
        both.require(1 / 32)


def test_a_class_without_enough_goes_by_the_shipped_sample_and_never_by_the_others():
    high = two([50.0] * 9, [0.0] * 99)
    for alpha, size in product((0.01, 0.05), (5, 20)):
        about = {"with_reference": True, "naming": False, "alpha": alpha}
        found = measure_for(high, size, **about)
        assert found is default_calibration(size, with_reference=True)
        assert found is measure_for(None, size, **about)
    assert measure_for(high, 5, with_reference=True, naming=False, alpha=0.1).scores[0] == 50.0


def test_where_neither_has_enough_all_serve_both():
    few = two([1.0] * 4, [2.0] * 5)
    assert few.pooled(0.1)
    for naming in (False, True):
        assert few.of(naming, 0.1).scores.tolist() == [1.0] * 4 + [2.0] * 5
        assert few.of(naming, 0.1).passage_scores.tolist() == [1.0] * 4 + [2.0] * 5
        assert few.of(naming, 0.05) is None
    assert not few.pooled(0.05)


@given(
    st.lists(finite, min_size=19, max_size=40),
    st.lists(finite, max_size=40),
    st.lists(finite, max_size=40),
    st.booleans(),
)
def test_one_class_never_moves_the_line_of_the_other(mine, theirs, others, naming):
    def line(other):
        made = two(other, mine) if naming else two(mine, other)
        return gate_threshold(made, 0.05, 5, with_reference=False, naming=naming)

    assert line(theirs) == line(others)


@given(st.integers(1, 6), st.integers(1, 6), st.booleans(), st.data())
def test_the_guarantee_holds_in_each_class(asking, naming, named, data):
    """Over all roles of the scores of a class, whatever the other class scores."""
    one_more = (naming if named else asking) + 1
    scores = data.draw(st.lists(st.integers(0, 3), min_size=one_more, max_size=one_more))
    rest = data.draw(
        st.lists(
            st.integers(-5, 8),
            min_size=asking if named else naming,
            max_size=asking if named else naming,
        )
    )
    alpha = 1 / one_more
    p_values = []
    for role in range(one_more):
        others = scores[:role] + scores[role + 1 :]
        made = two(rest, others) if named else two(others, rest)
        p_values.append(made.of(named, alpha).p_value(scores[role], 5))
    assert sum(p <= alpha for p in p_values) / one_more <= alpha + 1e-12


@pytest.mark.parametrize(
    ("asking", "naming", "said"),
    [
        (99, 0, "asking: 99 queries, alpha kept on average; naming: as shipped"),
        (300, 120, "asking: 300 queries, alpha kept with 90 % confidence; "
         "naming: 120 queries, alpha kept on average"),
        (60, 60, "asking and naming: 120 queries, alpha kept on average"),
    ],
)  # fmt: skip
def test_what_is_promised_is_said(asking, naming, said):
    assert promise(two([0.0] * asking, [0.0] * naming), 0.01) == said


@pytest.mark.parametrize(
    ("naming", "passage_naming"), [([1.0], []), ([], [1.0]), ([np.nan], [1.0]), ([1.0], [np.inf])]
)
def test_half_a_class_is_refused(naming, passage_naming):
    with pytest.raises(CalibrationError):
        calibration([1.0], naming=naming, passage_naming=passage_naming)


def test_a_calibration_may_be_of_queries_that_name_alone():
    named = calibration([], passage_scores=[], naming=[1.0] * 9, passage_naming=[1.0] * 30)
    assert named.queries == 9
    assert named.of(False, 0.1) is None
    assert len(named.of(True, 0.1).passage_scores) == 30


# Files


@given(
    st.lists(finite, min_size=1, max_size=20),
    st.lists(finite, min_size=1, max_size=20),
    st.integers(1, 100),
    st.booleans(),
    st.text(st.characters(exclude_categories=())),
)
@settings(max_examples=50)
def test_a_saved_calibration_is_loaded_to_the_last_digit(
    tmp_path_factory, scores, passage_scores, size, with_reference, source
):
    path = tmp_path_factory.mktemp("calibration") / "clean.json"
    saved = calibration(
        scores,
        passage_scores=passage_scores,
        size=size,
        with_reference=with_reference,
        source=source,
    )
    save_calibration(saved, path)
    loaded = load_calibration(path)
    assert loaded.scores.tolist() == saved.scores.tolist()
    assert loaded.passage_scores.tolist() == saved.passage_scores.tolist()
    assert (loaded.size, loaded.with_reference) == (size, with_reference)
    assert (loaded.scorer, loaded.source) == (SCORER, source)


def test_classes_come_back_as_they_are_and_older_files_hold_queries_that_ask(tmp_path):
    path = tmp_path / "clean.json"
    saved = two([n / 300 for n in range(300)], [0.5, -0.25], passage_scores=[3.0])
    assert saved.of(False, 0.05).confident  # what is written is not the bounds
    save_calibration(saved, path)
    loaded = load_calibration(path)
    for name in ("scores", "passage_scores", "naming", "passage_naming"):
        assert getattr(loaded, name).tolist() == getattr(saved, name).tolist()
    data = json.loads(path.read_text())
    del data["naming"], data["passage_naming"]
    path.write_text(json.dumps(data))
    assert (len(load_calibration(path).scores), len(load_calibration(path).naming)) == (300, 0)


def test_a_query_ties_with_itself_after_loading(tmp_path):
    scores = [-5.96901234567, -1 / 3, 0.1 + 0.2]
    save_calibration(calibration(scores), tmp_path / "clean.json")
    loaded = load_calibration(str(tmp_path / "clean.json"))
    assert [loaded.p_value(score, 5) for score in scores] == [1.0, 0.75, 0.5]


def good_file():
    return {
        "format": 1,
        "size": 5,
        "with_reference": False,
        "scorer": SCORER,
        "source": "test",
        "scores": [1.0, 2.0],
        "passage_scores": [1.0],
    }


BROKEN = {
    "empty": "",
    "not JSON": "{",
    "another type": "[1, 2]",
    "nothing": "null",
    "no format": "{}",
    "a newer format": json.dumps({**good_file(), "format": 2}),
    "deep": "[" * 100_000,
    "NaN": json.dumps({**good_file(), "scores": [float("nan")]}),
    "infinity": json.dumps({**good_file(), "passage_scores": [float("inf")]}),
    "no scores": json.dumps({**good_file(), "scores": []}),
    "ragged scores": json.dumps({**good_file(), "scores": [[1.0], [1.0, 2.0]]}),
    "words": json.dumps({**good_file(), "scores": ["high"]}),
    "an object": json.dumps({**good_file(), "scores": {"a": 1.0}}),
    "half a class": json.dumps({**good_file(), "naming": [1.0]}),
    "words for names": json.dumps({**good_file(), "naming": ["x"], "passage_naming": [1.0]}),
    "null scores": json.dumps({**good_file(), "scores": None}),
    "a huge score": json.dumps({**good_file(), "scores": [10**400]}),
    "size 0": json.dumps({**good_file(), "size": 0}),
    "a negative size": json.dumps({**good_file(), "size": -1}),
    "an infinite size": json.dumps({**good_file(), "size": float("inf")}),
    "a size of NaN": json.dumps({**good_file(), "size": float("nan")}),
    "a null size": json.dumps({**good_file(), "size": None}),
    **{
        f"without {key}": json.dumps({k: v for k, v in good_file().items() if k != key})
        for key in good_file()
    },
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_damaged_file_is_named(tmp_path, content):
    path = tmp_path / "clean.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(CalibrationError, match=r"clean\.json"):
        load_calibration(path)
    with pytest.raises(CalibrationError):
        Guard(calibration=path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=6,
)


@given(st.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_file_is_loaded_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_bytes(content)
    with pytest.raises(CalibrationError):
        load_calibration(path)


@given(st.sampled_from(sorted(good_file())), json_values)
def test_a_file_with_any_value_in_one_place_is_loaded_or_refused(tmp_path_factory, key, value):
    path = tmp_path_factory.getbasetemp() / "one.json"
    path.write_text(json.dumps({**good_file(), key: value}), encoding="utf-8")
    try:
        loaded = load_calibration(path)
    except RagguardError:
        return
    assert 0.0 < loaded.p_value(0.0, 5) <= 1.0


@pytest.mark.parametrize("name", ["missing.json", "", "a\0b"])
def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path, name):
    path = f"{tmp_path}/folder/{name}" if name == "missing.json" else f"{tmp_path}/{name}"
    with pytest.raises(CalibrationError, match="cannot read the calibration"):
        load_calibration(path)
    with pytest.raises(CalibrationError, match="cannot write the calibration"):
        save_calibration(calibration([1.0]), path)


# Shipped


@pytest.mark.parametrize("with_reference", [False, True])
@pytest.mark.parametrize("judged", [0, 1, 5, 6, 10, 15, 20, 100])
def test_the_shipped_calibration_serves_the_default_alpha(judged, with_reference):
    shipped = default_calibration(judged, with_reference=with_reference)
    shipped.require(0.01)
    assert shipped.scorer == SCORER
    assert shipped.with_reference == with_reference
    assert np.isfinite(shipped.scores).all()
    if judged <= 20:
        assert shipped.size >= judged


def test_of_the_shipped_calibrations_the_smallest_that_fits_is_taken():
    sizes = [default_calibration(n, with_reference=False).size for n in range(60)]
    assert sizes == sorted(sizes)
    for n, size in enumerate(sizes):
        assert size >= n or size == max(sizes)
        assert n == 0 or n > size or default_calibration(size, with_reference=False).size == size


def test_a_calibration_of_another_scorer_is_refused(tmp_path):
    other = calibration([0.0] * 200, scorer="words-0")
    with pytest.raises(CalibrationError, match=r"'words-0'.*calibrate anew"):
        Guard(calibration=other)
    save_calibration(other, tmp_path / "old.json")
    with pytest.raises(CalibrationError, match="calibrate anew"):
        Guard(calibration=tmp_path / "old.json")


def test_a_calibration_too_small_for_alpha_is_refused():
    with pytest.raises(CalibrationError, match="at least 99"):
        Guard(calibration=calibration([0.0] * 98))
    Guard(calibration=calibration([0.0] * 98), alpha=0.02).close()


@pytest.mark.parametrize(
    ("queries", "alpha", "reach"), [(99, 0.01, 5), (198, 0.01, 5), (199, 0.01, 10), (684, 0.01, 30)]
)
def test_reach_is_what_the_smallest_p_value_allows(queries, alpha, reach):
    sample = calibration(range(queries), size=5)
    assert sample.reach(alpha) == reach
    assert sample.p_value(queries, reach) <= alpha
    assert sample.p_value(queries, reach + 1) > alpha


def test_of_the_shipped_calibration_one_block_is_within_reach():
    shipped = default_calibration(5, with_reference=False)
    assert shipped.reach(0.01) == shipped.reach(0.5) == shipped.size


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=60),
    st.floats(0.01, 0.9),
    st.integers(1, 20),
    st.integers(-1, 7),
)
def test_the_threshold_is_where_the_p_value_falls_to_alpha(scores, alpha, judged, score):
    sample = calibration(scores, size=5)
    fires = sample.p_value(score, judged) <= alpha
    close = abs(sample.p_value(score, judged) - alpha) < 1e-6
    assert close or fires is (score >= sample.threshold(alpha, judged))


@given(
    st.lists(st.integers(0, 6).map(float), min_size=1, max_size=60),
    st.lists(st.integers(0, 6).map(float), min_size=1, max_size=60),
    st.sampled_from([0.02, 0.05, 0.1, 0.3]),
    st.integers(-1, 8).map(float),
    st.integers(1, 12),
)
def test_of_two_samples_the_higher_p_value_and_threshold_are_taken(own, other, alpha, score, k):
    """A small sample's p-values are coarse: another one's must not be rounded to them."""
    first, second = calibration(own), calibration(other)
    both, judged = first.at_least(second), min(k, second.size)
    known = score <= max(other)  # past that the other sample says nothing
    p_values = first.p_value(score, k), second.p_value(score, judged) if known else 0.0
    assert both.p_value(score, k) == max(p_values)
    highest = np.nextafter(max(other), np.inf)
    lines = first.threshold(alpha, k), min(second.threshold(alpha, judged), highest)
    assert both.threshold(alpha, k) == max(lines)


def test_classes_that_share_alpha_have_the_lowest_of_their_p_values():
    sample = Calibration(np.arange(99.0), np.arange(99.0), 5, False, "s", "test")
    suspicion = np.array([97.5, 90.5, 200.0])  # p: 2/100, 9/100, and of what spends nothing
    shares_and_p = {
        (0.1, 0.9, 0.0): 0.1,
        (0.9, 0.1, 0.0): 0.02 / 0.9,
        (0.0, 0.0, 0.0): 1.0,
        (0.001, 0.0, 0.0): 1.0,
        (1.0, 1.0, 1.0): 0.01,
    }
    for shares, p in shares_and_p.items():
        assert sample.shared_p_value(suspicion, np.array(shares), 3) == pytest.approx(p)


def test_a_smaller_share_of_alpha_takes_more_evidence():
    sample = Calibration(np.arange(99.0), np.arange(99.0), 5, False, "s", "test")
    lines = [sample.threshold(0.05 * share, 5) for share in (1.0, 0.2, 0.0)]
    assert lines == sorted(lines)
    assert lines[0] < 96.5 < lines[1] < 98.5 < lines[2] == np.inf
