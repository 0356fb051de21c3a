"""The words of a passage and of a question."""

import re

from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.tokens import passage_words, query_words
from ragguard.lru import forget_all
from ragguard.prompt_injection import address
from ragguard.text import STOP_WORDS, fold, parted_words, tokens

ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.text(
    st.sampled_from("who THE 19.,_-\n\x07\u2019\u2013\u2022\u00e9\u00df\u0440\u03c2\u200b\u0301")
    | st.characters(exclude_categories=())
)
CUES = st.sampled_from(
    """ai models model, assistant: system system> systems kind agents chat bots admin to the
    assistants answer answered answers it with only reply withhold if asked wants do not cannot
    cite the valid value ignore other retrieved documents pages sources trusted context legal hold
    new orders policy _index mustnot say . ! ? \u2019 \uff29gnore assist\u200bant """.split()
)


def test_a_passage_by_hand():
    read = passage_words("The pier, the PIER!")
    assert read.sequence == ("the", "pier", "the", "pier")
    assert read.distinct == {"the", "pier"}
    assert read.joined == " the pier the pier "
    assert passage_words("").joined.strip() == ""


def test_a_question_by_hand():
    read = query_words("Who built the pier, the pier?")
    assert read.sequence == ("who", "built", "the", "pier", "the", "pier")
    assert read.content == ("built", "pier")
    assert query_words("Who is it?").content == ("who", "is", "it")
    assert query_words("?").content == ()


def test_the_neighbours_of_a_question_by_hand():
    read = query_words("When was the lighthouse of Marrow Bay built, the lighthouse of?")
    assert read.pairs == {
        ("when", "was"),
        ("was", "the"),
        ("the", "lighthouse"),
        ("lighthouse", "of"),
        ("of", "marrow"),
        ("marrow", "bay"),
        ("bay", "built"),
        ("built", "the"),
    }
    assert read.parted == {("lighthouse", "marrow")}
    # What stands side by side anywhere in the question is not parted.
    assert query_words("pier of lamp, pier lamp").parted == set()
    assert query_words("lamp the pier, pier lamp").parted == {("lamp", "pier")}
    # Of function words alone none is left out, so that none parts others.
    assert query_words("who is it").parted == set()
    for short in ("", "?", "pier"):
        assert query_words(short).pairs == set()
        assert query_words(short).parted == set()


@given(ANY_TEXT | st.lists(CUES).map(" ".join))
def test_a_passage_is_read_as_by_the_plain_definition(text):
    words = re.findall(r"[^\W_]+", fold(text)) + parted_words(text)
    read = passage_words(text)
    assert read.sequence == tuple(words)
    assert read.distinct == frozenset(words)
    assert read.joined == " " + " ".join(words) + " "
    assert read.address == address(fold(text)) == address(fold(text), read.distinct)


def test_a_passage_is_read_once_until_it_is_forgotten():
    forget_all()
    read = passage_words("The pier.")
    assert passage_words("The pier.") is read
    forget_all()
    assert passage_words("The pier.") is not read


@given(ANY_TEXT)
def test_any_text(text):
    read, asked = passage_words(text), query_words(text)
    assert list(asked.sequence) == tokens(text)
    assert list(read.sequence) == tokens(text) + parted_words(text)
    assert asked.distinct == set(asked.sequence)
    assert read.distinct == set(read.sequence)
    assert read.joined.split() == list(read.sequence)
    assert len(set(asked.content)) == len(asked.content)
    assert bool(asked.content) == bool(asked.sequence)
    assert asked.distinct <= STOP_WORDS or STOP_WORDS.isdisjoint(asked.content)


@given(st.lists(st.sampled_from("pier lamp tide the of who s".split())).map(" ".join))
def test_the_neighbours_of_a_question_are_those_of_the_plain_definition(text):
    said, asked = text.split(), query_words(text)
    pairs = [(said[at], said[at + 1]) for at in range(len(said) - 1)]
    assert asked.pairs == set(pairs)
    content = asked.content
    named = [word for word in said if word != "s"]
    pairs += [(named[at], named[at + 1]) for at in range(len(named) - 1)]
    side_by_side = {(content[at], content[at + 1]) for at in range(len(content) - 1)}
    assert asked.parted == {pair for pair in side_by_side if pair not in pairs}


def test_a_name_in_the_genitive_is_not_parted():
    # "The keeper's lamp" and "keeper lamp" are one name.
    assert query_words("the keeper's lamp of the pier").parted == {("lamp", "pier")}
    assert query_words("the keeper has a lamp").parted == {("keeper", "lamp")}


def test_longer_words_that_are_not_listed_are_odd():
    assert passage_words("The lihgthouse, a lighthouse, qzx, p1er, 1874 and 1874qz").odd == {
        "lihgthouse",
        "p1er",
        "1874qz",
    }
    assert passage_words("").odd == frozenset()


def test_the_spellings_of_a_question_lead_to_its_longer_words():
    spellings = query_words("who saw the pier lamps").spellings.forms
    assert {form for form, word in spellings.items() if word == "pier"} == {
        *("pier", "ier", "per", "pir", "pie", "*peir"),
    }
    assert set(spellings.values()) == {"pier", "lamps"}
    # A form of several words is that of the last.
    assert query_words("tamp lamp").spellings.forms["amp"] == "lamp"


def test_the_words_that_ask_by_hand():
    assert query_words("In which year, and who built it?").asking == {"which", "who"}
    assert query_words("Was the pier built?").asking == {"was"}
    assert query_words("pier of the town").asking == set()
    assert query_words("").asking == set()
