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

_SEVERAL = (1.0, 3.0)  # pairs in one run: what names show as well, and what only lists show
_BOUNDARY = (0.5, 0.9)  # of the content words in a run at either end: nothing counts, all does
_FEW_KEYS = 3


class KeywordRuns(NamedTuple):
    """What the runs of nothing but the question's content words show, each at most 1.

    Attributes:
        bigrams: How many of the pairs that the question parts by function words stand side by side
            in one run, in the question's order: 0 for one, 1 for three.
        at_boundary: The share of the content words in a run at the beginning or the end that has
            at least one pair, in any order, that the question has not; less for questions of few
            content words.
    """

    bigrams: float
    at_boundary: float


def keyword_stuffing_signals(match: Match) -> dict[str, float]:
    """Return the signals of the runs of key words in a passage."""
    keys = [(at, word) for at, word in match.places if word in match.weights]
    runs = keyword_runs(match.query, keys, len(match.passage.sequence), english=match.english)
    return {
        "keyword_bigrams": runs.bigrams,
        "keywords_at_boundary": runs.at_boundary,
    }


def keyword_runs(
    query: TokenizedQuery,
    places: Sequence[tuple[int, str]],
    length: int,
    *,
    english: bool = True,
) -> KeywordRuns:
    """Read the runs of key words in a passage.

    Args:
        query: The question.
        places: Where in the passage which content word of the question stands, in order.
        length: How many words the passage has.
        english: False where function words are not told from others: of a run at the beginning or
            the end one pair then says nothing, as in any order of clauses there is one.

    >>> from ragguard.inline.tokens import tokenize_query
    >>> query = tokenize_query("who built the old pier of the town")
    >>> keyword_runs(query, [(0, "built"), (1, "old"), (2, "pier"), (3, "town")], 9).at_boundary
    1.0
    """
    bigrams = at_boundary = 0.0
    for first, stop in _runs([at for at, _ in places]):
        run = [word for _, word in places[first:stop]]
        beside = set(pairwise(run))
        in_order = len(beside & query.parted)
        others = {pair for pair in beside if pair[0] != pair[1]} - query.parted
        pairs = in_order + len(others.difference(query.pairs))
        if not pairs:
            continue
        share = len(set(run)) / len(query.content)
        bigrams = max(bigrams, rescale(in_order, _SEVERAL))
        if places[first][0] == 0 or places[stop - 1][0] == length - 1:
            held = rescale(share, _BOUNDARY) * min(1.0, len(query.content) / _FEW_KEYS)
            at_boundary = max(at_boundary, held * (english or rescale(pairs, _SEVERAL)))
    return KeywordRuns(bigrams, at_boundary)


def _runs(ats: Sequence[int]) -> list[tuple[int, int]]:
    """Return where the runs of at least two neighbouring places begin and end."""
    beside = [at for at, (one, other) in enumerate(pairwise(ats)) if other == one + 1]
    runs: list[tuple[int, int]] = []
    for at in beside:
        if runs and runs[-1][1] == at + 1:
            runs[-1] = (runs[-1][0], at + 2)
        else:
            runs.append((at, at + 2))
    return runs
