"""Keyword stuffing: the question's content words without what parts them in a sentence.

Reference: Ntoulas et al. (2006), "Detecting Spam Web Pages through Content Analysis". Who writes
"built pier" for "who built the old pier" writes to be found. Names and terms stand side by side in
the question too, and say nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ragguard.inline.features.coverage import Match, rescale

_SEVERAL = (1.0, 3.0)  # pairs in one run: what names show as well, and what only lists show
_BOUNDARY = (0.5, 0.9)  # of the content words in a run at either end: nothing counts, all does
_FEW_KEYS = 3  # content words of a question, of which two may well stand side by side by chance


def keyword_stuffing_signals(match: Match) -> dict[str, float]:
    """Return the signals of the runs of nothing but the question's content words, each at most 1.

    - `keyword_bigrams`: how many of the pairs that the question parts by function words stand side
      by side in one run, in the question's order: 0 for one, 1 for three.
    - `keywords_at_boundary`: the share of the content words in a run at the beginning or the end
      that has at least one pair, in any order, that the question has not; less for questions of few
      content words. Where function words are not told from others one pair says nothing, as in any
      order of clauses there is one.

    >>> from ragguard.inline.tokens import tokenize_passage, tokenize_query
    >>> query = tokenize_query("who built the old pier of the town")
    >>> passage = tokenize_passage("Built old pier town: and then it rained.")
    >>> keyword_stuffing_signals(Match(query, passage, dict.fromkeys(query.content, 1 / 4), 1.0))
    {'keyword_bigrams': 0.5, 'keywords_at_boundary': 1.0}
    """
    query, last = match.query, len(match.passage.sequence) - 1
    keys = [(at, word) for at, word in match.places if word in match.weights]
    ats = [at for at, _ in keys]
    beside = [at for at, (one, other) in enumerate(pairwise(ats)) if other == one + 1]
    if query.pairs.issuperset([(keys[at][1], keys[at + 1][1]) for at in beside]):
        return {}
    bigrams = at_boundary = 0.0
    for first, stop in _runs(beside):
        run = [word for _, word in keys[first:stop]]
        found = set(pairwise(run))
        in_order = len(found & query.parted)
        others = {pair for pair in found if pair[0] != pair[1]} - query.parted
        pairs = in_order + len(others.difference(query.pairs))
        if not pairs:
            continue
        share = len(set(run)) / len(query.content)
        bigrams = max(bigrams, rescale(in_order, _SEVERAL))
        if keys[first][0] == 0 or keys[stop - 1][0] == last:
            held = rescale(share, _BOUNDARY) * min(1.0, len(query.content) / _FEW_KEYS)
            at_boundary = max(at_boundary, held * (match.english or rescale(pairs, _SEVERAL)))
    return {"keyword_bigrams": bigrams, "keywords_at_boundary": at_boundary}


def _runs(beside: Sequence[int]) -> list[tuple[int, int]]:
    """Return where the runs begin and end of places each of which has the next one beside it."""
    runs: list[tuple[int, int]] = []
    for at in beside:
        if runs and runs[-1][1] == at + 1:
            runs[-1] = (runs[-1][0], at + 2)
        else:
            runs.append((at, at + 2))
    return runs
