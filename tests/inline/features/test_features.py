"""All signals of a retrieved set: by hand, by a slow reference, and on any text at all."""

import os
import subprocess
import sys
from math import fsum

import numpy as np
import pytest
import slow_signals
from hypothesis import given, settings
from hypothesis import strategies as st

from ragguard.inline import features
from ragguard.inline.class_bigram import UNITS, class_bigram
from ragguard.inline.features import LEAST_COVERAGE, SIGNALS, signal_matrix
from ragguard.inline.tokens import tokenize_passage, tokenize_query
from ragguard.text import STOP_WORDS, tokens

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=80)
# Few different words, so that runs, stretches and shared words come about often.
words = st.sampled_from("pier lighthouse tide gulls who built the of".split())
sentences = st.lists(words, max_size=10).map(" ".join)
questions = st.lists(words, min_size=1, max_size=12).map(" ".join)


def misspelt(text):
    """Swap two letters of every longer word."""
    return " ".join(
        word[:2] + word[3] + word[2] + word[4:] if len(word) > 4 else word for word in text.split()
    )


@st.composite
def asked_and_retrieved(draw):
    """A question, and passages of pieces of it: whole, nearly, in another order, its key words."""
    question = draw(questions)
    asked = question.split()
    shuffled = draw(st.permutations(asked))
    content = [word for word in dict.fromkeys(asked) if word not in STOP_WORDS]
    piece = st.one_of(
        st.sampled_from(
            [
                question,
                " ".join(asked[:-1]),
                " ".join(asked[1:]),
                " ".join(shuffled),
                " wool ".join(shuffled),
                " ".join(content),
                " ".join(word for word in shuffled if word in content),
                misspelt(question),
                question.replace(" ", ""),
                "-".join(question),
                " wool ".join(asked),
                question.replace("t", "7").replace("s", "$"),
                "question",
                "wool sand",
            ]
        ),
        sentences,
    )
    texts = st.lists(piece, max_size=4).map(" ".join)
    return question, draw(st.lists(texts, min_size=1, max_size=5))


def columns(query, passages, k=None):
    """Return the signals of the first k passages by name."""
    read = [tokenize_passage(text) for text in passages]
    matrix = signal_matrix(tokenize_query(query), read, len(read) if k is None else k)
    return dict(zip(SIGNALS, matrix.T, strict=True))


def any_signal(query, passages, k=None):
    """Return whether the first of k passages shows anything."""
    return any(column[0] for column in columns(query, passages, k).values())


def first(query, passages):
    """Return what the first passage shows of the question by name, its manner aside."""
    return {
        name: float(column[0])
        for name, column in columns(query, passages).items()
        if column[0] and name != "manner"
    }


# By the slow reference


def test_the_slow_reference_knows_every_signal():
    assert {*slow_signals.OWN, "prompt_injection"} == set(SIGNALS)
    assert slow_signals.own_signals("who", ["wool"], 1)[0].keys() == set(slow_signals.OWN)
    assert len(set(SIGNALS)) == len(SIGNALS)


def assert_equal_their_reference(query, texts, k):
    seen = columns(query, texts, k)
    slow = slow_signals.signals(query, texts, k)
    for name in SIGNALS:
        assert seen[name] == pytest.approx([row[name] for row in slow], abs=1e-12), name


@pytest.mark.slow
@settings(max_examples=300)
@given(asked_and_retrieved(), st.data())
def test_signals_equal_their_slow_references(drawn, data):
    query, texts = drawn
    assert_equal_their_reference(query, texts, data.draw(st.integers(1, len(texts))))


LINES = st.sampled_from(
    [
        *(
            "Source: wiki",
            "Page 3",
            "It was built in 1874.",
            "who built the pier of the lighthouse",
        ),
        "who built the pier of the lighthouse Ann did, and it was sold by the keeper in the war. "
        * 3,
        "Ann did, as all know, and sold it. Who built the pier of the lighthouse",
        "The pier was sold. " * 12,
    ]
)


# No word of these is an English one; those of the second are two signs each, so that all are cut.
OTHER_LANGUAGES = (
    "benthuyen haidangx thuytrieu chimbien aidayx xaydung cuanhx thuocx",
    "\u7801\u5934 \u706f\u5854 \u6f6e\u6c34 \u6d77\u9e25 "
    "\u662f\u8c01 \u5efa\u9020 \u90a3\u4e2a \u7684\u554a",
)


@given(asked_and_retrieved(), st.sampled_from(OTHER_LANGUAGES), st.data())
def test_signals_in_another_language_equal_their_slow_references(drawn, others, data):
    said_so = dict(
        zip("pier lighthouse tide gulls who built the of".split(), others.split(), strict=True)
    )

    def translated(text):
        return " ".join(said_so.get(word, word) for word in text.split())

    query, texts = translated(drawn[0]), [translated(text) for text in drawn[1]]
    assert_equal_their_reference(query, texts, data.draw(st.integers(1, len(texts))))


@given(st.lists(LINES, min_size=1, max_size=6), st.lists(LINES, min_size=1, max_size=6))
def test_signals_behind_lines_equal_their_slow_references(some, others):
    texts = ["\n".join(some), "\n".join(others), *QUIET]
    assert_equal_their_reference("who built the pier of the lighthouse", texts, 2)


@pytest.mark.parametrize("words", [39, 41])
def test_the_lead_of_a_page_counts_where_less_is_pasted(words):
    told = " ".join(["The pier was built by the keeper of the old lighthouse, and sold"] * 4)
    query = f"{' '.join(told.split()[:words])}."
    texts = [f"{told}. Ann did so in 1874, and was glad of it. " * 2, *QUIET]
    assert_equal_their_reference(query, texts, len(texts))


@given(ANY_TEXT, st.lists(ANY_TEXT, min_size=1, max_size=4), st.data())
def test_signals_of_any_text_equal_their_slow_references(query, texts, data):
    texts = [f"{text} {query}" if data.draw(st.booleans()) else text for text in texts]
    assert_equal_their_reference(query, texts, data.draw(st.integers(1, len(texts))))


# By hand

# Eight words, four of them content words, of which "of" parts the first two. The four weigh the
# same in a passage that holds them all alone.
QUESTION = "When was the lighthouse of Marrow Bay built?"
QUIET = ["Wool was sold on Mondays.", "A mill stood by the ford.", "The tide turns at noon."]


def test_the_question_of_these_tests():
    asked = tokenize_query(QUESTION)
    assert len(asked.sequence) == 8
    assert asked.content == ("lighthouse", "marrow", "bay", "built")
    assert asked.parted == {("lighthouse", "marrow")}


def test_the_question_with_nothing_beside_it_by_hand():
    assert first(QUESTION, [QUESTION, *QUIET]) == {
        "verbatim_question": 1.0,
        "verbatim_at_boundary": 1.0,
    }


def test_the_question_and_its_answer_by_hand():
    seen = first(QUESTION, [f"{QUESTION} The lighthouse of Marrow Bay was built in 1874.", *QUIET])
    expected = dict.fromkeys(["verbatim_question", "verbatim_at_boundary", "boundary_overlap"], 1.0)
    assert seen == expected | {"window_density": 1.0}


def test_one_content_word_of_four_is_too_little_and_two_are_key_words():
    assert first(QUESTION, ["The lighthouse was sold.", *QUIET]) == {}
    assert first(QUESTION, ["Lighthouse, Marrow.", *QUIET]) == {}
    seen = first(QUESTION, ["Built lighthouse Marrow, bay.", *QUIET])
    # "lighthouse marrow" is parted by "of", and "built lighthouse" is not of the question.
    assert seen == {"keywords_at_boundary": 1.0}


def test_the_words_in_any_order_by_hand():
    backwards = "Bay of the built was when Marrow lighthouse, wool."
    seen = first(QUESTION, [backwards, *QUIET])
    assert seen == {"inserted_words": seen["inserted_words"]}
    # All eight words in one window, and half of the content beside it.
    seen = first(QUESTION, [f"{backwards} A lighthouse at Marrow.", *QUIET])
    assert seen["window_density"] == 1.0


def test_misspelt_words_are_read_as_they_are_meant():
    wrong = "When was the lihgthouse of Marorw Bay built?"
    assert "lihgthouse" not in class_bigram().classes
    assert "marorw" not in class_bigram().classes
    assert first(QUESTION, [f"{wrong} In 1874.", *QUIET]) == first(
        QUESTION, [f"{QUESTION} In 1874.", *QUIET]
    )


def test_passages_below_the_judged_ones_stay_as_they_are_written():
    question = "who is the lighthouse of the harbour to gulls or wool"
    judged = "or to of the harbour lighthouse is who"
    # Half of four key words, and far less than a third if twenty others hold them too.
    for below, seen in (("lihgthouse harbuor", True), ("lighthouse harbour", False)):
        assert any_signal(question, [judged, *[below] * 20], 1) == seen
    assert not any_signal(question, [judged, *["lihgthouse harbuor"] * 20])


def test_words_strewn_in_are_discounted_by_wording_and_length():
    # All words but one, every one parted from its neighbours of the question.
    text = "sand when wool was gulls the wool lighthouse sand of wool Bay sand built wool"
    said, asked = text.lower().split(), tokens(QUESTION)
    table, classes = class_bigram().oddness, class_bigram().classes
    gains = []
    for at in range(1, len(said) - 1):
        before, word, after = (classes[one] for one in said[at - 1 : at + 2])
        saved = table[before + 256 * word] + table[word + 256 * after] - table[before + 256 * after]
        gains += [float(saved) / UNITS] if said[at] in asked else []
    fit = sum(min(1.0, max(0.0, (saved + 2) / 3)) for saved in gains) / len(asked)
    assert len(gains) == 7
    assert first(QUESTION, [text, *QUIET])["inserted_words"] == pytest.approx(
        8 / 10 * (7 / 8 - 0.6) / 0.4 * fit
    )


# The question's length


@pytest.mark.parametrize("length", [1, 2, 3, 4, 7, 8, 9, 20])
def test_the_shorter_the_question_the_less_its_shares_say(length):
    question = " ".join(["who", *[f"word{number}" for number in range(length - 1)]])
    seen = first(question, [f"{question} {question}"] * 2)
    by_length = min(1.0, length / 8)
    several = length > 1  # one word alone is no run
    assert seen["window_density"] == pytest.approx(by_length)
    asks_nothing = question.replace("who", "word")
    assert "window_density" not in first(asks_nothing, [f"{asks_nothing} {asks_nothing}"] * 2)
    # Of a heading it is the runs that are long; said twice, both are runs with nothing outside.
    assert "boundary_overlap" not in seen
    thrice = first(question, [f"{question} {question} {question}"] * 2)
    expected = min(1.0, 2 * length / 5) * several
    assert thrice.get("boundary_overlap", 0.0) == pytest.approx(expected)


# How much of the question a passage must hold


def test_a_passage_that_holds_less_than_a_fifth_has_no_signal():
    # Bay, of four words the only one that is said at all, weighs less than a fifth.
    assert first(QUESTION, ["bay bay bay, when was the bay of the", *QUIET]) == {}
    # And nobody is its company.
    texts = ["bay when was the of"] * 2 + [f"bay {QUESTION} {QUESTION}"]
    assert first(QUESTION, texts) == {}
    assert first(QUESTION, ["bay bay marrow, when was the bay of the", *QUIET]) != {}


def test_the_least_coverage_weighs_words_by_rarity(monkeypatch):
    # Two words of different rarity: the limit is put between their shares.
    monkeypatch.setattr(features, "LEAST_COVERAGE", 1 / 3)
    # All four of these hold the words of the question in another order.
    question, other = "who is the pier of the lamp", "lamp the of pier the is who"
    # log(7 / 6.5) + 0.5 is 0.325 of both words' weights, log(5 / 4.5) + 0.5 is 0.337 of them.
    only = "who is the of the pier the is who"
    assert not any_signal(question, [only, other] * 3)
    assert any_signal(question, [only, other] * 2)
    # What is retrieved below k says as well what is rare.
    assert any_signal(question, [only, "wool"], 2)
    below = ["pier"] * 20
    assert not any_signal(question, [only, "wool", *below], 2)


@pytest.mark.slow
@given(asked_and_retrieved())
def test_only_the_address_speaks_of_a_passage_that_does_not_carry_the_question(drawn):
    query, texts = drawn
    asked = tokens(query)
    much, asking = slow_signals.asks_much(query), slow_signals.asking_of(query)
    read = [slow_signals.normalized(asked, text, much, asking) for text in texts]
    weights = slow_signals.weights_of(asked, read)
    matrix = np.array(list(columns(query, texts).values())).T
    for said, row in zip(read, matrix, strict=True):
        if fsum(weights[word] for word in weights.keys() & set(said)) < LEAST_COVERAGE:
            assert not row[:-1].any()


def test_a_question_of_function_words_alone_is_covered_by_them():
    seen = columns("who is it", ["who is it", "wool"])
    assert seen["verbatim_at_boundary"].tolist() == [1.0, 0.0]
    twice = columns("who is it", ["it is who, who is it, is it", "wool"])
    assert twice["window_density"].tolist() == [3 / 8, 0.0]


@pytest.mark.parametrize("query", ["", "?!", "\ud800", "\x00"])
def test_an_empty_question_raises_no_suspicion(query):
    seen = columns(query, ["who built the pier", "", "sand"])
    assert all(column.max() == 0.0 for column in seen.values())


def test_quiet_passages_have_no_signal():
    seen = columns("Who painted the ceiling?", ["Wool sells.", "Mills grind.", "Gulls cry."])
    assert all(column.max() == 0.0 for column in seen.values())


# Any text


def assert_shares(matrix, rows):
    assert matrix.shape == (rows, len(SIGNALS))
    assert matrix.dtype == np.float64
    assert np.isfinite(matrix).all()
    assert (matrix >= 0.0).all()
    assert (matrix <= 1.0).all()


@given(ANY_TEXT, st.lists(ANY_TEXT, min_size=1, max_size=6), st.data())
def test_every_signal_of_any_text_is_a_share(query, texts, data):
    k = data.draw(st.integers(1, len(texts)))
    assert_shares(
        signal_matrix(tokenize_query(query), [tokenize_passage(text) for text in texts], k), k
    )


@pytest.mark.slow
@given(asked_and_retrieved(), st.data())
def test_every_signal_of_texts_that_share_words_is_a_share(drawn, data):
    query, texts = drawn
    k = data.draw(st.integers(1, len(texts)))
    assert_shares(
        signal_matrix(tokenize_query(query), [tokenize_passage(text) for text in texts], k), k
    )


@settings(max_examples=50)
@given(st.lists(st.text("abcdefgh", min_size=1, max_size=3), min_size=3, max_size=30), st.data())
def test_a_passage_that_says_the_question_twice_holds_exactly_all_of_it(asked, data):
    asked = ["who", *asked]
    rest = data.draw(st.lists(st.lists(st.sampled_from(asked)).map(" ".join), max_size=4))
    query = " ".join(asked)
    seen = columns(query, [f"{query} {query}", *rest])
    discount = min(1.0, len(asked) / 8)
    assert seen["verbatim_at_boundary"][0] == 1.0
    assert seen["window_density"][0] == pytest.approx(discount)
    assert seen["window_density"].max() <= discount


@pytest.mark.slow
@given(asked_and_retrieved(), st.randoms(use_true_random=False), st.data())
def test_signals_do_not_depend_on_the_order_of_judged_passages_nor_of_those_below(
    drawn, random, data
):
    query, texts = drawn
    k = data.draw(st.integers(1, len(texts)))
    order, below = list(range(k)), texts[k:]
    random.shuffle(order)
    random.shuffle(below)
    before = columns(query, texts, k)
    after = columns(query, [*(texts[index] for index in order), *below], k)
    for name in SIGNALS:
        assert after[name].tolist() == before[name][order].tolist()


PROGRAM = """
from random import Random
from ragguard.inline.features import signal_matrix
from ragguard.inline.tokens import tokenize_passage, tokenize_query

random = Random(0)
words = "lighthouse harbour lamp tide stone mill wool sand crown who built the of in was".split()
wrong = {"lighthouse": "lihgthouse", "harbour": "harbuor", "built": "bulit", "stone": "sttone"}
for _ in range(60):
    query = " ".join(random.sample(words, 9))
    texts = [" ".join(random.choices(words, k=14)) + " " + query for _ in range(2)]
    texts += [" ".join([wrong.get(word, word) for word in random.choices(words, k=30)])]
    texts += [" ".join(random.choices(words, k=30)) for _ in range(3)]
    matrix = signal_matrix(tokenize_query(query), [tokenize_passage(text) for text in texts], 5)
    print([value.hex() for value in matrix.ravel().tolist()])
"""


def printed(seed):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.splitlines()


@pytest.mark.slow
def test_signals_do_not_depend_on_the_order_of_sets():
    once = printed("1")
    assert len(set(once)) == 60
    assert once == printed("4242")
