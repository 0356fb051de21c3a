"""Calibrated on queries of one class, a guard judges those of the other as before."""

from functools import cache

import pytest

from ragguard import Guard
from ragguard.demo.corpus import load_corpus, poison
from ragguard.inline.calibration_file import gate_threshold
from ragguard.inline.tokens import tokenize_query
from ragguard.knowledge.memory import KnowledgeBase

K = 5


@cache
def titles():
    """Return titles of pages as queries, and what is retrieved for them: pages that repeat them."""
    corpus = load_corpus()
    retriever = KnowledgeBase(corpus.passages)
    found = dict.fromkeys(passage.metadata["title"] for passage in corpus.passages)
    return [(title, retriever.retrieve(title, K)) for title in found if tokenize_query(title).names]


@cache
def attacked():
    """Return questions, each in front of a planted text, and what is retrieved for them."""
    corpus = load_corpus()
    retriever = KnowledgeBase(corpus.passages)
    return [
        (ask, [*poison(question, "statement", count=1), *retriever.retrieve(ask, K - 1)])
        for question in corpus.questions
        for ask in [question.text]
        if not tokenize_query(ask).names
    ]


def p_values(guard, pairs):
    return [guard.filter(query, passages).p_value for query, passages in pairs]


@pytest.mark.slow
def test_titles_do_not_hide_the_question_in_front():
    assert len(titles()) >= 99
    with Guard() as guard:
        before = p_values(guard, attacked())
        made = guard.calibrate(titles(), force=True)
        assert (len(made.scores), len(made.naming)) == (0, len(titles()))
        assert p_values(guard, attacked()) == before
        touched = sum(guard.filter(*pair).attacked for pair in titles())
    assert sum(value <= 0.01 for value in before) >= 0.9 * len(before)
    assert touched <= 0.01 * len(titles())


@pytest.mark.slow
def test_titles_from_a_record_do_not_hide_the_question_in_front():
    with Guard() as guard:
        before = p_values(guard, attacked())
    with Guard(mode="monitor") as guard:
        guard.filter_batch(titles())
        guard.calibrate_from_store(force=True)
        assert p_values(guard, attacked()) == before


@pytest.mark.slow
def test_questions_leave_the_line_of_titles_where_it_is():
    with Guard(alpha=0.02) as guard:
        before = p_values(guard, titles())
        made = guard.calibrate(attacked(), force=True)
        assert p_values(guard, titles()) == before
    assert gate_threshold(made, 0.02, K, with_reference=False) > 5.0
