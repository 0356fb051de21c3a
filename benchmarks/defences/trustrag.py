"""TrustRAG, first stage: 2-means over the vectors; the denser cluster goes if it is near-copies.

Its second stage asks the model to reconcile what it knows with what it reads, and is left out.
"""

import numpy as np

from benchmarks.plugins import About, Case, Decision, Defence

_ALIKE = 0.88  # mean cosine within a cluster, the paper's threshold
_LEAST = 2


def _judge(case: Case) -> Decision:
    from sklearn.cluster import KMeans

    rows = case.retrieved.embeddings
    everything = tuple(range(len(rows)))
    if len(rows) <= _LEAST or len(np.unique(rows, axis=0)) < _LEAST:
        return Decision(everything)
    labels = KMeans(2, n_init=4, random_state=0).fit_predict(rows)
    gone: set[int] = set()
    for label in (0, 1):
        members = np.flatnonzero(labels == label)
        similar = (rows[members] @ rows[members].T)[np.triu_indices(len(members), 1)]
        if len(members) >= _LEAST and similar.mean() > _ALIKE:
            gone |= set(members.tolist())
    return Decision(tuple(at for at in everything if at not in gone))


_PAPER = ("TrustRAG, Zhou et al., arXiv 2501.00879", "arXiv 2025")
_ABOUT = About("TrustRAG clustering", *_PAPER, "one query", "vectors", "templated")
DEFENCE = Defence(_ABOUT, lambda _: _judge, measures=("dist:scikit-learn",))
