"""The fuzzer: what it makes is what it says, it finds what is broken, and a short run is clean."""

from dataclasses import replace
from random import Random
from unittest.mock import patch

import pytest
from rich.progress import Progress

from ragguard import Guard
from ragguard.errors import InvalidInputError
from ragguard.passage import as_passages
from tests.hostile import fuzz
from tests.hostile.corpus import GENERATORS, cut, made, mixed, size_of
from tests.hostile.filters import Guards
from tests.hostile.findings import Finding, Findings, cause_of
from tests.hostile.honest import one_case
from tests.hostile.sets import company, retrieved

QUESTION = "Who built the old pier of Keelworth after the great storm?"


@pytest.mark.parametrize("name", GENERATORS)
def test_a_kind_fills_its_size_and_is_the_same_again(name):
    for size in (0, 1, 50, 3000):
        text = made(name, Random(7), QUESTION, size)
        assert size - 4 < size_of(text) <= size
        assert text == made(name, Random(7), QUESTION, size)


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("question", ["", " ", "x"])
def test_a_kind_needs_no_proper_question(name, question):
    assert size_of(made(name, Random(0), question, 40)) >= 36


def test_a_mixture_takes_turns():
    text = mixed(["one_letter_words", "huge_word"], Random(0), "q", 40, 10)
    assert text[:10] == "q q q q q "
    assert " " not in text[10:20]
    assert size_of(text) == 40


def test_a_cut_is_of_bytes_and_splits_no_character():
    assert cut("a\u20ac\u20ac", 6) == "a\u20ac"
    assert cut("\U0001f600" * 3, 9) == "\U0001f600" * 2
    assert cut("\ud800" * 3, 7) == "\ud800" * 2
    assert cut("abc", 3) == "abc"


def test_sets_of_one_number_are_one():
    for make in (retrieved, company):
        one, other = (make(Random("set 9")) for _ in range(2))
        assert one.query == other.query
        assert repr(one) == repr(other)


def test_poison_has_the_question_in_front_and_honest_texts_have_not():
    for number in range(50):
        case = one_case(Random(number), 3)
        assert case.poison.startswith(case.question)
        assert len(case.question.split()) >= 9
        assert not any(case.question in honest for honest in case.honest)


def test_hostile_company_keeps_the_others_in_order():
    for number in range(100):
        given = company(Random(number))
        assert given.poison in given.before
        rest = iter(given.after)
        assert all(text in rest for text in given.before)
        assert len(given.after) > len(given.before)


def test_findings_of_several_processes_are_one():
    one, other = Findings(), Findings()
    one.add("filter", 7, ["a"], 2.0)
    one.add("filter", 8, [], 5.0)
    other.add("filter", 3, ["a", "b"], 1.0)
    one.join(other)
    assert one.tried == {"filter": 3}
    assert one.broken == {("filter", "a"): Finding(2, 3), ("filter", "b"): Finding(1, 3)}
    assert one.slowest == {"filter": (5.0, 8)}


def test_a_cause_is_the_innermost_function_of_the_package():
    with pytest.raises(InvalidInputError) as raised, Guard() as guard:
        guard.filter(1, [])
    assert cause_of(raised.value) == "InvalidInputError in filtering.py: one"


class _Unguarded(Guards):
    """Guards that let everything through, and one that raises what it should not."""

    def _opened(self, make, options):
        guard = super()._opened(make, options)
        judged = guard.filter

        def careless(query, passages, **k):
            if any("&#" in str(one) for one in passages):
                raise OSError("a defect")
            verdict = judged(query, passages, **k)
            return replace(verdict, kept=as_passages(passages)) if len(passages) > 6 else verdict

        guard.filter = careless
        return guard


@pytest.mark.slow
def test_guards_that_raise_or_let_poison_pass_are_found():
    with patch.object(fuzz, "Guards", _Unguarded):
        found = {what.partition(": ")[2] for _, what in fuzz.tried(range(300)).broken}
    assert "OSError" in found
    assert "kept is not the first k of the rest" in found
    assert any(what.startswith("poison passes in hostile company") for what in found)


@pytest.mark.slow
def test_a_short_run_breaks_no_promise():
    found = fuzz.run(range(400), 1, Progress(disable=True))
    assert sum(found.tried.values()) == 400
    assert not found.broken
