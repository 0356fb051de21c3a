"""The signals: what may speak against one passage of a retrieved set.

Every signal is a number in [0, 1] that grows with suspicion and is read from the words alone, so
that it means the same with any embedder. An attack needs its passage retrieved, and the surest way
is to carry the question (PoisonedRAG, Zou et al. 2025: the retrieval part S of a poisoned text
S + I is the question itself). So most signals ask how much of the question stands in the passage
and in what form; clean passages hold its words too, but hardly ever in these forms:

- Word for word (`features.verbatim`): as a whole, at an edge, and said again elsewhere.
- In any order (`features.window`): all in one short stretch, and out of order.
- Strewn in (`features.insertion`): where the passage would read better without.
- Key words in a row (`features.keyword_stuffing`), as no sentence puts them.
- Company: another passage of the set does the same. One page may quote a question by chance; that
  two do so in the same form is rarer than either alone.
- Agreement (`features.consensus`): several passages that state the same and little else, for
  poison that is retrieved for what it says and carries no more of the question than any page.
- Manner: text that speaks to the model rather than to a reader, and text that no person wrote.

The shorter the question, the likelier its words meet by chance: shares of it are discounted by
its length. Every signal of a passage that holds less than `LEAST_COVERAGE` of the question's
content is 0, address excepted: such a passage does not carry the question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.budget import Budget
from ragguard.inline.features.consensus import agreement
from ragguard.inline.features.coverage import LEAST_COVERAGE, ramp, weight_of
from ragguard.inline.features.gibberish import unnaturalness
from ragguard.inline.features.insertion import inserted_share
from ragguard.inline.features.keyword_stuffing import NO_ROWS, key_word_rows
from ragguard.inline.features.verbatim import runs
from ragguard.inline.features.window import dense, stretches
from ragguard.inline.meaning import as_meant
from ragguard.inline.tokens import ENDS, PassageWords, QueryWords, ends_of
from ragguard.lru import Remembered

__all__ = [
    "LEAST_COVERAGE",
    "SIGNALS",
    "company",
    "content_weights",
    "signal_matrix",
    "signals_in_time",
]

Floats = NDArray[np.float64]

SIGNALS = (
    "echo_whole",
    "echo_edge",
    "restatement",
    "heading",
    "dense",
    "disorder",
    "strewn",
    "key_pairs",
    "key_row",
    "key_edge",
    "soup",
    "company_restatement",
    "company_heading",
    "company_dense",
    "company_disorder",
    "company_strewn",
    "company_key_row",
    "agreement",
    "address",
)
"""The names of the columns of `signal_matrix`, in order."""

_LONG_QUESTION = 8  # words: from here on most of the question does not stand together by chance
_LONG_STREWN = 10  # words, where they are looked for anywhere
_FEW_WORDS = 0.6  # of the question's distinct words: no more show no run and no stretch
# From a share that says nothing to one that says all there is to say.
_WORDING = (0.6, 1.0)
_SOUP = (0.3, 1.0)
_SOUP_COVERAGE = (0.5, 1.0)
_SOUP_BYTES = 16 * 2**20  # of what is remembered


class _Echo(NamedTuple):
    """What is read of one passage by itself."""

    echo_whole: float = 0.0
    echo_edge: float = 0.0
    restatement: float = 0.0
    heading: float = 0.0
    dense: float = 0.0
    disorder: float = 0.0
    strewn: float = 0.0
    key_pairs: float = 0.0
    key_row: float = 0.0
    key_edge: float = 0.0
    soup: float = 0.0


_NO_ECHO = _Echo()
# Columns: first what is read of one passage, then those of that which are also read in company.
_OWN = len(_Echo._fields)
_SHARED = [at for at, name in enumerate(_Echo._fields) if f"company_{name}" in SIGNALS]
_COMPANY = slice(_OWN, _OWN + len(_SHARED))
_AGREEMENT = SIGNALS.index("agreement")
_ADDRESS = SIGNALS.index("address")


def signal_matrix(query: QueryWords, passages: Sequence[PassageWords], k: int) -> Floats:
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
    query: QueryWords, passages: Sequence[PassageWords], k: int, budget: Budget
) -> tuple[Floats, frozenset[int]]:
    """Return what `signal_matrix` returns, and the rows for which the budget did not suffice.

    Of these passages the ends alone are read (`ragguard.inline.words.ends_of`); short passages
    come first, so that long ones cannot take their time.
    """
    signals = np.zeros((k, len(SIGNALS)))
    addresses = [passage.address for passage in passages[:k]]
    if any(addresses):
        signals[:, _ADDRESS] = addresses
    if not query.sequence:
        return signals, frozenset()
    late: set[int] = set()
    lengths = [len(passage.text) for passage in passages[:k]]
    some_long = max(lengths) > ENDS
    order: Sequence[int] = range(k)
    if some_long:
        order = sorted(order, key=lengths.__getitem__)
    passages = list(passages)
    for row in order:
        if some_long and lengths[row] > ENDS and budget.spent():
            late.add(row)
            passages[row] = ends_of(passages[row].text)
        passages[row] = as_meant(query, passages[row])
    weights = content_weights(query, passages)
    coverage = [weight_of(passage.distinct, weights) for passage in passages[:k]]
    signals[:, _AGREEMENT] = agreement(query, weights, passages, coverage)
    echoes = [_NO_ECHO] * k
    for row in order:
        if some_long and lengths[row] > ENDS and budget.spent():
            late.add(row)
            passages[row] = as_meant(query, ends_of(passages[row].text))
        echoes[row] = _echo(query, weights, passages[row], coverage[row])
    heard = [row for row, echo in enumerate(echoes) if echo is not _NO_ECHO]
    if heard:
        own = np.array([echoes[row] for row in heard])
        signals[heard, :_OWN] = own
        if len(heard) > 1:
            signals[heard, _COMPANY] = company(own[:, _SHARED])
    return signals, frozenset(late)


def content_weights(query: QueryWords, passages: Sequence[PassageWords]) -> dict[str, float]:
    """Weigh the question's content words by how rare they are in the retrieved set.

    Args:
        query: The question.
        passages: n passages.

    Returns:
        The weight of every content word in order, log((n + 1) / (df + 1/2)) + 1/2 for a word in df
        of the passages (after Spärck Jones 1972), scaled to sum 1.
    """
    n = len(passages)
    distinct = [passage.distinct for passage in passages]
    weights = {
        word: log((n + 1) / (sum([word in words for words in distinct]) + 0.5)) + 0.5
        for word in query.content
    }
    total = sum(weights.values())
    return {word: weight / total for word, weight in weights.items()}


def _echo(
    query: QueryWords, weights: Mapping[str, float], passage: PassageWords, coverage: float
) -> _Echo:
    """Return what is read of one passage by itself."""
    if coverage < LEAST_COVERAGE:
        return _NO_ECHO
    sequence = passage.sequence
    shared = query.distinct & passage.distinct
    wording = len(shared) / len(query.distinct)
    soup = 0.0
    if coverage > _SOUP_COVERAGE[0]:
        soup = ramp(_soup(sequence), _SOUP) * ramp(coverage, _SOUP_COVERAGE)
    if wording <= _FEW_WORDS:
        keys = [(at, word) for at, word in enumerate(sequence) if word in weights]
        rows = key_word_rows(query, keys, len(sequence))
        if not soup and rows is NO_ROWS:
            return _NO_ECHO
        return _Echo(key_pairs=rows.parted, key_row=rows.mixed, key_edge=rows.edge, soup=soup)
    places = [(at, word) for at, word in enumerate(sequence) if word in shared]
    rows = key_word_rows(query, [one for one in places if one[1] in weights], len(sequence))
    counts: dict[str, int] = {}
    for _, word in places:
        counts[word] = counts.get(word, 0) + 1
    found = runs(query, passage, counts, weights)
    stretch = stretches(query, places)
    length = len(query.sequence)
    long = min(1.0, length / _LONG_QUESTION)
    return _Echo(
        echo_whole=float(found.whole),
        echo_edge=float(found.whole and found.at_edge),
        restatement=long * found.restatement,
        heading=found.heading,
        dense=long * dense(query, stretch, counts, weights),
        disorder=long * stretch.disorder,
        strewn=min(1.0, length / _LONG_STREWN)
        * ramp(wording, _WORDING)
        * inserted_share(query, sequence, places),
        key_pairs=rows.parted,
        key_row=rows.mixed,
        key_edge=rows.edge,
        soup=soup,
    )


def _read_soup(sequence: tuple[str, ...]) -> float:
    return unnaturalness(sequence).soup


_soup = Remembered(_read_soup, max_bytes=_SOUP_BYTES, weigh=lambda words, _: 70 * len(words) + 300)


def company(shares: Floats) -> Floats:
    """Return the smaller of a passage's own share and the largest of the others'.

    Args:
        shares: float64 array of shape (k, m); each column is taken for itself.

    Returns:
        float64 array of shape (k, m); zeros for a single passage.
    """
    if len(shares) < 2:
        return np.zeros_like(shares)
    order = np.sort(shares, axis=0)
    others = np.where(shares >= order[-1], order[-2], order[-1])
    smaller: Floats = np.minimum(shares, others)
    return smaller
