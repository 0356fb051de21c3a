"""TF-IDF over one retrieved set, and N_TF-IDF: the passages that hold its top terms (Eq. 1).

    w(t, d) = tf(t, d) (ln((1 + n) / (1 + df(t))) + 1),    each passage's vector scaled to length 1

as scikit-learn weighs terms, and the published experiments with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from math import log, sqrt

from ragguard.text import MAX_CHARS, STOP_WORDS, both_ends

# At least two word characters, as scikit-learn's TfidfVectorizer reads terms.
_TERM = re.compile(r"\w\w+", re.UNICODE)


def tfidf_terms(text: str, stop_words: Collection[str] = STOP_WORDS) -> list[str]:
    """Return the terms of a text that TF-IDF counts, in lower case and in order.

    Of a very long text both ends are read.
    """
    found = _TERM.findall(both_ends(text, MAX_CHARS).lower())
    return [word for word in found if word not in stop_words]


def top_terms(terms: Sequence[Collection[str]], m: int = 5) -> list[str]:
    """Return the `m` terms with the highest weight summed over the set (RAGDefender, 4.1).

    Ties go to the term that comes first in the alphabet.

    Args:
        terms: The terms of each of the n passages.
        m: How many terms.
    """
    counts = [Counter(passage) for passage in terms]
    holders = Counter([term for passage in counts for term in passage])
    idf = {df: log((1 + len(counts)) / (1 + df)) + 1.0 for df in set(holders.values())}
    scores = dict.fromkeys(holders, 0.0)
    for passage in counts:
        weights = {term: count * idf[holders[term]] for term, count in passage.items()}
        squares = 0.0
        for weight in weights.values():  # not by `sum`, which differs between Pythons
            squares += weight * weight
        for term, weight in weights.items():
            scores[term] += weight / sqrt(squares)
    return sorted(scores, key=lambda term: (-scores[term], term))[:m]


def passages_with_top_terms(terms: Sequence[Collection[str]], top: Collection[str]) -> int:
    """Return N_TF-IDF: passages that hold more than half of the top terms.

    Where the set has fewer than m terms, that is half of those; the paper compares with m / 2.
    """
    chosen = set(top)
    return sum(2 * len(chosen.intersection(passage)) > len(chosen) for passage in terms)
