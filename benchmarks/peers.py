"""Our RAGDefender beside its published package, on the sets of `benchmarks.protocol`.

The preset follows the paper; the package counts passages in another way.

- Single-hop (Eq. 1): it looks for the top terms, which are in lower case, inside of words and in
  the letters as given.
- Multi-hop (Eq. 3): either factor is enough for it, not both; a passage's similarity to itself
  counts; medians are the lower middle; the medians' threshold lies halfway to the mean; and the
  count is turned round where the mean is not below the median.

Isolation (Eq. 4 to 7) is the same. A set follows the paper if the package counts what the equation
gives there. The paper names no stop words: the package takes scikit-learn's, the preset our own,
and Eq. 1 is computed with the former.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.defences.contenders import MULTI_HOP
from benchmarks.report.table import Row, Table, as_is, grouped, pooled
from benchmarks.retrieval import RetrievedSet
from ragguard.embedding.vectors import similarity_matrix
from ragguard.inline.ragdefender.grouping import clustering_count, concentration_count, tfidf_terms


def both(dataset: str) -> tuple[str, str]:
    """Return the names of our preset and of the package as they are meant for a dataset."""
    if dataset in MULTI_HOP:
        return "paper concentration", "package multi_hop"
    return "paper clustering", "package single_hop"


def follows(retrieved: RetrievedSet, *, multi_hop: bool) -> bool:
    """Return True if the package counts as many adversarial passages as the paper's equation."""
    import torch
    from ragdefender import grouping  # type: ignore[import-untyped, unused-ignore]
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    texts, rows = list(retrieved.texts), np.ascontiguousarray(retrieved.embeddings)
    if multi_hop:
        theirs = grouping.ConcentrationBasedGrouping(None)
        ours = concentration_count(similarity_matrix(rows))
    else:
        terms = [tfidf_terms(text, ENGLISH_STOP_WORDS) for text in texts]
        theirs, ours = grouping.ClusteringBasedGrouping(None), clustering_count(rows, terms)
    return bool(theirs.estimate_n_adv(texts, embeddings=torch.from_numpy(rows)) == ours)


def compared(rows: Sequence[Row]) -> Iterator[tuple[tuple[Any, ...], Row, Row]]:
    """Yield (dataset, form, ratio) with the counts of the preset and of the package."""
    for cell, part in grouped(rows, "dataset", "form", "ratio").items():
        by_name = {row["defence"]: row for row in pooled(part, "defence")}
        preset, package = (by_name[name] for name in both(cell[0]))
        yield cell, preset, package


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the differences of every cell: of all its sets, and of those that follow the paper."""
    looked_at = [row for row in sections.get("defences", ()) if row.get("follows") is not None]
    followed = [row for row in looked_at if row["follows"]]
    for sets, rows in (("all", looked_at), ("where the package follows the paper", followed)):
        lines = []
        for (dataset, form, ratio), preset, package in compared(rows):
            line = {"data": dataset, "form": form, "poisoned : benign": ratio}
            line["sets"] = preset["questions"]
            for what in ("poison", "benign"):
                one, two = (100 * row[f"{what}_removed"] / row[what] for row in (preset, package))
                line[f"{what} removed: preset / package, %"] = f"{one:.1f} / {two:.1f}"
                line[f"{what}: points between"] = f"{one - two:+.1f}"
            lines.append(line)
        if lines:
            yield as_is(f"RAGDefender, our preset and the package: sets, {sets}", lines)
