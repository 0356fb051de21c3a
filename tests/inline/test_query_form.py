"""Which queries only name their topic."""

import pytest

from ragguard.inline import query_form
from ragguard.inline.query_form import titles_named, words_named
from ragguard.inline.tokens import tokenize_query

TOPICS = (
    "Ravenmouth",
    "ravenmouth pier history",
    "The Keeper of the Marrow Light",
    "Ravenmouth, North Skerrin",
    "What is Ravenmouth?",
    "what's the Marrow Light?",
    "Who was Ann Carrow?",
    "Who was Ann Carrow\uff1f",
    "what is Charter of Rights and Freedoms",
    "How the Keeper Was Lost",
    "Who Lit the Lamp",
    "What is How the Keeper Was Lost?",
    "List of keepers of Ravenmouth",
    "\u7801\u5934\u7684\u540d\u5b57",
    "\u0e1b\u0e23\u0e30\u0e20\u0e32\u0e04\u0e32\u0e23",
    "\u0441\u0442\u0430\u0440\u044b\u0439 \u043f\u0438\u0440\u0441",
    "\u0627\u0644\u0645\u0646\u0627\u0631\u0629",
)
QUESTIONS = (
    "",
    "who built the old pier of Ravenmouth",
    "What is the height of the Marrow Light?",
    "what is built on Ravenmouth where it was",
    "What is it that the keeper of the light of Ravenmouth had?",
    "is Ravenmouth old",
    "tell me about Ravenmouth",
    "Ravenmouth was built by",
    "can Ravenmouth be seen",
    "whats Ravenmouth",
    "list keepers of Ravenmouth",
    "Who Lit the Lamp?",
    "What is the height of Ravenmouth?",
    "Ravenmouth, old or new?",
    "Ravenmouth\uff1f",
    "highest wind speed ever recorded at Ravenmouth pier",
    "Was ist Ravenmouth?",
    "\u7801\u5934\u7684\u540d\u5b57\uff1f",
    "\u8c01\u5efa\u9020\u4e86\u7801\u5934",  # who
    "\u0e43\u0e04\u0e23\u0e2a\u0e23\u0e49\u0e32\u0e07",
    "\u043a\u0442\u043e \u043f\u043e\u0441\u0442\u0440\u043e\u0438\u043b \u043f\u0438\u0440\u0441",
    "\u0915\u094c\u0928 \u0917\u092f\u093e",
    "\u03b3\u03ba\u03c1\u03b5\u03bc\u03bf\u03c2;",  # a Greek question mark
    "\u03a0\u039f\u0399\u039f\u03a3 \u03b7\u03c1\u03b8\u03b5",
    "\u0627\u0644\u0645\u0646\u0627\u0631\u0629\u061f",
)


@pytest.mark.parametrize("text", TOPICS)
def test_a_name_with_or_without_what_is_in_front_is_a_topic(text):
    assert tokenize_query(text).named


@pytest.mark.parametrize("text", QUESTIONS)
def test_whatever_asks_for_more_than_the_name_is_a_question(text):
    assert not tokenize_query(text).named


def test_a_name_has_six_words_at_most():
    words = "alpha beta gamma delta epsilon zeta eta".split()
    assert words_named(" ".join(words[:6]), words[:6])
    assert not words_named(" ".join(words), words)
    asked = ["what", "is", *words[:6]]
    assert words_named(" ".join(asked), asked)
    assert not words_named(" ".join([*asked, "eta"]), [*asked, "eta"])


def test_a_name_has_six_words_at_most_where_they_are_ngrams():
    # Two signs are a word, and so are four letters; n-grams are fewer than letters.
    han, thai = "\u7801" * 13, "\u0e01" * 26
    assert tokenize_query(han).named
    assert not tokenize_query(han + han[0]).named
    assert tokenize_query(thai).named
    assert not tokenize_query(thai + thai[0]).named


def named(query, *texts):
    words = tokenize_query(query)
    return any(titles_named(words.named, texts))


@pytest.mark.parametrize(
    "text",
    [
        "Marrow Light. It was lit in 1874.",
        "Marrow Light: how it was lit",
        "# Marrow Light\n\nIt was lit in 1874 by Ann Carrow, who kept it for forty years.",
        "\n The Marrow Light\nIt was lit.",
    ],
)
@pytest.mark.parametrize("query", ["the marrow light", "What is the Marrow Light?"])
def test_a_title_is_a_short_line_or_sentence_in_front(query, text):
    assert named(query, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The Marrow Light on the northern tip was lit in 1874. It is old.",
        "Marrow Light 1874",
        "Marrow" * 100 + ". It was lit.",
        ". It was lit.",
        "Marrow Light keepers. They lit it.",
    ],
)
def test_other_beginnings_do_not_name_the_page(text):
    assert not named("the marrow light", text)


def test_half_of_the_texts_must_have_titles_and_one_that_of_the_query():
    titled, other = "Marrow Light. It was lit.", "It was lit in 1874 by Ann Carrow of Ravenmouth."
    assert named("marrow light", titled, other)
    assert not named("marrow light", titled, other, other)
    assert not named("marrow light", "Ravenmouth. It has a pier.", other)


def test_one_further_key_word_is_let_pass():
    titled = "Marrow Light. It was lit."
    assert named("marrow light keeper", titled)
    assert not named("marrow light keeper 1874", titled)


def test_a_title_with_a_word_too_few_that_many_texts_begin_with_is_none():
    page, planted = "Marrow Light. It was lit in 1874.", "Marrow Light. It was lit in {}."
    more = [planted.format(year) for year in (1911, 1912)]
    assert named("Marrow Light keeper", page, more[0], "Skerrin. A town.")
    assert not named("Marrow Light keeper", page, *more)
    # Many parts of one page are found for its title.
    assert named("Marrow Light", page, *more)


def test_what_quotes_the_whole_title_of_another_refers_to_it():
    texts = ["Marrow Light. It was lit.", "Skerrin. Of what is there, see Marrow Light"]
    assert titles_named(["marrow", "light"], texts) == [{"marrow", "light"}] * 2


def test_only_what_begins_with_a_part_of_the_title_has_it():
    texts = ["Marrow Light. It was lit.", "Skerrin. The Marrow Light is there."]
    assert titles_named(["marrow", "light", "keeper"], texts) == [{"marrow", "light"}, frozenset()]


def test_a_title_may_hold_a_full_stop_or_a_colon():
    assert named("Ann Carrow: Keeper of the Light", "Ann Carrow: Keeper of the Light. A film.")
    assert named("St. Ann", "St. Ann. A saint.")


def test_of_many_ends_few_are_tried(monkeypatch):
    tried = []
    read = query_form.tokens
    monkeypatch.setattr(query_form, "tokens", lambda text: tried.append(text) or read(text))
    titles_named(["marrow"], ["a. " * 60, "a\n" * 60, "Marrow. It was lit."])
    assert len(tried) == 4 + 4 + 1
