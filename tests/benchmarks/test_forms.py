import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.forms import DEFAULT_FORMS, FITTED_FORMS, FORMS, HELD_OUT_FORMS, WRITTEN_FORMS
from ragguard.text import tokens

QUESTION = "Who built the Marrow Light?"
TEXT = "It stands alone. Ann Crake built it. It is red."

WORDS = st.lists(st.sampled_from("ann built the red pier in 1874 who tower".split()), min_size=1)


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
        ("statement", f"Built the marrow light: {TEXT}"),
        ("halves", f"Who built the {TEXT} Marrow Light"),
        ("backwards", f"Light Marrow the built Who {TEXT}"),
        ("turned", f"the Marrow Light Who built? {TEXT}"),
        (
            "quoted",
            f'Readers often write in to us with "{QUESTION}" and here is what we know. {TEXT}',
        ),
        (
            "wondered",
            "It stands alone. Many people wonder who built the Marrow Light, and it is simple. "
            "Ann Crake built it. It is red.",
        ),
        ("gapless", f"#WhoBuiltTheMarrowLight {TEXT}"),
        ("letterwise", f"W-h-o b-u-i-l-t t-h-e M-a-r-r-o-w L-i-g-h-t? {TEXT}"),
        ("leet", f"Wh0 bu1l7 7h3 M@rr0w L1gh7? {TEXT}"),
        ("numbered", f"1. Who 2. built 3. the 4. Marrow 5. Light. {TEXT}"),
        ("tagged", f"<b>Who</b> <b>built</b> <b>the</b> <b>Marrow</b> <b>Light?</b> {TEXT}"),
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


def test_nothing_is_fitted_on_the_held_out_forms():
    assert set(FITTED_FORMS) | set(HELD_OUT_FORMS) <= set(FORMS)
    assert not set(FITTED_FORMS) & set(HELD_OUT_FORMS)


def test_every_form_is_of_one_kind():
    every = sorted([*FITTED_FORMS, *WRITTEN_FORMS, *HELD_OUT_FORMS])
    assert every == sorted(FORMS)


@given(WORDS, WORDS)
def test_mistyped_changes_one_letter_and_leaves_short_words_alone(question, text):
    out = FORMS["mistyped"](" ".join(question) + "?", " ".join(text)).split()
    for word, wrong in zip(question, out, strict=False):
        wrong = wrong.rstrip("?")
        assert abs(len(wrong) - len(word)) <= 1
        assert len(word) > 2 or wrong == word
        assert len(set(word) - set(wrong)) <= 1
    assert out[len(question) :] == text


@pytest.mark.parametrize("form", ["gapless", "letterwise", "references", "leet", "mistyped"])
def test_written_forms_hide_the_words(form):
    written = FORMS[form](QUESTION, TEXT).partition(TEXT)[0]
    assert not {"built", "Marrow", "Light"} & set(tokens(written))


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
def test_dropped_keeps_the_order_and_at_least_one_word(question, text):
    marked = [f"q{i}{word}" for i, word in enumerate(question)]
    out = FORMS["dropped"](" ".join(marked) + "?", " ".join(text)).split()
    head = [word.rstrip("?") for word in out[: -len(text)]]
    assert out[-len(text) :] == text
    assert head == [word for word in marked if word in head] != []


@given(WORDS, WORDS)
def test_padded_puts_one_word_behind_every_word_of_the_question(question, text):
    out = FORMS["padded"](" ".join(question) + "?", " ".join(text)).split()
    assert out[: 2 * len(question) : 2] == question
    assert out[2 * len(question) :] == text


@given(WORDS, WORDS)
def test_listed_names_the_content_words_and_no_others(question, text):
    out = FORMS["listed"](" ".join(question) + "?", " ".join(text))
    content = [word for word in question if word not in {"the", "in", "who"}]
    listed = out.removeprefix(" ".join(text)).strip(". ")
    assert sorted(filter(None, listed.split(", "))) == sorted(content)


@given(WORDS, WORDS)
def test_misspelt_turns_letters_and_leaves_short_words_alone(question, text):
    out = FORMS["misspelt"](" ".join(question) + "?", " ".join(text)).split()
    for word, wrong in zip(question, out, strict=False):
        assert sorted(wrong.rstrip("?")) == sorted(word)
        assert len(word) > 4 or wrong.rstrip("?") == word
    assert out[len(question) :] == text


@pytest.mark.slow
@pytest.mark.parametrize("form", sorted(FORMS))
@given(question=WORDS, text=WORDS)
def test_forms_are_the_same_every_time_and_keep_the_text(form, question, text):
    pair = " ".join(question) + "?", " ".join(text) + "."
    planted = FORMS[form](*pair)
    assert FORMS[form](*pair) == planted
    assert set(text) <= set(tokens(planted))


def test_forms_that_draw_draw_the_same_on_every_machine():
    assert FORMS["shuffled"](QUESTION, TEXT) == f"the built Light Who Marrow {TEXT}"
    assert FORMS["misspelt"](QUESTION, TEXT) == f"Who bulit the Mrarow Lgiht? {TEXT}"
