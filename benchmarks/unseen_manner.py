"""Manner that was not fitted on: `python -m benchmarks.unseen_manner --data DIR`.

The model of `ragguard.inline.features.manner` is fitted again without a generator's texts, or
without a dataset's pages and planted texts, and asked to find just these, on questions of the
report half. Only manner and coverage decide: a set is found if a passage of it scores higher than
those of all but 1 % of the clean sets. So the figures say what this evidence is worth on texts of
another kind, without the other signals and before the gate shares its 1 % out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.command import Command, Measured
from benchmarks.datasets import Dataset
from benchmarks.embedders import built_in
from benchmarks.fit_manner import Folds, groups, rounded
from benchmarks.fitting.offsets import ALPHA
from benchmarks.reading import load_with_reading
from benchmarks.report.table import Table, crossed, share
from benchmarks.retrieval import RetrievedSet, planted, retrieve
from ragguard.inline.features.coverage import LEAST_COVERAGE, idf_coverage, idf_weights
from ragguard.inline.features.manner import COVERAGE, MannerModel
from ragguard.inline.tokens import tokenize_passages, tokenize_query

Floats = NDArray[np.float64]
Coverage = tuple[RetrievedSet, Floats]

_K = 5
_KINDS = ("poisonedrag", "gpt4", "gemini", "blind")
_COUNTS = (1, 5)
_ERRORS = Console(stderr=True)


def covered(found: RetrievedSet) -> Coverage:
    """Return a set and how much of the question each passage holds: float64 of shape (k,)."""
    query = tokenize_query(found.question)
    read = tokenize_passages(found.texts)
    weights = idf_weights(query, read)
    return found, np.array([idf_coverage(one.distinct, weights) for one in read])


def highest(model: MannerModel, sets: Sequence[Coverage], memo: dict[str, float]) -> Floats:
    """Return the highest score of each set: float64 of shape (s,)."""
    out = np.full(len(sets), -np.inf)
    for row, (found, coverage) in enumerate(sets):
        for text, held in zip(found.texts, coverage.tolist(), strict=True):
            if held >= LEAST_COVERAGE:
                if text not in memo:
                    memo[text] = model.manner(text)
                out[row] = max(out[row], memo[text] + COVERAGE * held)
    return out


def counted(
    fitted: str, model: MannerModel, clean: Sequence[Coverage], attacks: Mapping[Any, Any]
) -> Iterator[dict[str, Any]]:
    """Yield a row for every attack: how many sets the model finds at `ALPHA` of the clean ones."""
    memo: dict[str, float] = {}
    line = float(np.quantile(highest(model, clean, memo), 1.0 - ALPHA, method="higher"))
    for (name, kind, count), sets in attacks.items():
        found = int((highest(model, sets, memo) > line).sum())
        row = {"dataset": name, "kind": kind, "planted": count, "sets": len(sets), "found": found}
        yield {"fitted": fitted, **row}


def measured(
    datasets: Sequence[Dataset], fit: Callable[[str, str], MannerModel]
) -> Iterator[dict[str, Any]]:
    """Yield the rows: by the whole fit, without each generator, and without each dataset.

    Args:
        datasets: The data.
        fit: From the dataset and the kind to leave out, each "" for none, to a model.
    """
    embedder = built_in()
    clean = [covered(retrieve(record, embedder, _K)) for data in datasets for record in data.report]
    attacks: dict[tuple[str, str, int], list[Coverage]] = {}
    for data in datasets:
        for record in data.report:
            for kind in _KINDS:
                for count in _COUNTS:
                    if texts := planted(record, kind, "plain", count):
                        found = retrieve(record, embedder, _K, texts)
                        if found.poisoned.any():
                            attacks.setdefault((data.name, kind, count), []).append(covered(found))
    yield from counted("on all", fit("", ""), clean, attacks)
    for kind in _KINDS:
        own = {key: sets for key, sets in attacks.items() if key[1] == kind}
        yield from counted("without the generator", fit("", kind), clean, own)
    for name in dict.fromkeys(key[0] for key in attacks):
        own = {key: sets for key, sets in attacks.items() if key[0] == name}
        yield from counted("without the dataset", fit(name, ""), clean, own)


def tables(sections: Mapping[str, Any]) -> list[Table]:
    """Return the table of a result."""
    return [
        crossed(
            "Plain texts found by manner and coverage alone",
            sections["unseen_manner"],
            {"dataset": "dataset", "texts": "kind", "planted": "planted"},
            lambda row: f"fitted {row['fitted']}",
            lambda rows: share(rows[0]["found"], rows[0]["sets"]),
        )
    ]


def measure(arguments: argparse.Namespace, errors: Console) -> Measured:
    """Return the rows of `measured`, in the section "unseen_manner"."""
    datasets = load_with_reading(arguments.data)
    found = Folds(groups(arguments.data, datasets))

    def fit(dataset: str, kind: str) -> MannerModel:
        errors.print(f"fit without {dataset or kind or 'nothing'}")
        return rounded(found.without(dataset=dataset, kind=kind))[0]

    limited = [data.limited(arguments.limit) for data in datasets]
    return {"unseen_manner": list(measured(limited, fit))}, datasets


main = Command("unseen_manner", __doc__, measure, tables)

if __name__ == "__main__":
    sys.exit(main())
