"""The lexical proxy is a distribution, and reads what a context says."""

import math
from itertools import pairwise
from time import thread_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.errors import InvalidInputError
from ragguard.proxy import LexicalProxy, default, lexical
from ragguard.proxy.lexical import (
    PointerModel,
    copied_from,
    with_query,
    word_log_probability,
)
from ragguard.stems import tokenize

WORDS = st.sampled_from(["the", "of", "moon", "cheese", "7", "1,5", "都", "zq"])
TEXTS = st.text(st.characters(), max_size=60)


@given(st.lists(WORDS, max_size=30), st.lists(WORDS, max_size=6), WORDS | st.none())
def test_next_word_probabilities_sum_to_one(context, query, previous):
    model = PointerModel(context)
    copied = copied_from(query)
    known = set(context) | set(query) | {"the", "moon"}

    def probability(word):
        return math.exp(with_query(model.log_probability(word, previous), word, copied))

    # Every unseen word has the same ratio to its prior, which is therefore the mass of the
    # background model; the prior itself sums to one (tested below).
    unseen = "unseenword"
    background = probability(unseen) / math.exp(word_log_probability(unseen))
    unknown = background * (1.0 - math.fsum(math.exp(word_log_probability(w)) for w in known))

    assert math.fsum(map(probability, known)) + unknown == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
def test_prior_over_one_character_words_sums_to_their_length_probability():
    total = math.fsum(math.exp(word_log_probability(chr(c))) for c in range(0x110000))
    listed = sum(p for w, p in lexical._FREQUENT_PROBABILITY.items() if len(w) == 1)
    spelled = (1.0 - lexical._FREQUENT_SHARE) * math.exp(-lexical._MEAN_EXTRA_LENGTH)
    assert total == pytest.approx(listed + spelled, rel=1e-9)


def test_prior_parts_are_distributions():
    shares = (
        lexical._LETTERS_SHARE,
        lexical._DIGITS_SHARE,
        lexical._IDEOGRAPHS_SHARE,
        lexical._ANY_SHARE,
    )
    assert sum(shares) == pytest.approx(1.0)
    assert sum(lexical._LETTERS.values()) == pytest.approx(1.0)
    assert sum(lexical._DIGITS.values()) == pytest.approx(1.0)
    assert sum(lexical._FREQUENT_PROBABILITY.values()) == pytest.approx(lexical._FREQUENT_SHARE)
    assert len(lexical._FREQUENT) == len(set(lexical._FREQUENT))


def test_prior_over_two_letter_words_sums_to_their_length_probability():
    # Exhaustive over letters; the two-character strings of the other scripts have known mass.
    letters = lexical._LETTERS
    mean = lexical._MEAN_EXTRA_LENGTH
    length = math.exp(-mean) * mean
    any_of_these = (len(letters) / 0x110000) ** 2 * lexical._ANY_SHARE
    total = math.fsum(math.exp(word_log_probability(a + b)) for a in letters for b in letters)
    listed = sum(p for w, p in lexical._FREQUENT_PROBABILITY.items() if len(w) == 2)
    expected = (1.0 - lexical._FREQUENT_SHARE) * length * (lexical._LETTERS_SHARE + any_of_these)
    assert total == pytest.approx(listed + expected, rel=1e-9)


def reference_scores(context, query, response):
    """Write the formulas out, word by word, in plain probabilities."""
    mu = lexical._UNIGRAM_PRIOR
    nu = lexical._BIGRAM_PRIOR
    kappa = lexical._QUERY_SHARE
    c, q, r = tokenize(context), tokenize(query), tokenize(response)

    def pointer(word, previous):
        unigram = (c.count(word) + mu * math.exp(word_log_probability(word))) / (len(c) + mu)
        pairs = list(pairwise(c))
        after = [pair for pair in pairs if pair[0] == previous]
        return (pairs.count((previous, word)) + nu * unigram) / (len(after) + nu)

    sc = [math.log(pointer(w, p)) for w, p in zip(q, [None, *q], strict=False)]
    gc = [
        math.log((1 - kappa) * pointer(w, p) + kappa * q.count(w) / len(q))
        for w, p in zip(r, [None, *r], strict=False)
    ]
    return sum(sc) / len(sc), sum(gc) / len(gc)


@pytest.mark.parametrize(
    "context",
    ["", "The moon is made of cheese. The moon, of all things!", "cheese", "Mond 1.5 käse 東京都"],
)
def test_scores_follow_the_formulas(context):
    query, response = "What is the moon made of?", "The moon is made of cheese"
    scores = LexicalProxy().score([context], query, response)
    sc, gc = reference_scores(context, query, response)
    assert scores.semantic_correlation == pytest.approx([sc])
    assert scores.generation_influence == pytest.approx([gc])


def test_the_passage_that_states_the_response_predicts_it_best():
    contexts = [
        "The lighthouse keeper repaired the lamp before the storm.",
        "The lighthouse keeper was Orla Venn, who repaired the lamp.",
        "Bread is baked before dawn in the valley.",
    ]
    scores = LexicalProxy().score(contexts, "Who was the lighthouse keeper?", "Orla Venn")
    assert np.argmax(scores.generation_influence) == 1
    assert np.argmin(scores.semantic_correlation) == 2
    assert scores.generation_influence.dtype == np.float64
    assert scores.generation_influence.shape == (3,)


def test_words_that_the_response_takes_from_the_query_hardly_tell_contexts_apart():
    contexts = ["the comet Halden returned", "a quiet day"]
    with_query_words = LexicalProxy().score(contexts, "Which comet Halden?", "comet Halden")
    without = LexicalProxy().score(contexts, "Which one?", "comet Halden")
    spread = np.ptp(with_query_words.generation_influence)
    assert spread < 0.5 * np.ptp(without.generation_influence)


def test_word_order_counts():
    contexts = ["vale of green mist", "mist of vale green"]
    gc = LexicalProxy().score(contexts, "where", "green mist").generation_influence
    assert gc[0] > gc[1]


@given(st.lists(TEXTS, max_size=4), TEXTS, TEXTS)
def test_any_text_scores_finite_and_each_context_alone(contexts, query, response):
    proxy = LexicalProxy()
    scores = proxy.score(contexts, query, response)
    for values in (scores.semantic_correlation, scores.generation_influence):
        assert values.shape == (len(contexts),)
        assert np.isfinite(values).all()
        assert (values <= 0.0).all()
    for i, context in enumerate(contexts):
        alone = proxy.score([context], query, response)
        assert alone.generation_influence[0] == scores.generation_influence[i]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("... \x00\x07 --", []),
        ("\ud800 x", ["x"]),
        ("東京タワー", list("東京タワー")),
        ("Ｆｕｌｌ Width", ["full", "width"]),
        ("200,000 people, in 1999.", ["200,000", "people", "in", "1999"]),
        ("$3.5 😀", ["$", "3.5", "😀"]),
        ("snake_case Straße", ["snake", "case", "strasse"]),
    ],
)
def test_tokenize(text, expected):
    assert tokenize(text) == expected


def test_a_long_query_does_not_multiply_with_a_long_response():
    response = " ".join(f"w{n}" for n in range(4_000))

    def seconds(words):
        query = " ".join(f"q{n}" for n in range(words))
        best = math.inf
        for _ in range(3):
            began = thread_time()
            LexicalProxy().score(["The moon is made of cheese."] * 3, query, response)
            best = min(best, thread_time() - began)
        return best

    assert seconds(4_000) < 5 * seconds(10)  # twice as much is read and scored, not 20 times


def test_empty_query_and_response_score_zero():
    scores = LexicalProxy().score(["a text", ""], "", "")
    assert scores.semantic_correlation.tolist() == [0.0, 0.0]
    assert scores.generation_influence.tolist() == [0.0, 0.0]


def test_words_longer_than_any_float_can_hold_score_finite():
    scores = LexicalProxy().score(["x" * 15_000, "short"], "who", "x" * 15_000)
    assert scores.generation_influence[0] > -20.0
    assert np.isfinite(scores.generation_influence[1])
    assert scores.generation_influence[1] < -10_000.0


def test_contexts_may_come_one_by_one():
    contexts = ["The moon is made of cheese.", "", "Bread is baked."]
    expected = LexicalProxy().score(contexts, "What is it made of?", "cheese")
    found = LexicalProxy().score(iter(contexts), "What is it made of?", "cheese")
    assert found.semantic_correlation.tolist() == expected.semantic_correlation.tolist()
    assert found.generation_influence.tolist() == expected.generation_influence.tolist()


@pytest.mark.parametrize(
    ("contexts", "query", "response", "said"),
    [
        ("abc", "q", "r", "contexts must be a sequence of str"),
        (None, "q", "r", "contexts must be a sequence of str"),
        (["a", None], "q", "r", r"contexts\[1\] is of type NoneType"),
        (["a"], None, "r", "query must be a str"),
        (["a"], "q", 5, "response must be a str"),
    ],
)
def test_what_is_no_text(contexts, query, response, said):
    with pytest.raises(InvalidInputError, match=said):
        LexicalProxy().score(contexts, query, response)


def test_default_is_a_proxy():
    scores = default().score(["a b"], "a", "b")
    assert scores.generation_influence.shape == (1,)
