"""Is a retrieved set in English?"""

import pytest

from ragguard.inline.features.gibberish import reads_english
from ragguard.inline.tokens import tokenize_passage, tokenize_query

ENGLISH = "The lighthouse was built by the crown in 1874, and the keeper lived in it with his sons."
JUMBLE = "violet senate kidney tobacco apparently drafted sofa julian theorem pencil striker"
VIETNAMESE = (
    "Ng\u1ecdn h\u1ea3i \u0111\u0103ng n\u00e0y duoc xay dung vao nam 1874 boi chinh quyen, va "
    "nguoi canh giu song o do cung cac con trai cua ong cho den khi qua doi."
)
GERMAN = (
    "Der Leuchtturm wurde im Jahre 1874 von der Krone errichtet, und der W\u00e4rter wohnte dort "
    "mit seinen S\u00f6hnen bis zu seinem Tode."
)


def reads(question, *texts):
    return reads_english(tokenize_query(question), [tokenize_passage(text) for text in texts])


@pytest.mark.parametrize("text", [VIETNAMESE, GERMAN])
def test_a_question_with_function_words_is_english_whatever_was_retrieved(text):
    assert reads("When was the lighthouse built?", text, text)


@pytest.mark.parametrize("text", [VIETNAMESE, GERMAN])
def test_key_words_are_in_the_language_of_half_of_the_passages(text):
    assert reads("Marrow lighthouse height", ENGLISH)
    assert reads("Marrow lighthouse height", ENGLISH, text)
    assert not reads("Marrow lighthouse height", ENGLISH, text, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            "H\u1ea3i \u0111\u0103ng duoc x\u00e2y khi n\u00e0o?",
            VIETNAMESE,
        ),
        ("Hai dang duoc xay dung khi nao?", VIETNAMESE),
        ("Wann wurde der Leuchtturm gebaut?", GERMAN),
        (
            "\u706f\u5854\u662f\u4ec0\u4e48\u65f6\u5019\u5efa\u9020\u7684?",
            "\u706f\u5854\u5efa\u4e8e1874\u5e74\u3002",
        ),
    ],
)
def test_other_languages_are_none(question, text):
    assert not reads(question, text)
    assert not reads(question, text, text, ENGLISH)


def test_a_jumble_of_english_words_is_english():
    assert reads("senate sofa canal", JUMBLE)


def test_nothing_but_signs_counts_as_english():
    assert reads("?", "")
