"""Concentration: how much of what a passage says the others say that are retrieved with it.

    s_ij = |W_i and W_j| / sqrt(|W_i| |W_j|),    W_i the distinct content words of passage i
    concentration_i = mean of s_ij over the other passages of the set, of many over the first 10

s_mean of RAGDefender's concentration factor (Kim, Lee and Koo 2025, Section 4.1), which takes the
similarity of embeddings; the cosine of binary vectors of terms finds as much, and needs no
embedder. Texts that are planted for one question say one thing. But so do good pages on one
subject, so that it only adds to `manner`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from ragguard.inline.features.coverage import COMPANY
from ragguard.inline.tokens import TokenizedPassage
from ragguard.text import STOP_WORDS


def content_words(passage: TokenizedPassage) -> frozenset[str]:
    """Return the distinct words of a passage that are no function words."""
    return passage.distinct - STOP_WORDS


def cosine(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the cosine of two sets of words as binary vectors, in [0, 1]; 0 if one has none."""
    if not one or not other:
        return 0.0
    return min(1.0, len(one & other) / sqrt(len(one) * len(other)))


def concentration(passage: TokenizedPassage, retrieved: Sequence[TokenizedPassage]) -> float:
    """Return how much of what a passage says others of its set say, in [0, 1].

    Of the set the first `COMPANY` count; what has the same text is no other one.

    >>> from ragguard.inline.tokens import tokenize_passages
    >>> texts = ["The pier was sold.", "Sold, the old pier.", "It rained."]
    >>> first, *rest = tokenize_passages(texts)
    >>> round(concentration(first, (first, *rest)), 2)
    0.41
    """
    own = passage.written.once(content_words)
    company = [one for one in retrieved[:COMPANY] if one.text != passage.text]
    others = [one.written.once(content_words) for one in company]
    if not others:
        return 0.0
    return sum([cosine(own, one) for one in others]) / len(others)
