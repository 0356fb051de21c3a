"""GMTP: the words that a retrieval rests on are hidden, and have to be likely where they stand.

The paper finds these words by the gradient of the retriever, and asks a masked language model. Here
each word is left out in turn, and what that costs in similarity takes the gradient's place; the
likelihood of a hidden word is that of the lexical proxy after it read the rest of the passage. The
limit is on its scale: as in RAGSieve's comparison, 5 % of clean passages are beyond it.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.defences.described import above
from benchmarks.embedders import built_in
from benchmarks.plugins import About, Defence
from benchmarks.retrieval import RetrievedSet
from ragguard.proxy.lexical import PointerModel
from ragguard.stems import tokenize

_KEYS, _LEAST = 10, 5  # the paper's N and M
_WORDS = 120  # of a passage that are looked at
_EMBEDDER = built_in()


@lru_cache(maxsize=1 << 14)
def surprise(question: str, text: str) -> float:
    """Return the mean surprise of the least likely key words, nats; 0 where there are none."""
    words = tokenize(text)[:_WORDS]
    without = [words[:at] + words[at + 1 :] for at in range(len(words))]
    rows = _EMBEDDER.embed([question, " ".join(words), *map(" ".join, without)])
    lost = np.asarray(rows[1] @ rows[0] - rows[2:] @ rows[0], dtype=np.float64)
    keys = [at for at in np.argsort(-lost, kind="stable")[:_KEYS] if lost[at] > lost.mean()]
    found = sorted(
        -PointerModel(without[at]).log_probability(words[at], words[at - 1] if at else None)
        for at in keys
    )
    return float(np.mean(found[-_LEAST:])) if found else 0.0


def _score(one: RetrievedSet) -> NDArray[np.float64]:
    return np.array([surprise(one.question, text) for text in one.texts])


_ABOUT = About(
    *("GMTP", "GMTP, Kim et al., arXiv 2507.18202", "ACL Findings 2025", "clean passages"),
    *("language model", "templated"),
)
DEFENCE = Defence(_ABOUT, above(_score, 95.0), measures=("ragguard.proxy.lexical",))
