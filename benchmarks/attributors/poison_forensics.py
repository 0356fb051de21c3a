"""Poison forensics by clustering: the cluster of passages that is nearer to the wrong answer.

2-means over the vectors of the k passages and of as many below them; the paper prunes further.
"""

from typing import Any

import numpy as np

from benchmarks.plugins import About, AttributorPlugin
from ragguard.attribution import Attribution
from ragguard.attribution.ragorigin.responsibility import two_means
from ragguard.attribution.result import Attributor
from ragguard.embedding import HashedEmbedder
from ragguard.passage import Passage


class _Clusters(Attributor):
    def __init__(self, k: int) -> None:
        self._scope = 2 * k
        self._embedder = HashedEmbedder()

    def attribute(self, query: str, response: str, retrieve: Any) -> Attribution:
        passages: list[Passage] = list(retrieve(query, self._scope))
        rows = self._embedder.embed([response, *(passage.text for passage in passages)])
        near = np.asarray(rows[1:] @ rows[0], dtype=np.float64)
        guilty = two_means(near).high.tolist()
        nothing = [0.0] * len(passages)
        columns = (near.tolist(), nothing, nothing, near.tolist())
        why = "the cluster nearer to the response"
        return Attribution.of(
            query, response, "clusters", passages, columns, guilty, ("poisoning", why), {"calls": 0}
        )


_PAPER = ("Poison Forensics, Shan et al., as adapted by RAGOrigin", "USENIX Security 2022")
_ABOUT = About("poison forensics", *_PAPER, "one wrong answer", "vectors", "templated")
ATTRIBUTOR = AttributorPlugin(_ABOUT, lambda setting: _Clusters(setting.k))
