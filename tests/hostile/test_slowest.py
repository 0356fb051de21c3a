"""The search for the slowest text finds the worst of what it tries, and a quick run is whole."""

from random import Random
from unittest.mock import patch

import pytest

from benchmarks.report.result import read
from tests.hostile import slowest
from tests.hostile.climbing import Mixture, climb
from tests.hostile.corpus import GENERATORS, asked, size_of
from tests.hostile.costs import QUESTIONS, milliseconds, peak_bytes, standstill_ms
from tests.hostile.mixtures import Candidate, worst_of


def test_the_worst_kind_alone_is_found():
    names = ("huge_word", "emoji", "prose", "digits")
    found = climb(
        lambda one: 5.0 * (one.names == ("emoji",)), names, 4, Random(0), questions=1, population=2
    )
    assert found[0] == (5.0, Mixture(("emoji",), 1_000_000, 1))
    assert len(found) == 2


def test_a_mixture_that_costs_more_takes_its_place():
    def cost(one):
        return len(set(one.names)) + (one.question == 1)

    names = tuple(GENERATORS)[:5]
    costs = [one for one, _ in climb(cost, names, 300, Random(0), questions=2)]
    assert costs[0] >= 4
    assert costs == sorted(costs, reverse=True)


def test_no_more_is_tried_than_is_allowed():
    tried = []
    climb(lambda one: tried.append(one) or 1.0, tuple(GENERATORS), 100, Random(0), questions=3)
    assert len(GENERATORS) < len(tried) <= 100
    assert len(set(tried)) == len(tried)


def test_a_mixture_is_the_same_text_again():
    one = Mixture(("emoji", "huge_word"), 20, 3)
    assert one.text(QUESTIONS[0], 200) == one.text(QUESTIONS[0], 200)
    assert 196 < size_of(one.text(QUESTIONS[0], 200)) <= 200


def test_the_worst_is_what_stays_slow():
    times = {"slow": iter([5.0, 6.0]), "once": iter([90.0, 1.0]), "other": iter([2.0, 2.0])}
    found = [Candidate(10, name == "other", Mixture((name,), 1, 0), 3) for name in times]
    with patch.object(Candidate, "cost", lambda one: next(times[one.mixture.names[0]])):
        rows = worst_of(found, 2, lambda: None)
    assert [(row["kinds"], row["cpu_ms"]) for row in rows] == [("slow", 5.0), ("other", 2.0)]


@pytest.mark.parametrize("quarantine", [False, True])
def test_costs_are_measured(quarantine):
    text = "The pier was built in 1874 by Marrow. " * 40
    took, verdict = milliseconds(QUESTIONS[0], [text], quarantine=quarantine, repeats=2)
    assert 0.0 < took < 10_000.0
    assert [passage.text for passage in verdict.kept] == [text]
    assert peak_bytes(QUESTIONS[0], [text], quarantine=quarantine) > len(text)
    assert standstill_ms(QUESTIONS[0], [text], quarantine=quarantine) > 0.0


def test_a_text_that_holds_a_question_keeps_to_its_size():
    query, passages = asked("document", 0, QUESTIONS[0], 2_000, 10, same=True)
    assert all(query[:1900] in passage for passage in passages)
    assert all(size_of(passage) <= 2_000 for passage in passages)
    assert len(set(passages)) == 10
    assert len(set(asked("document", 0, QUESTIONS[0], 2_000, 10, same=False)[1])) == 10


@pytest.mark.parametrize(
    ("times", "exponent"),
    [
        ({1000: 9.0, 10_000: 1.0, 100_000: 100.0}, 2.0),
        ({10_000: 2.0, 100_000: 20.0}, 1.0),
        ({10_000: 2.0}, None),
    ],
)
def test_the_exponent_is_of_the_larger_sizes(times, exponent):
    assert slowest._exponent(times) == exponent


@pytest.mark.slow
def test_a_quick_run_is_whole(tmp_path):
    file = tmp_path / "slowest.json"
    assert slowest.main(["--quick", "--json", str(file)]) == 0
    sections = read(file)["sections"]
    kinds = set(slowest.QUICK.names)
    for name in ("growth", "memory", "queries", "standstill"):
        assert {row["kind"] for row in sections[name]} == kinds
    assert {row["quarantine"] for row in sections["slowest"]} == {False, True}
    assert not any(row["errors"] for row in sections["growth"])
    assert [what for what, *_ in slowest.summary(sections)] == list(slowest.TARGETS)
