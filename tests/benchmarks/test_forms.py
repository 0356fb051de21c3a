import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import forms
from benchmarks.forms import DEFAULT_FORMS, FORMS
from ragguard.text import tokens

QUESTION = "Who built the Marrow Light?"
TEXT = "It stands alone. Ann Crake built it. It is red."

WORDS = st.lists(st.sampled_from("ann built the red pier in 1874 who tower".split()), min_size=1)


def test_the_examples_in_the_docstrings_hold():
    result = doctest.testmod(forms)
    assert result.attempted >= 5
    assert result.failed == 0


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("plain", TEXT),
        ("prepend", f"{QUESTION} {TEXT}"),
        ("append", f"{TEXT} {QUESTION}"),
        ("faq", f"Q: {QUESTION}\nA: {TEXT}"),
        (
            "middle",
            "It stands alone. Who built the Marrow Light? Ann Crake built it. It is red.",
        ),
        ("keywords", f"built Marrow Light. {TEXT}"),
    ],
)
def test_fixed_forms(form, expected):
    assert FORMS[form](QUESTION, TEXT) == expected


def test_disguise_reads_like_the_question_but_is_not_spelled_like_it():
    disguised = FORMS["disguise"](QUESTION, TEXT)
    assert QUESTION not in disguised
    assert "built" not in disguised.partition(TEXT)[0]
    assert tokens(disguised) == tokens(f"{QUESTION} {TEXT}")


def test_middle_of_a_single_sentence_puts_the_question_behind_it():
    assert FORMS["middle"]("Who?", "Ann did.").split() == ["Ann", "did..", "Who?"]


def test_the_default_forms_are_forms():
    assert set(DEFAULT_FORMS) <= set(FORMS)


@given(WORDS, WORDS)
def test_shuffled_is_a_permutation_of_the_question_before_the_text(question, text):
    out = FORMS["shuffled"](" ".join(question) + "?", " ".join(text)).split()
    assert out[len(question) :] == text
    assert sorted(out[: len(question)]) == sorted(question)


@given(WORDS, WORDS)
def test_spread_keeps_both_word_orders(question, text):
    marked = [f"q{i}{word}" for i, word in enumerate(question)]
    out = FORMS["spread"](" ".join(marked), " ".join(text)).split()
    assert [word for word in out if word in set(marked)] == marked
    assert [word for word in out if word not in set(marked)] == text


@given(WORDS, WORDS)
def test_random_forms_are_the_same_every_time(question, text):
    for form in ("shuffled", "spread"):
        pair = " ".join(question), " ".join(text)
        assert FORMS[form](*pair) == FORMS[form](*pair)
