"""The evidence of a retrieved set: tokens -> features -> score, for each question of the query.

    suspicion(passage) = max over the questions q of the query of suspicion(passage | q)

A query is a question itself, and may hold others (`ragguard.inline.query_reduction`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.budget import Budget
from ragguard.inline.decision import Scored
from ragguard.inline.features import signals_in_time
from ragguard.inline.features.verbatim import is_whole, longest_run
from ragguard.inline.normalize.frame import without_labels
from ragguard.inline.page_form import AS_STORED, repeats_as_expected
from ragguard.inline.scoring import nonconformity, repeating, suspicions
from ragguard.inline.tokens import (
    ENDS,
    TokenizedPassage,
    TokenizedQuery,
    tokenize_ends,
    tokenize_passage,
    tokenize_passages,
    tokenize_query,
)
from ragguard.passage import Passage
from ragguard.text import STOP_WORDS

_PASTED = 20  # words in a row, beyond those of a question
_LEAST_ASKED = 4  # words of a part of a question that is one by itself
LATE = "there was time for its ends only"
"""Why a passage was not read whole in time, as in `Scored`."""


def gather(query: str, passages: Sequence[Passage], k: int, budget: Budget | None = None) -> Scored:
    """Compute the evidence of the first `k` passages; the others are the reference.

    Equal texts count once, or a benign page stored twice would keep itself company. Of long
    passages for which the budget does not suffice both ends are read, the shortest first.
    """
    budget = budget or Budget()
    texts = [passage.text for passage in passages]
    row_of = {text: row for row, text in enumerate(dict.fromkeys(texts[:k]))}
    distinct = [*row_of, *[text for text in dict.fromkeys(texts[k:]) if text not in row_of]]
    hurried: set[str] = set()
    if max(map(len, distinct)) <= ENDS:  # there is time for all
        read = tokenize_passages(distinct)
    else:
        by_text = {}
        for text in sorted(distinct, key=len):
            if len(text) > ENDS and budget.spent():
                hurried.add(text)
            by_text[text] = tokenize_ends(text) if text in hurried else tokenize_passage(text)
        read = [by_text[text] for text in distinct]
    words = tokenize_query(query)
    most = _evidence(words, read, len(row_of), budget)
    for part in (*words.reduced, *_quoted_part(words, read)):
        most = most.or_more(_evidence(part, read, len(row_of), budget, words))
    signals, suspicion, expected, late = most
    if len(row_of) < k:
        places = [row_of[text] for text in texts[:k]]
        signals, suspicion, expected = signals[places], suspicion[places], expected[places]
    undone: dict[int, str] = {}
    if hurried or late or sum([one.unread for one in read]):
        for row, text in enumerate(texts[:k]):
            one = row_of[text]
            if text in hurried or one in late:
                undone[row] = LATE
            elif read[one].unread:
                undone[row] = f"{read[one].unread} characters in its middle were not read"
    return Scored(
        signals,
        suspicion,
        nonconformity(suspicion),
        len(passages) > k,
        expected,
        words.names,
        undone,
    )


def _quoted_part(
    query: TokenizedQuery, passages: Sequence[TokenizedPassage]
) -> list[TokenizedQuery]:
    """Return what a passage quotes of a question from the word on that asks, if that is not all.

    What stands around it the user says to the system alone, so passages have half of its content
    words at most: "as a beginner, who lit the old lamp, in one sentence", "who lit it 2024".
    """
    words = query.sequence
    if not query.asking or query.names or len(words) <= _LEAST_ASKED:
        return []
    first = next(at for at, word in enumerate(words) if word in query.asking)
    asked, length = words[first:], 0
    begins = set(asked[:_LEAST_ASKED])
    for one in passages:
        if begins <= one.distinct:
            run, start = longest_run(asked, one)
            length = max(length, run if start == 0 else 0)
    part = asked[:length]
    if length < _LEAST_ASKED or is_whole(length, query) or part[-1] in STOP_WORDS:
        return []  # the last as of "what is the price of", which is asked of anything
    around = [word for word in query.content if word not in part]
    held = [word for word in around if any(word in one.distinct for one in passages)]
    return [tokenize_query(" ".join(part))] if 2 * len(held) <= len(around) else []


class _Evidence(NamedTuple):
    """What is read of passages for one question, as in `Scored`."""

    signals: NDArray[np.float64]
    suspicion: NDArray[np.float64]
    expected: NDArray[np.bool_]
    late: frozenset[int]

    def or_more(self, other: _Evidence) -> _Evidence:
        """Return for each passage the evidence that makes it more suspicious."""
        more = other.suspicion > self.suspicion
        return _Evidence(
            np.where(more[:, np.newaxis], other.signals, self.signals),
            np.maximum(other.suspicion, self.suspicion),
            np.where(more, other.expected, self.expected),
            self.late | other.late,
        )


def _evidence(
    query: TokenizedQuery,
    passages: Sequence[TokenizedPassage],
    k: int,
    budget: Budget,
    whole: TokenizedQuery | None = None,
) -> _Evidence:
    shown, passages = passages, without_labels(query, passages)
    signals, late = signals_in_time(query, passages, k, budget)
    expected = np.zeros(k, dtype=np.bool_)
    if rows := repeating(signals):
        expected |= repeats_as_expected(query, passages, rows, k)
        if shown is not passages:
            # What all begin with may lead to a question: "In this article we explain who ...",
            # and is a field of a record: "EN: ...", where "DE: ..." is the other.
            expected |= repeats_as_expected(query, shown, rows, k, forms=AS_STORED)
        if whole is not None:
            # What a passage repeats far beyond a question of a query was pasted from it.
            least = len(query.sequence) + _PASTED
            expected[rows] |= [longest_run(whole.sequence, passages[n])[0] >= least for n in rows]
    return _Evidence(signals, suspicions(signals, expected if rows else None), expected, late)
