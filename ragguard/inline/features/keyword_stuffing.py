"""Key words in a row: the question's content words without what parts them in a sentence.

Reference: keyword stuffing (Ntoulas et al. 2006, "Detecting Spam Web Pages through Content
Analysis"). A person who writes "built pier" for "who built the old pier" writes to be found. Names
and terms stand side by side in the question too, and say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ragguard.inline.features.coverage import Match, rescale
from ragguard.inline.tokens import TokenizedQuery

__all__ = ["Rows", "key_word_rows", "keyword_stuffing_signals"]

_SEVERAL = (1.0, 3.0)  # pairs in one row: what names show as well, and what only lists show
_MOST = 0.6  # of the content words: from here on a row is long
_EDGE = (0.5, 0.9)  # of the content words in a row at an edge: none of it counts, all of it
_FEW_KEYS = 3


class Rows(NamedTuple):
    """What the rows of nothing but the question's content words show, each at most 1.

    Attributes:
        parted: How many of the pairs that the question parts by function words stand side by side
            in one row, in the question's order: 0 for one, 1 for three.
        mixed: The same for pairs in any order that the question has not, times the share of the
            content words in the row.
        edge: The share of the content words in a row at the beginning or the end that has at least
            one such pair; less for questions of few content words.
    """

    parted: float
    mixed: float
    edge: float


def keyword_stuffing_signals(match: Match) -> dict[str, float]:
    """Return the signals of the rows of key words in a passage."""
    keys = [(at, word) for at, word in match.places if word in match.weights]
    rows = key_word_rows(match.query, keys, len(match.passage.sequence))
    return {"key_pairs": rows.parted, "key_row": rows.mixed, "key_edge": rows.edge}


def key_word_rows(query: TokenizedQuery, places: Sequence[tuple[int, str]], length: int) -> Rows:
    """Read the rows of a passage.

    Args:
        query: The question.
        places: Where in the passage which content word of the question stands, in order.
        length: How many words the passage has.

    >>> from ragguard.inline.tokens import tokenize_query
    >>> query = tokenize_query("who built the old pier of the town")
    >>> key_word_rows(query, [(0, "built"), (1, "old"), (2, "pier"), (3, "town")], 9).edge
    1.0
    """
    parted = mixed = edge = 0.0
    for first, stop in _rows([at for at, _ in places]):
        row = [word for _, word in places[first:stop]]
        beside = set(pairwise(row))
        in_order = len(beside & query.parted)
        others = {pair for pair in beside if pair[0] != pair[1]} - query.parted
        pairs = in_order + len(others.difference(query.pairs))
        if not pairs:
            continue
        share = len(set(row)) / len(query.content)
        parted = max(parted, rescale(in_order, _SEVERAL))
        mixed = max(mixed, rescale(pairs, _SEVERAL) * min(1.0, share / _MOST))
        if places[first][0] == 0 or places[stop - 1][0] == length - 1:
            edge = max(edge, rescale(share, _EDGE) * min(1.0, len(query.content) / _FEW_KEYS))
    return Rows(parted, mixed, edge)


def _rows(ats: Sequence[int]) -> list[tuple[int, int]]:
    """Return where the rows of at least two neighbouring places begin and end."""
    beside = [at for at, (one, other) in enumerate(pairwise(ats)) if other == one + 1]
    rows: list[tuple[int, int]] = []
    for at in beside:
        if rows and rows[-1][1] == at + 1:
            rows[-1] = (rows[-1][0], at + 2)
        else:
            rows.append((at, at + 2))
    return rows
