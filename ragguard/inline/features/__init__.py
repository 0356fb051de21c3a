"""The features: what may speak against one passage of a retrieved set, one file each.

Every signal is a number in [0, 1] that grows with suspicion and is read from the words alone, so
that it means the same with any embedder. The surest way to have a planted passage retrieved is to
repeat the question (PoisonedRAG, Zou et al. 2025: the retrieval part S of a poisoned text S + I is
the question itself). Clean passages contain its words too, but hardly ever in these forms:

- `verbatim`: word for word, as a whole, and at the boundaries;
- `window`: in any order, all in one window as long as the question;
- `insertion`: word by word, where the passage would read better without;
- `keyword_stuffing`: key words in a row, as no sentence puts them;
- `gibberish`: in text that no person wrote;
- `manner`: in text that is written as planted ones are, the more so where it holds more of the
  question than its company, and where others of the set say the same (`concentration`).

The shorter the question, the likelier its words meet by chance: shares of it are discounted by
its length. Every signal of a passage that holds less than `LEAST_COVERAGE` of the question's
content is 0, `ragguard.prompt_injection` excepted, which does without the question; and so is that
of a passage which is nothing but what the query names, a title by itself, if no other is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.budget import Budget
from ragguard.inline.features.coverage import (
    LEAST_COVERAGE,
    Match,
    idf_coverage,
    idf_weights,
    leads,
)
from ragguard.inline.features.gibberish import gibberish_signals, reads_english
from ragguard.inline.features.insertion import insertion_signals
from ragguard.inline.features.keyword_stuffing import keyword_stuffing_signals
from ragguard.inline.features.manner import manner_signals
from ragguard.inline.features.verbatim import verbatim_signals
from ragguard.inline.features.window import window_signals
from ragguard.inline.normalize import normalized
from ragguard.inline.tokens import ENDS, TokenizedPassage, TokenizedQuery, tokenize_ends

__all__ = ["SIGNALS", "signal_matrix", "signals_in_time"]

Floats = NDArray[np.float64]

Feature = Callable[[Match], dict[str, float]]
"""What is read of one passage by itself: signals by name, 0 where one is left out."""

FEATURES: tuple[Feature, ...] = (
    verbatim_signals,
    window_signals,
    insertion_signals,
    keyword_stuffing_signals,
    gibberish_signals,
    manner_signals,
)

SIGNALS = (
    "verbatim_question",
    "verbatim_at_boundary",
    "boundary_overlap",
    "window_density",
    "inserted_words",
    "keyword_bigrams",
    "keywords_at_boundary",
    "gibberish",
    "manner",
    "prompt_injection",
)
"""The names of the columns of `signal_matrix`, in order."""

_AT = {name: column for column, name in enumerate(SIGNALS)}


def signal_matrix(query: TokenizedQuery, passages: Sequence[TokenizedPassage], k: int) -> Floats:
    """Compute all signals of the first `k` passages.

    Args:
        query: The question.
        passages: n passages in rank order; those from `k` on only help to tell which of the
            question's words are rare in what is retrieved.
        k: How many passages to judge, 1 <= k <= n.

    Returns:
        float64 array of shape (k, len(SIGNALS)), every entry in [0, 1].
    """
    return signals_in_time(query, passages, k, Budget())[0]


def signals_in_time(
    query: TokenizedQuery, passages: Sequence[TokenizedPassage], k: int, budget: Budget
) -> tuple[Floats, frozenset[int]]:
    """Return what `signal_matrix` returns, and the rows for which the budget did not suffice.

    Of these passages the ends alone are read (`ragguard.inline.tokens.tokenize_ends`); short
    passages come first, so that long ones cannot take their time.
    """
    signals = np.zeros((k, len(SIGNALS)))
    passages = list(passages)
    for row, passage in enumerate(passages[:k]):
        if passage.injection:
            signals[row, _AT["prompt_injection"]] = passage.injection
    if not query.sequence:
        return signals, frozenset()
    late: set[int] = set()

    def hurry(row: int) -> bool:
        """Put the ends of a long passage in its place once the time is spent."""
        text = passages[row].text
        if len(text) <= ENDS or not budget.spent():
            return False
        late.add(row)
        passages[row] = tokenize_ends(text)
        return True

    rounds = _rounds([len(passage.text) for passage in passages[:k]])
    for rows in rounds:
        hurry(rows[0])
        meant = normalized(query, [passages[row] for row in rows])
        for row, passage in zip(rows, meant, strict=True):
            passages[row] = passage
    weights = idf_weights(query, passages)
    coverage = [idf_coverage(passage.distinct, weights) for passage in passages[:k]]
    held = list(zip(coverage, leads(coverage), strict=True))
    english = reads_english(query, passages)
    if query.names:
        bare = [row for row, passage in enumerate(passages[:k]) if _is_bare(query, passage)]
        if len(bare) == 1:  # more of them take places of what answers
            coverage[bare[0]] = 0.0
    for rows in rounds:
        if hurry(rows[0]):
            (passages[rows[0]],) = normalized(query, [passages[rows[0]]])
        matches = {
            row: Match(
                query, passages[row], weights, *held[row], passages[:k], passages, english=english
            )
            for row in rows
            if coverage[row] >= LEAST_COVERAGE
        }
        for feature in FEATURES:
            for row, match in matches.items():
                for name, value in feature(match).items():
                    if value:
                        signals[row, _AT[name]] = value
    return signals, frozenset(late)


def _is_bare(query: TokenizedQuery, passage: TokenizedPassage) -> bool:
    """Return True if a passage is what the query names and nothing else, as a title may be."""
    said = passage.written
    return len(said.sequence) <= len(query.sequence) and said.distinct <= query.distinct


def _rounds(lengths: Sequence[int]) -> list[list[int]]:
    """Return the rows of short passages, then that of each long one, the shortest first."""
    short = [row for row, length in enumerate(lengths) if length <= ENDS]
    long = [row for row, length in enumerate(lengths) if length > ENDS]
    each = [[row] for row in sorted(long, key=lengths.__getitem__)]
    return [short, *each] if short else each
