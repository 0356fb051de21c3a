"""Which queries only name their topic, and which tell something."""

import pytest

from ragguard.inline.query_form import names
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
    assert tokenize_query(text).names


@pytest.mark.parametrize("text", QUESTIONS)
def test_whatever_asks_for_more_than_the_name_is_a_question(text):
    assert not tokenize_query(text).names


def test_a_name_has_six_words_at_most():
    words = "alpha beta gamma delta epsilon zeta eta".split()
    assert names(" ".join(words[:6]), words[:6])
    assert not names(" ".join(words), words)
    asked = ["what", "is", *words[:6]]
    assert names(" ".join(asked), asked)
    assert not names(" ".join([*asked, "eta"]), [*asked, "eta"])


def test_a_name_has_six_words_at_most_where_they_are_ngrams():
    # Two signs are a word, and so are four letters; n-grams are fewer than letters.
    han, thai = "\u7801" * 13, "\u0e01" * 26
    assert tokenize_query(han).names
    assert not tokenize_query(han + han[0]).names
    assert tokenize_query(thai).names
    assert not tokenize_query(thai + thai[0]).names


@pytest.mark.parametrize(
    "text",
    [
        "It stands on the northern tip, where the pilots of Ravenmouth once lived.",
        "OSError: the lamp of the light cannot be lit, since the tank of the light holds no oil",
        "the pilots of ravenmouth once lived on the northern tip of the old island",
        "When the lamp was lit, the pilots did not know which of them was the oldest.",
        "the tank of the light held no oil at the pier, which has been corrected",
        "in 1874 the pilots of the old island left the pier, whose rails were sold",
        "the pilots of the old island left the pier, which had the oil of the light in tanks",
        "The official report told the board that four of the pilots were unhurt",
        "Der Leuchtturm, der auf der Insel steht, wurde im Jahr 1874 gebaut und 1911 verkauft.",
        "The pier of Ravenmouth, which has no roof, was sold; "
        + "it is of oak and the rails are of iron; " * 4,
    ],
)
def test_what_tells_and_asks_nothing(text):
    assert tokenize_query(text).tells
    assert tokenize_query(f"Explain: {text}").tells
    assert tokenize_query(f"{text.rstrip(' .;')}. Who says that?").tells
    assert not tokenize_query(f"{text.rstrip('.')}, and why").tells


@pytest.mark.parametrize(
    "text",
    [
        *QUESTIONS,
        *TOPICS,
        "the highest wind speed of the year at Ravenmouth pier",  # nobody pastes that
        "The pier, which has no roof, was sold to Ann",  # "which" may ask
        "the tank of the light held no oil at the pier, which has been corrected?",
        "of the lamps of the old island in the north, which has the largest tank of oil",
        "look at the keepers of the lamps on the old island, which keepers had the largest tank",
        "look at the keepers of the lamps on the old island, which one had the largest tank of oil",
        "The manual was no help. Could not see anywhere when the keeper of the lamp left.",
        "in what year was it that the keeper, old Ann, left",
        "the part of a lighthouse in which the lamp stands and turns is called the",
        "Der Leuchtturm, der auf der Insel steht, wurde im Jahr 1874 gebaut und 1911 verkauft",
        "In which year the lamp of the old island was lit.",
        "I wonder what the name of the keeper was.",
        "Please give the name of the keeper of the lamp.",
        "Give the full name of the keeper of the lamp.",
        "Tell me whether it stands on the northern tip, where the pilots once lived",
    ],
)
def test_what_does_not_tell(text):
    assert not tokenize_query(text).tells


@pytest.mark.parametrize(
    "text",
    [
        "Der Leuchtturm von Skerrin wurde 1874 gebaut. Sein Licht reichte vierzehn Meilen weit",
        "El faro de Skerrin fue construido en piedra. Su luz llegaba a catorce millas",
    ],
)
def test_sentences_of_other_languages_tell_without_a_stop_at_the_end(text):
    assert tokenize_query(text).tells
    assert tokenize_query(f"{text}.").tells
    assert not tokenize_query(text.replace(". ", " ")).tells


def test_a_long_text_of_another_script_tells_though_a_word_in_it_might_ask():
    who = "\u043a\u0442\u043e"
    words = "\u043c\u0430\u044f\u043a \u0441\u0442\u043e\u044f\u043b \u043d\u0430 " * 6
    assert tokenize_query(f"{words}{who} {words}").tells
    assert not tokenize_query(f"{who} {words}{words}").tells
    assert not tokenize_query(f"{words}{words}{who}").tells
