"""How many passages of a set open with the same answer: a score from words, of sets as a whole.

Texts that a language model wrote to answer a question begin with a sentence that speaks of the
whole question and gives the answer, and all that one attacker plants give the same. Pages that
were not written for the question seldom do so together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from ragguard.inline.features.coverage import idf_weights
from ragguard.inline.tokens import tokenize_passage, tokenize_query
from ragguard.text import STOP_WORDS, tokens

__all__ = ["agreeing_openings", "opening"]

_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_AGREEING = 4  # passages


@lru_cache(maxsize=65536)
def opening(text: str) -> frozenset[str]:
    """Return the words of a text's first sentence.

    >>> sorted(opening("It opened in 1874. Ann built it."))
    ['1874', 'in', 'it', 'opened']
    """
    end = _SENTENCE_END.search(text)
    return frozenset(tokens(text if end is None else text[: end.start()]))


def agreeing_openings(question: str, texts: Sequence[str], below: Sequence[str]) -> float:
    """Return how much of the question four openings hold that share a word the rest has not.

    For every word of the openings, the question's own and function words aside: the share of the
    question's content words, weighed by their rarity in what was retrieved, that the fourth-best of
    the openings with this word holds, times the share of the other passages that lack the word.

    Args:
        question: The question.
        texts: The k passages that the generator gets.
        below: What was ranked below; may be empty.

    Returns:
        The largest of all words, in [0, 1]; 0 if no four openings share one.
    """
    query = tokenize_query(question)
    if len(texts) < _AGREEING or not query.content:
        return 0.0
    read = [tokenize_passage(text) for text in (*texts, *below)]
    weights = idf_weights(query, read)
    openings = [opening(text) for text in texts]
    held = [sum(weights[word] for word in query.content if word in said) for said in openings]
    best = 0.0
    for word, count in Counter(word for said in openings for word in said).items():
        if count < _AGREEING or word in query.distinct or word in STOP_WORDS:
            continue
        shares = sorted(share for share, said in zip(held, openings, strict=True) if word in said)
        rest = [
            passage.distinct
            for number, passage in enumerate(read)
            if number >= len(texts) or word not in openings[number]
        ]
        lacking = sum(word not in words for words in rest) / len(rest) if rest else 1.0
        best = max(best, shares[-_AGREEING] * lacking)
    return min(1.0, best)
