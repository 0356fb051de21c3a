"""Perplexity of passages under a model of words that nothing was read for."""

import numpy as np
from numpy.typing import NDArray

from benchmarks.retrieval import RetrievedSet
from ragguard.proxy.lexical import word_log_probability
from ragguard.stems import tokenize


def perplexity(retrieved: RetrievedSet) -> NDArray[np.float64]:
    """Return the mean surprise of each passage's words, nats a letter; float64 of shape (n,)."""
    found = []
    for text in retrieved.texts:
        words = tokenize(text)
        surprise = -sum(map(word_log_probability, words))
        found.append(surprise / max(1, sum(map(len, words))))
    return np.array(found)
