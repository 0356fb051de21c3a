"""The built-in embedder: hashed words, word pairs and character n-grams. No model, no download."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.errors import InvalidInputError
from ragguard.lru import on_forget
from ragguard.text import STOP_WORDS, tokens

_CHAR_NGRAMS = (3, 4)
_WORD_SHARE = 0.6  # of a word's squared norm; its character n-grams share the rest
_PAIR_WEIGHT = 0.5
_STOP_WEIGHT = 0.15
_LONGEST_WORD = 40  # letters: the features of longer words are not remembered


def _word_features(word: str, dimensions: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the buckets and signed weights of one word; their squared sum is about 1."""
    marked = f"<{word}>"
    grams = [marked[at : at + n] for n in _CHAR_NGRAMS for at in range(len(marked) - n + 1)]
    buckets, signs = zip(*(_bucket(one, dimensions) for one in [f"w:{word}", *grams]), strict=True)
    weights = np.array(signs, dtype=np.float64)
    weights[0] *= np.sqrt(_WORD_SHARE)
    weights[1:] *= np.sqrt((1.0 - _WORD_SHARE) / len(grams))
    if word in STOP_WORDS:
        weights *= _STOP_WEIGHT
    return np.array(buckets, dtype=np.int64), weights


# Of some 1.5 kB at most: 25 MB at worst.
_recent_word_features = lru_cache(maxsize=16_384)(_word_features)
on_forget(_recent_word_features.cache_clear)


def _bucket(feature: str, dimensions: int) -> tuple[int, float]:
    # CRC-32 rather than hash(): Python salts hash() anew in every process.
    code = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
    return (code >> 1) % dimensions, 1.0 if code & 1 else -1.0


class HashedEmbedder:
    """Feature hashing (Weinberger et al., 2009) of words, word pairs and character n-grams.

    Deterministic across processes and machines. Counts enter by their square root, English
    function words hardly at all. Vectors are of length `dimensions`.

    Raises:
        InvalidInputError: `dimensions` is not a positive int.
    """

    def __init__(self, dimensions: int = 1024) -> None:
        if not isinstance(dimensions, int) or dimensions < 1:
            raise InvalidInputError(f"dimensions must be a positive int, not {dimensions!r}")
        self._dimensions = dimensions
        self.name = f"hashed-ngrams-{dimensions}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, words in zip(rows, [tokens(text) for text in texts], strict=True):
            if words:
                total = self._total(words)
                norm = float(np.linalg.norm(total))
                row[:] = total / norm if norm > 0.0 else 0.0
        return rows

    def _total(self, words: Sequence[str]) -> NDArray[Any]:
        buckets: list[NDArray[np.int64]] = []
        weights: list[NDArray[np.float64]] = []
        for word, count in Counter(words).items():
            # Overlong words come from attackers and noise: remembered, they would fill the memory.
            features = _recent_word_features if len(word) <= _LONGEST_WORD else _word_features
            word_buckets, word_weights = features(word, self._dimensions)
            buckets.append(word_buckets)
            weights.append(word_weights * np.sqrt(count) if count > 1 else word_weights)
        content = (word for word in words if word not in STOP_WORDS)
        pairs = [_bucket(f"{left} {right}", self._dimensions) for left, right in pairwise(content)]
        if pairs:
            pair_buckets, pair_signs = zip(*pairs, strict=True)
            buckets.append(np.array(pair_buckets, dtype=np.int64))
            weights.append(_PAIR_WEIGHT * np.array(pair_signs))
        return np.bincount(
            np.concatenate(buckets), weights=np.concatenate(weights), minlength=self._dimensions
        )
