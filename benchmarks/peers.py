"""Our RAGDefender beside its package: `python -m benchmarks.peers --data DIR --json FILE`.

The preset follows the paper; the published package counts passages in another way.

- Single-hop (Eq. 1): it looks for the top terms, which are in lower case, inside of words and in
  the letters as given.
- Multi-hop (Eq. 3): either factor is enough for it, not both; a passage's similarity to itself
  counts; medians are the lower middle; the medians' threshold lies halfway to the mean; and the
  count is turned round where the mean is not below the median.

Isolation (Eq. 4 to 7) is the same. A set follows the paper if the package counts what the equation
gives there. The paper names no stop words: the package takes scikit-learn's, the preset our own,
and Eq. 1 is computed with the former. Sets are those of RAGDefender's protocol.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import product
from typing import Any, Literal

import numpy as np
from rich.console import Console

from benchmarks.command import Command, Measured, add_forms
from benchmarks.datasets import load_folder
from benchmarks.defences.contenders import (
    PACKAGE,
    GuardDefence,
    PackageDefence,
    package_version,
)
from benchmarks.embedders import built_in
from benchmarks.metrics.outcomes import Counts, counted
from benchmarks.protocol import BENIGN, RATIOS, TOGETHER, poisoned_set, texts_of
from benchmarks.report.table import Table, as_is, grouped
from benchmarks.retrieval import RetrievedSet
from ragguard import Guard
from ragguard.embedding.vectors import similarity_matrix
from ragguard.errors import InvalidInputError
from ragguard.inline.ragdefender.grouping import clustering_count, concentration_count
from ragguard.inline.ragdefender.tfidf import tfidf_terms

_MULTI_HOP = "hotpotqa"
_COUNTS = ("sets", "poison", "poison_removed", "benign", "benign_removed")
_ALL, _FOLLOWED = "all", "where the package follows the paper"


def follows(retrieved: RetrievedSet, *, multi_hop: bool) -> bool:
    """Return True if the package counts as many adversarial passages as the paper's equation."""
    import torch
    from ragdefender.grouping import (  # type: ignore[import-untyped, unused-ignore]
        ClusteringBasedGrouping,
        ConcentrationBasedGrouping,
    )
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    texts, rows = list(retrieved.texts), np.ascontiguousarray(retrieved.embeddings)
    if multi_hop:
        theirs, ours = (
            ConcentrationBasedGrouping(None),
            concentration_count(similarity_matrix(rows)),
        )
    else:
        terms = [tfidf_terms(text, ENGLISH_STOP_WORDS) for text in texts]
        theirs, ours = ClusteringBasedGrouping(None), clustering_count(rows, terms)
    return bool(theirs.estimate_n_adv(texts, embeddings=torch.from_numpy(rows)) == ours)


def measure(arguments: argparse.Namespace, _: Console) -> Measured:
    """Return the section "peers": a row for each cell, choice of its sets, and defence."""
    if package_version() is None:
        raise InvalidInputError(f"install the package {PACKAGE}, and torch, to compare with it")
    found = [one for one in load_folder(arguments.data) if one.name in BENIGN]
    datasets = [dataset.limited(arguments.limit) for dataset in found]
    counts, embedder = Counts(*_COUNTS), built_in()
    with ExitStack() as stack:
        for dataset in datasets:
            hops, benign = dataset.name == _MULTI_HOP, BENIGN[dataset.name]
            strategy: Literal["concentration", "clustering"]
            strategy = "concentration" if hops else "clustering"
            guard = stack.enter_context(Guard.ragdefender(strategy=strategy, on_error="raise"))
            preset = GuardDefence("preset", guard)
            package = PackageDefence("multi_hop" if hops else "single_hop")
            for form, ratio, record in product(arguments.forms, RATIOS, dataset.report):
                texts = texts_of(record, TOGETHER, form)[: ratio * benign]
                if len(texts) < ratio * benign:
                    continue
                shown, k = poisoned_set(record, embedder, benign, texts)
                same = follows(shown.first(k), multi_hop=hops)
                for sets in (_ALL, _FOLLOWED)[: 1 + same]:
                    place = {"sets_of": sets, "dataset": dataset.name, "form": form, "ratio": ratio}
                    for who, one in (("preset", preset), ("package", package)):
                        counts.add({**place, "of": who}, {**counted(one, shown, k), "sets": 1})
    return {"peers": counts.rows()}, datasets


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the differences of every cell: of all its sets, and of those that follow the paper."""
    for (sets,), rows in grouped(sections["peers"], "sets_of").items():
        lines = []
        for (dataset, form, ratio), both in grouped(rows, "dataset", "form", "ratio").items():
            line = {"data": dataset, "form": form, "poisoned : benign": ratio}
            line["sets"] = both[0]["sets"]
            for what in ("poison", "benign"):
                one, two = (100 * row[f"{what}_removed"] / row[what] for row in both)
                line[f"{what} removed: preset / package, %"] = f"{one:.1f} / {two:.1f}"
                line[f"{what}: points between"] = f"{one - two:+.1f}"
            lines.append(line)
        yield as_is(f"RAGDefender, our preset and the package: sets, {sets}", lines)


main = Command(
    "peers", __doc__, measure, tables, [lambda one: add_forms(one, ("prepend", "plain"))]
)

if __name__ == "__main__":
    sys.exit(main())
