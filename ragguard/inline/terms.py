"""TF-IDF over one retrieved set, and RAGDefender's count of passages that hold the top terms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from math import log, sqrt

from ragguard.text import STOP_WORDS

__all__ = ["count_term_rich", "tfidf_terms", "top_terms"]

# At least two word characters, as scikit-learn's TfidfVectorizer reads terms.
_TERM = re.compile(r"\b\w\w+\b", re.UNICODE)


def tfidf_terms(text: str, stop_words: Set[str] = STOP_WORDS) -> list[str]:
    """Return the terms of a text that TF-IDF counts, in lower case and in order."""
    return [term for term in _TERM.findall(text.lower()) if term not in stop_words]


def top_terms(terms: Sequence[Sequence[str]], m: int = 5) -> list[str]:
    """Return the `m` terms with the highest TF-IDF summed over the set (RAGDefender, 4.1).

    Weights are tf * (ln((1 + n) / (1 + df)) + 1), each passage's vector scaled to length 1, the
    form that scikit-learn uses and the published experiments with it. Ties go to the term that
    comes first in the alphabet.

    Args:
        terms: The terms of each of the n passages.
        m: How many terms.
    """
    counts = [Counter(passage) for passage in terms]
    document_frequency = Counter(term for passage in counts for term in passage)
    n = len(terms)
    idf = {term: log((1 + n) / (1 + df)) + 1.0 for term, df in document_frequency.items()}
    scores: Counter[str] = Counter()
    for passage in counts:
        norm = sqrt(sum((count * idf[term]) ** 2 for term, count in passage.items()))
        for term, count in passage.items():
            scores[term] += count * idf[term] / norm  # type: ignore[assignment]
    return sorted(scores, key=lambda term: (-scores[term], term))[:m]


def count_term_rich(terms: Sequence[Sequence[str]], top: Sequence[str]) -> int:
    """Return N_TF-IDF: passages that hold more than half of the top terms (RAGDefender Eq. 1)."""
    chosen = set(top)
    return sum(2 * len(chosen.intersection(passage)) > len(chosen) for passage in terms)
