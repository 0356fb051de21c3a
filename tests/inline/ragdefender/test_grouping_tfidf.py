"""TF-IDF of a retrieved set: by hand, and against scikit-learn."""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.ragdefender.grouping import passages_with_top_terms, tfidf_terms, top_terms
from ragguard.text import STOP_WORDS

VOCABULARY = "pier lamp tide gull sand wool mill ford the of a 42".split()
texts_of_few_words = st.lists(
    st.lists(st.sampled_from(VOCABULARY), max_size=12).map(" ".join), min_size=1, max_size=8
)


def scores_of_scikit_learn(texts, stop_words):
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(stop_words=stop_words)
    total = np.asarray(vectorizer.fit_transform(texts).sum(axis=0)).ravel()
    return dict(zip(vectorizer.get_feature_names_out(), total, strict=True))


def test_terms_are_words_of_two_characters_and_more_in_order():
    words = ["pier", "pier", "lamps", "42", "re_use"]
    assert tfidf_terms("A pier, the PIER; 7 lamps (42) re_use") == words
    assert tfidf_terms("A pi\u00e9r \u2014 the PI\u00c9R") == ["pi\u00e9r", "pi\u00e9r"]
    assert tfidf_terms("the of", frozenset()) == ["the", "of"]
    assert tfidf_terms("") == []


def test_top_terms_by_hand():
    terms = [["pier", "pier", "lamp"], ["pier", "tide"]]
    idf_shared, idf_single = log(3 / 3) + 1, log(3 / 2) + 1
    first = sqrt((2 * idf_shared) ** 2 + idf_single**2)
    second = sqrt(idf_shared**2 + idf_single**2)
    scores = {
        "pier": 2 * idf_shared / first + idf_shared / second,
        "lamp": idf_single / first,
        "tide": idf_single / second,
    }
    assert sorted(scores, key=scores.get, reverse=True) == ["pier", "tide", "lamp"]
    assert top_terms(terms) == ["pier", "tide", "lamp"]
    assert top_terms(terms, 1) == ["pier"]


def test_ties_go_by_the_alphabet():
    assert top_terms([["b", "a", "d", "c"]], 3) == ["a", "b", "c"]


@pytest.mark.parametrize("terms", [[], [[]], [[], []]])
def test_a_set_without_terms_has_no_top_terms(terms):
    assert top_terms(terms) == []
    assert passages_with_top_terms(terms, []) == 0


def test_more_than_half_of_the_top_terms_must_be_there():
    top = ["a", "b", "c", "d", "e"]
    assert passages_with_top_terms([["a", "b"], ["a", "b", "c"], ["a", "a", "a"], []], top) == 1
    even = ["a", "b", "c", "d"]
    assert passages_with_top_terms([["a", "b"], ["b", "c", "d"]], even) == 1


def test_a_term_counts_as_a_word_not_as_a_part_of_one():
    assert passages_with_top_terms([tfidf_terms("artful starting")], ["art"]) == 0


def slow_top_terms(terms, m):
    """The sum of TF-IDF as it is written, term by term."""
    n = len(terms)
    idf = {
        term: log((1 + n) / (1 + sum(term in passage for passage in terms))) + 1.0
        for passage in terms
        for term in passage
    }
    scores = dict.fromkeys(idf, 0.0)
    for passage in terms:
        weights = {term: passage.count(term) * idf[term] for term in passage}
        squares = 0.0
        for weight in weights.values():  # one after the other: newer Pythons' `sum` compensates
            squares += weight**2
        for term, weight in weights.items():
            scores[term] += weight / sqrt(squares)
    return sorted(scores, key=lambda term: (-scores[term], term))[:m]


words_of_few_letters = st.lists(
    st.lists(st.text("abc", min_size=1, max_size=3), max_size=25), min_size=1, max_size=12
)


@given(words_of_few_letters, st.integers(1, 8))
def test_top_terms_equal_the_slow_reference(terms, m):
    # To the last digit where it counts: equal scores must tie, or the alphabet could not decide.
    assert top_terms(terms, m) == slow_top_terms(terms, m)


@pytest.mark.slow
@given(texts_of_few_words, st.integers(1, 8))
def test_top_terms_equal_those_of_scikit_learn(texts, m):
    terms = [tfidf_terms(text) for text in texts]
    if not any(terms):
        assert top_terms(terms, m) == []
        return
    scores = scores_of_scikit_learn(texts, sorted(STOP_WORDS))
    ours = top_terms(terms, m)
    assert len(ours) == min(m, len(scores))
    # Compared by score: terms whose scores tie may change places in the last digit.
    best = sorted(scores.values(), reverse=True)[:m]
    assert [scores[term] for term in ours] == pytest.approx(best)


@given(st.lists(st.text(max_size=40), min_size=1, max_size=5))
def test_terms_equal_those_of_scikit_learn_on_any_text(texts):
    from sklearn.feature_extraction.text import TfidfVectorizer

    analyse = TfidfVectorizer(stop_words=sorted(STOP_WORDS)).build_analyzer()
    assert [tfidf_terms(text) for text in texts] == [analyse(text) for text in texts]


@given(texts_of_few_words, st.randoms(use_true_random=False))
def test_the_count_does_not_depend_on_the_order_of_the_passages(texts, random):
    terms = [tfidf_terms(text) for text in texts]
    top = top_terms(terms)
    turned = list(terms)
    random.shuffle(turned)
    assert passages_with_top_terms(turned, top) == passages_with_top_terms(terms, top)
    assert 0 <= passages_with_top_terms(terms, top) <= len(terms)
