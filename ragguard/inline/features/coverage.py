"""Query coverage: how much of a question's content stands in a passage, or in a stretch of it.

    idf(w) = log((n + 1) / (df(w) + 1/2)) + 1/2,    scaled to sum 1 over the content words

after Spärck Jones (1972), over the n passages of the retrieved set. What else is a share is
rescaled: 0 at and below a share that says nothing, 1 from a share on that says all there is to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log

from ragguard.fork import WorkedOutOnce
from ragguard.inline.query_form import ASKING_VERBS
from ragguard.inline.tokens import TokenizedPassage, TokenizedQuery

LEAST_COVERAGE = 0.2
"""Share of the question's content words, weighed by rarity, that a passage must hold."""

FEW_WORDS = 0.6
"""Share of the question's distinct words: no more show no run, no stretch and no insertion."""

COMPANY = 10
"""Passages of a set, the first, that the others are compared with: what is ranked far below says
little of the question, and the work is to grow with the set and not with its square."""

_LONG_QUESTION = 8  # words: from here on most of the question does not stand together by chance
_HELD = (0.5, 1.0)  # share of the content that a quotation holds
_REST = (0.0, 0.4)  # share of the content that is said outside it as well


@dataclass(eq=False)
class Match:
    """A passage beside a question.

    Attributes:
        query: The question, of at least one word.
        passage: The passage.
        weights: The weight of every content word of the question; sum 1.
        coverage: The weight of those that stand in the passage.
        lead: By how much that is above the mean of the other passages.
        retrieved: The passages of its set, of which it is one.
        reference: These, and those that rank below.
        english: True if the set is in English (`gibberish.reads_english`).
        share: The share of the question's distinct words that stand in the passage.
        long: How far the question is too long for its words to stand together by chance, in [0, 1].
        places: Where in the passage which word of the question stands, in order.
    """

    query: TokenizedQuery
    passage: TokenizedPassage
    weights: Mapping[str, float]
    coverage: float
    lead: float = 0.0
    retrieved: Sequence[TokenizedPassage] = ()
    reference: Sequence[TokenizedPassage] = ()
    english: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        """Look for the question's words."""
        shared = self.query.distinct & self.passage.distinct
        self.share = len(shared) / len(self.query.distinct)
        self.long = min(1.0, self.query.length / _LONG_QUESTION)
        said = enumerate(self.passage.sequence)
        self.places = [(at, word) for at, word in said if word in shared]

    @WorkedOutOnce
    def counts(self) -> Counter[str]:
        """How often each word of the question stands in the passage."""
        return Counter([word for _, word in self.places])

    def outside(self, stretch: Sequence[str]) -> float:
        """Return the weight of a stretch's content words that are said outside of it as well."""
        counts, weights = self.counts, self.weights.items()
        return min(1.0, sum([held for word, held in weights if counts[word] > stretch.count(word)]))

    def quotation(self, stretch: Sequence[str]) -> float:
        """Return in [0, 1] how much of the content a stretch holds and the passage says again.

        0 if the stretch has none of the words that ask: a sentence that answers holds the others.
        A verb asks only before what follows it in the question: "was the pier", "the pier was".
        """
        if self.query.asking.isdisjoint(stretch):
            return 0.0
        turned, said = self.query.sequence[:2], list(pairwise(stretch))
        if self.query.asking <= ASKING_VERBS and turned not in said:
            return 0.0
        rest = rescale(self.outside(stretch), _REST)
        return rest and rest * rescale(idf_coverage(stretch, self.weights), _HELD)


def rescale(share: float, between: tuple[float, float]) -> float:
    """Rescale so that the lower end and less is 0, and the upper end and more is 1.

    >>> rescale(0.5, (0.4, 0.6)), rescale(0.3, (0.4, 0.6)), rescale(1.0, (0.4, 0.6))
    (0.5, 0.0, 1.0)
    """
    low, high = between
    return min(1.0, max(0.0, (share - low) / (high - low)))


def idf_weights(query: TokenizedQuery, passages: Sequence[TokenizedPassage]) -> dict[str, float]:
    """Return the weight of every content word of the question in order, by the formula above."""
    n = len(passages)
    distinct = [passage.distinct for passage in passages]
    weights = {
        word: log((n + 1) / (sum([word in words for words in distinct]) + 0.5)) + 0.5
        for word in query.content
    }
    total = sum(weights.values())
    return {word: weight / total for word, weight in weights.items()}


def idf_coverage(stretch: Container[str], weights: Mapping[str, float]) -> float:
    """Return the weight of the content words that stand in a stretch or passage, at most 1."""
    return min(1.0, sum([weight for word, weight in weights.items() if word in stretch]))


def leads(coverage: Sequence[float]) -> list[float]:
    """Return by how much the coverage of each passage is above the mean of the first others'.

    >>> leads([0.75, 0.25, 0.25])
    [0.5, -0.25, -0.25]
    """
    company = coverage[:COMPANY]
    total, size = sum(company), len(company)
    if len(coverage) < 2:
        return [0.0] * len(coverage)
    return [
        held - ((total - held) / (size - 1) if row < size else total / size)
        for row, held in enumerate(coverage)
    ]
