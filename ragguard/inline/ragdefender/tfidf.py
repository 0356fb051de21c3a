"""TF-IDF over one retrieved set, and RAGDefender's count of passages that hold the top terms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from functools import cached_property
from itertools import islice
from math import log

import numpy as np
from numpy.typing import NDArray

from ragguard.lru import Remembered
from ragguard.text import MAX_CHARS, STOP_WORDS, both_ends

__all__ = ["Terms", "count_term_rich", "tfidf_terms", "top_terms"]

_MAX_BYTES = 32 * 2**20  # of what is remembered

# At least two word characters, as scikit-learn's TfidfVectorizer reads terms.
_TERM = re.compile(r"\w\w+", re.UNICODE)
_ASCII = bytes(ord(c.lower()) if c.isalnum() or c == "_" else 32 for c in map(chr, range(128)))
_ASCII_TERMS = _ASCII.ljust(256)  # translates the bytes of an ASCII text: terms between spaces


class Terms(tuple[str, ...]):
    """The terms of one text, in order; what is asked of them again and again is kept."""

    @cached_property
    def counts(self) -> dict[str, int]:
        """How often each distinct term occurs, in order of first appearance."""
        return Counter(self)

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """A number for each distinct term: int64 of shape (v,), the same in all texts.

        Python's hash, which outsiders cannot aim at; of 10,000 terms two share one with a
        probability of 3e-12.
        """
        return np.fromiter(map(hash, self.counts), np.int64, len(self.counts))

    @cached_property
    def frequencies(self) -> NDArray[np.float64]:
        """The values of `counts`: float64 of shape (v,)."""
        return np.fromiter(self.counts.values(), np.float64, len(self.counts))


def tfidf_terms(text: str, stop_words: Set[str] = STOP_WORDS) -> Terms:
    """Return the terms of a text that TF-IDF counts, in lower case and in order.

    Of a very long text both ends are read. Recent texts are remembered unless they are long.
    """
    return _remembered(text) if stop_words is STOP_WORDS else _read(text, stop_words)


def _read(text: str, stop_words: Set[str] = STOP_WORDS) -> Terms:
    text = both_ends(text, MAX_CHARS)
    if text.isascii():
        # The same terms as the pattern finds, in a third of the time.
        words = text.encode("ascii").translate(_ASCII_TERMS).decode("ascii").split()
        return Terms([w for w in words if w not in stop_words and len(w) > 1])
    return Terms([w for w in _TERM.findall(text.lower()) if w not in stop_words])


_remembered = Remembered(
    _read, max_bytes=_MAX_BYTES, weigh=lambda text, terms: 4 * len(text) + 250 * len(terms) + 500
)


def _as_terms(terms: Iterable[str]) -> Terms:
    return terms if isinstance(terms, Terms) else Terms(terms)


def top_terms(terms: Sequence[Sequence[str]], m: int = 5) -> list[str]:
    """Return the `m` terms with the highest TF-IDF summed over the set (RAGDefender, 4.1).

    Weights are tf * (ln((1 + n) / (1 + df)) + 1), each passage's vector scaled to length 1, the
    form that scikit-learn uses and the published experiments with it. Ties go to the term that
    comes first in the alphabet.

    Args:
        terms: The terms of each of the n passages.
        m: How many terms.
    """
    texts = [_as_terms(passage) for passage in terms]
    lengths = [len(text.codes) for text in texts]
    if not sum(lengths):
        return []
    # One entry for every distinct term of every passage, passage after passage.
    passage = np.repeat(np.arange(len(texts)), lengths)
    codes = np.concatenate([text.codes for text in texts])
    # What np.unique does, without the stable sort that it takes for its first entries.
    order = codes.argsort()
    ordered = codes[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    term = np.empty_like(order)
    term[order] = new.cumsum() - 1
    weights = np.concatenate([text.frequencies for text in texts])
    document_frequency = np.bincount(term)
    weights *= _idf(len(texts), int(document_frequency.max()))[document_frequency][term]
    weights /= np.sqrt(np.bincount(passage, weights * weights))[passage]
    scores = np.bincount(term, weights)
    if len(scores) > m:
        chosen = np.flatnonzero(scores >= np.partition(scores, -m)[-m])
    else:
        chosen = np.arange(len(scores))
    starts = np.cumsum(lengths) - lengths
    ranked = []
    for score, entry in zip(scores[chosen].tolist(), order[new][chosen].tolist(), strict=True):
        holder = passage[entry]
        name = next(islice(texts[holder].counts, int(entry - starts[holder]), None))
        ranked.append((-score, name))
    return [name for _, name in sorted(ranked)[:m]]


def _idf(n: int, most: int) -> NDArray[np.float64]:
    """Return the inverse document frequency of terms that 0 to `most` of `n` passages hold.

    By the logarithm of C, a value each: numpy's differs in the last digit between machines.
    """
    return np.array([log((1 + n) / (1 + df)) + 1.0 for df in range(most + 1)])


def count_term_rich(terms: Sequence[Sequence[str]], top: Sequence[str]) -> int:
    """Return N_TF-IDF: passages that hold more than half of the top terms (RAGDefender Eq. 1)."""
    chosen = set(top)
    return sum(
        2 * sum([term in held for term in chosen]) > len(chosen)
        for held in [_as_terms(passage).counts for passage in terms]
    )
