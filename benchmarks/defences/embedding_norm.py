"""Embedding norm: passages whose vector is longer than any clean one's are dropped.

The benchmark's vectors have length 1, as most retrievers' have; what is taken instead is the dot
product that a text reaches with its question, which long vectors were to raise.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks.defences.quantile import above
from benchmarks.embedders import built_in
from benchmarks.plugins import About, Defence
from benchmarks.retrieval import RetrievedSet

_EMBEDDER = built_in()


def _reach(retrieved: RetrievedSet) -> NDArray[np.float64]:
    rows = _EMBEDDER.embed([retrieved.question, *retrieved.texts])
    return np.asarray(rows[1:] @ rows[0], dtype=np.float64)


_PAPER = ("Poisoning Retrieval Corpora, Zhong et al.", "EMNLP 2023")
_ABOUT = About("similarity, for norm", *_PAPER, "clean passages", "vectors", "templated")
DEFENCE = Defence(_ABOUT, above(_reach, 100.0))
