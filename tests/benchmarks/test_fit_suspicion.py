"""Samples, detectors and offsets on data made for the purpose."""

import json
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.datasets import Dataset, Record
from benchmarks.fit_manner import FOLDS
from benchmarks.fit_suspicion import (
    Recalls,
    as_json,
    cross_scores,
    fit_detector,
    offsets,
    score,
    shifted,
    with_manner,
)
from benchmarks.forms import FITTED_FORMS
from benchmarks.samples import PLANS, Plan, Sample, Samples, samples, sets_of
from ragguard.embedding import HashedEmbedder
from ragguard.inline.features import SIGNALS
from ragguard.inline.features.manner import shipped
from ragguard.inline.scoring import BY_HAND, DETECTORS, Detector

ONCE = (5, False)
SHIPPED = [shipped()] * FOLDS
PLAN = Plan(("a", "b"), ("prepend",))


def one(a, *, poisoned=(), form="clean", setting=ONCE, fold=0, b=0.0):
    """Return a set of passages with signals a and b, those at `poisoned` planted."""
    signals = np.stack([np.asarray(a, dtype=float), np.broadcast_to(b, len(a))], axis=1)
    mask = np.isin(np.arange(len(a)), poisoned)
    return Sample(signals, mask, form, len(poisoned), setting, fold)


def many(found):
    return Samples(list(found), ("a", "b"))


def traffic(seed=0, sets=200, folds=FOLDS):
    """Every second set attacked: a speaks for poison, b against it."""
    draw = np.random.default_rng(seed)
    for number in range(sets):
        poisoned = [0] if number % 2 else []
        a = draw.random(5) * 0.3
        b = draw.random(5)
        for at in poisoned:
            a[at] += 0.6
            b[at] = 0.0
        form = "prepend" if poisoned else "clean"
        yield one(a, b=b, poisoned=poisoned, form=form, fold=number // 2 % folds)


class TestWeights:
    def test_poison_and_benign_of_a_set_share_one_weight_each_and_clean_sets_weigh_thrice(self):
        found = many(
            [
                one([0, 0, 0, 0], poisoned=(0, 1), form="prepend"),
                one([0, 0]),
                one([0, 0]),
            ]
        )
        plan = Plan(("a",), ("prepend",))
        # Poison 1, benign 1, clean 3 together: a sum of 5.
        expected = [0.1, 0.1, 0.1, 0.1, *[0.15] * 4]
        np.testing.assert_allclose(found.weights(plan), expected)

    def test_the_forms_of_the_plan_weigh_the_same_and_others_nothing(self):
        found = many(
            [
                one([0], poisoned=(0,), form="prepend"),
                one([0], poisoned=(0,), form="middle"),
                one([0], poisoned=(0,), form="spread"),
                one([0]),
            ]
        )
        weights = found.weights(Plan(("a",), ("prepend", "middle")))
        np.testing.assert_allclose(weights, [1 / 8, 1 / 8, 0, 6 / 8])


class TestScore:
    def test_score_and_highest_by_hand(self):
        found = many([one([0.5, 0.1], b=0.5), one([0.0], b=1.0)])
        detector = Detector(-1.0, {"a": 2.0, "b": 4.0})
        np.testing.assert_allclose(score(detector, found), [2.0, 1.2, 3.0])
        np.testing.assert_allclose(found.highest(score(detector, found)), [2.0, 3.0])


class TestFit:
    def test_only_what_speaks_for_poison_gets_a_weight(self):
        detector = fit_detector(PLAN, many(traffic()))
        assert sum(detector.weights.values()) > 1
        assert set(detector.weights) == {"a"}

    def test_poison_scores_above_what_is_benign(self):
        found = many(traffic())
        scores = score(fit_detector(PLAN, found), found)
        assert scores[found.poisoned].min() > scores[~found.poisoned].max()

    def test_signals_outside_the_plan_get_no_weight(self):
        detector = fit_detector(Plan(("b",), ("prepend",)), many(traffic()))
        assert set(detector.weights) == {"b"}

    @pytest.mark.slow
    def test_signals_that_add_little_are_left_out(self):
        plan = Plan(("a", "b"), ("prepend",))
        for seed in range(3):
            assert min(fit_detector(plan, many(traffic(seed))).weights.values()) > 0.25

    def test_of_what_tells_nothing_the_first_signal_is_kept(self):
        found = many([one([0.5], b=0.5), one([0.5], b=0.5, poisoned=(0,), form="prepend")] * FOLDS)
        assert fit_detector(PLAN, found).weights == {"a": 0.25}

    def test_the_bias_is_the_log_odds_of_a_passage_without_signals(self):
        # Poison weighs one part of four where nothing tells it from what is clean.
        found = many([one([0.0]), one([0.0], poisoned=(0,), form="prepend")])
        assert fit_detector(PLAN, found).bias == pytest.approx(log(1 / 3), abs=1e-3)


class TestCrossFit:
    @pytest.mark.slow
    def test_a_sign_that_only_the_own_fold_shows_is_worth_nothing(self):
        # Poison of fold 0 is marked by b, which no other fold shows: its weights know a only.
        found = []
        for fold in range(FOLDS):
            for number in range(20):
                level = number / 100
                found.append(one([level, 0.0], fold=fold))
                marked = {"b": [1.0, 0.0]} if fold == 0 else {}
                a = 0.0 if fold == 0 else 0.8
                found.append(one([a, level], poisoned=(0,), form="prepend", fold=fold, **marked))
        sets = many(found)
        seen_by_all = fit_detector(PLAN, sets)
        assert any("b" in term for term in seen_by_all.weights)
        without = sets.where(sets.folds != 0)
        assert not any("b" in term for term in fit_detector(PLAN, without).weights)
        crossed = cross_scores(sets, {"x": PLAN})["x"]
        own = sets.where(sets.folds == 0)
        expected = own.highest(score(fit_detector(PLAN, without), own))
        np.testing.assert_array_equal(crossed[sets.folds == 0], expected)

    @pytest.mark.slow
    @settings(max_examples=15)  # two fits each
    @given(st.integers(0, FOLDS - 1), st.integers(0, 20))
    def test_what_a_fold_holds_does_not_change_how_it_is_weighed(self, fold, seed):
        found = list(traffic(seed, sets=60))
        here = np.array([sample.fold == fold for sample in found])
        # Another set in the place of one of the fold, its label included.
        first = int(np.flatnonzero(here)[0])
        other = list(found)
        other[first] = one([1.0] * 5, poisoned=(0, 1), form="prepend", fold=fold, b=1.0)
        kept = here.copy()
        kept[first] = False
        np.testing.assert_array_equal(
            cross_scores(many(found), {"x": PLAN})["x"][kept],
            cross_scores(many(other), {"x": PLAN})["x"][kept],
        )

    def test_every_detector_is_scored(self):
        found = many(traffic(sets=60))
        plans = {"x": PLAN, "y": Plan(("b",), ("prepend",))}
        scores = cross_scores(found, plans)
        assert list(scores) == ["x", "y"]
        np.testing.assert_array_equal(scores["y"], cross_scores(found, {"y": plans["y"]})["y"])

    def test_manner_is_added_to_the_ways_and_to_nothing_else(self):
        way, manner = Detector(-1.0, {"verbatim_question": 2.0}), Detector(-3.0, {"manner": 20.0})
        found = with_manner({"verbatim": way, "manner": manner})
        assert found["verbatim"] == Detector(-1.0, {"verbatim_question": 2.0, "manner": 20.0})
        assert found["manner"] == manner
        assert with_manner({"verbatim": way}) == {"verbatim": way}


def settings_traffic():
    """Two settings with 200 clean sets each, and four attacked sets in the first."""
    clean = [one([0], setting=setting) for setting in (ONCE, (10, True)) for _ in range(200)]
    attacked = [one([0], poisoned=(0,), form="prepend") for _ in range(4)]
    return many(clean + attacked)


class TestRecalls:
    def test_counts_by_hand(self):
        # 1 % of 200 and the query itself are two, the query among them: so one clean set may be
        # touched. 198 is the threshold of the first setting, 1198 of the second. Of the attacks
        # 198 itself is not above it.
        clean = [*range(200), *range(1000, 1200)]
        shares = Recalls(settings_traffic()).of(np.array([*clean, 198.0, 198.5, 199.0, 1.0]))
        assert shares == {("clean", 0): 2 / 400, ("prepend", 1): 2 / 4}

    def test_ties_of_clean_sets_touch_none(self):
        shares = Recalls(settings_traffic()).of(np.r_[np.zeros(400), np.ones(4)])
        assert shares == {("clean", 0): 0.0, ("prepend", 1): 1.0}

    @pytest.mark.slow
    @given(st.lists(st.integers(0, 9), min_size=404, max_size=404), st.sampled_from([0.01, 0.05]))
    def test_never_more_clean_sets_than_alpha(self, scores, alpha):
        shares = Recalls(settings_traffic(), alpha).of(np.array(scores, dtype=float))
        assert shares["clean", 0] <= alpha


class TestOffsets:
    def test_the_detector_that_pays_is_raised_above_the_one_that_does_not(self):
        found = settings_traffic()
        draw = np.random.default_rng(0)
        # "blind" is loud on clean sets and silent on attacks; unshifted it sets the threshold.
        scores = {
            "blind": np.r_[draw.uniform(2.0, 3.0, 400), np.zeros(4)],
            "telling": np.r_[draw.uniform(0.0, 1.0, 400), np.full(4, 1.5)],
        }
        shift = offsets(found, scores, dict.fromkeys(scores, 0.0))
        unshifted = Recalls(found).of(np.max(list(scores.values()), axis=0))
        moved = Recalls(found).of(np.max([scores[name] + shift[name] for name in scores], axis=0))
        assert unshifted["prepend", 1] == 0.0
        assert moved["prepend", 1] == 1.0
        assert shift["telling"] > shift["blind"]

    def test_one_form_counts_for_more_than_any_other(self):
        # Either detector shows one attack and hides the other; "prepend" is the one to show.
        clean = [one([0]) for _ in range(200)]
        attacked = [one([0], poisoned=(0,), form=form) for form in ("prepend", "middle")]
        found = many(clean + attacked)
        scores = {
            "first": np.r_[np.linspace(0.0, 1.0, 200), 0.9, 0.0],
            "other": np.r_[np.linspace(1.0, 0.0, 200), 0.0, 0.9],
        }
        shift = offsets(found, scores, dict.fromkeys(scores, 0.0))
        moved = np.max([scores[name] + shift[name] for name in scores], axis=0)
        shares = Recalls(found, 0.03).of(moved)
        assert shares["prepend", 1] >= shares["middle", 1]
        assert shift["first"] >= shift["other"]

    def test_where_nothing_is_to_be_gained_nothing_is_moved(self):
        scores = np.r_[np.zeros(400), np.ones(4)]
        assert offsets(settings_traffic(), {"x": scores}, {"x": 0.0}) == {"x": 0.0}

    def test_no_way_is_raised_above_manner(self):
        # Each finds one of the attacks, so both would be raised; a bias of manner is the most.
        scores = {
            "manner": np.r_[np.linspace(0.0, 1.0, 400), np.zeros(4)],
            "keywords": np.r_[np.zeros(400), np.full(4, 0.5)],
        }
        biases = {"manner": -3.0, "keywords": -1.0}
        shift = offsets(settings_traffic(), scores, biases)
        assert shift["keywords"] < 0.0
        assert biases["keywords"] + shift["keywords"] <= biases["manner"] + shift["manner"]

    def test_shifted_moves_the_bias_alone_and_adds_those_set_by_hand(self):
        moved = shifted({"x": Detector(1.0, {"a": 2.0})}, {"x": -0.5})
        assert moved == {"x": Detector(0.5, {"a": 2.0}), **BY_HAND}


class TestPlans:
    def test_plans_name_signals_and_fitted_forms(self):
        for plan in PLANS.values():
            assert set(plan.signals) <= set(SIGNALS)
            assert set(plan.forms) <= set(FITTED_FORMS)
            assert len(plan.signals) == len(set(plan.signals))
            assert plan.forms

    def test_every_signal_is_in_a_plan_or_set_by_hand(self):
        by_hand = {name for one in BY_HAND.values() for name in one.weights}
        assert {name for plan in PLANS.values() for name in plan.signals} | by_hand == set(SIGNALS)

    def test_the_shipped_detectors_follow_the_plans(self):
        assert set(DETECTORS) == set(PLANS) | set(BY_HAND)
        for name, plan in PLANS.items():
            assert set(DETECTORS[name].weights) <= {*plan.signals, "manner"}
            assert min(DETECTORS[name].weights.values()) > 0


def test_the_json_reads_back_as_the_same_detectors():
    detectors = {
        "key words": Detector(-1.25, {"a": 2.0, "b": 3.5}),
        "company": Detector(0.0, {"b": 0.25}),
    }
    read = json.loads(as_json({**detectors, **BY_HAND}))
    assert {name: Detector(**one) for name, one in read.items()} == detectors


HITS = tuple(f"The pier number {i} of the harbour is old." for i in range(40))


def record(number, kinds=("poisonedrag", "gpt4")):
    question = f"Who built the pier number {number} of the harbour?"
    return Record(question, HITS, frozenset(), dict.fromkeys(kinds, ("Ann Crake built it.",)))


class TestSamples:
    def test_sets_of_every_setting_with_the_poison_that_was_retrieved(self):
        question = record(1)
        poison = [f"{question.question} Ann did."]
        found = list(sets_of(question, HashedEmbedder(), "prepend", 1, poison, 3))
        assert [sample.setting for sample in found] == [
            (k, reference) for k in (5, 10) for reference in (False, True)
        ]
        counts = [(sample.poisoned.sum(), sample.count, sample.fold) for sample in found]
        assert counts == [(1, 1, 3)] * 4
        assert found[0].signals.shape == (5, len(SIGNALS))

    def test_an_attack_that_is_not_retrieved_is_no_sample(self):
        found = sets_of(record(1), HashedEmbedder(), "plain", 1, ["Zebras graze."], 0)
        assert list(found) == []

    @pytest.mark.slow
    def test_what_attacks_are_tried(self):
        data = Dataset("nq", tuple(map(record, range(4))), split=True)
        found = list(samples([data], [HashedEmbedder(), HashedEmbedder()], SHIPPED))
        # The choosing half: the records 0 and 2, of folds 0 and 1; four settings, two embedders.
        assert {sample.fold for sample in found} == {0, 1}
        assert sum(sample.count == 0 for sample in found) == 2 * 4 * 2
        tried = {sample.form for sample in found if sample.count}
        # Without the question in it the text is not among the first of these.
        assert tried == set(FITTED_FORMS) - {"plain"}
        # The second embedder meets "prepend" alone, as does the second kind.
        by_form = {form: sum(sample.form == form for sample in found) for form in tried}
        assert by_form["prepend"] == 2 * 4 * 2 * 2 * 2
        assert by_form["shuffled"] <= 2 * 4 * 2

    @pytest.mark.slow
    def test_of_the_largest_set_a_third_is_attacked(self):
        data = Dataset("simpleqa", tuple(map(record, range(12))), split=True)
        found = list(samples([data], [HashedEmbedder()], SHIPPED))
        assert sum(sample.count == 0 for sample in found) == 6 * 4
        # Positions 0 and 3 of the half.
        assert {sample.fold for sample in found if sample.count} == {0, 3}
