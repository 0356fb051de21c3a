"""Manner that was not fitted on: `python -m benchmarks.unseen_manner --data DIR`.

The model of `ragguard.inline.features.manner` is fitted again without a generator's texts, or
without a dataset's pages and planted texts, and asked to find just these, on questions of the
report half. Only the signal `manner` decides: a set is found if a passage of it has more than those
of all but 1 % of the clean sets. So the figures say what this evidence is worth on texts of
another kind, without the other signals and before the gate shares its 1 % out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.command import ERRORS, Data, Limit, Measured, command
from benchmarks.datasets import Dataset
from benchmarks.datasets.reading import load_with_reading
from benchmarks.embedders import built_in
from benchmarks.fit_manner import Folds, groups, rounded, under
from benchmarks.fitting.offsets import ALPHA
from benchmarks.report.table import Table, crossed, share
from benchmarks.retrieval import RetrievedSet, planted, retrieve
from ragguard.inline.features import SIGNALS, signal_matrix
from ragguard.inline.features.manner import MannerModel
from ragguard.inline.tokens import (
    TokenizedPassage,
    TokenizedQuery,
    tokenize_passages,
    tokenize_query,
)

Floats = NDArray[np.float64]
ReadSet = tuple[TokenizedQuery, Sequence[TokenizedPassage]]

_K = 5
_MANNER = SIGNALS.index("manner")
_KINDS = ("poisonedrag", "gpt4", "gemini", "blind")
_COUNTS = (1, 5)


def _read(found: RetrievedSet) -> ReadSet:
    return tokenize_query(found.question), tokenize_passages(found.texts)


def highest(model: MannerModel, sets: Sequence[ReadSet]) -> Floats:
    """Return the highest `manner` of each set by a model: float64 of shape (s,)."""
    with under(model):
        return np.array(
            [signal_matrix(*one, len(one[1]))[:, _MANNER].max(initial=0.0) for one in sets]
        )


def counted(
    fitted: str, model: MannerModel, clean: Sequence[ReadSet], attacks: Mapping[Any, Any]
) -> Iterator[dict[str, Any]]:
    """Yield a row for every attack: how many sets the model finds at `ALPHA` of the clean ones."""
    line = float(np.quantile(highest(model, clean), 1.0 - ALPHA, method="higher"))
    for (name, kind, count), sets in attacks.items():
        found = int((highest(model, sets) > line).sum())
        row = {"dataset": name, "kind": kind, "planted": count, "sets": len(sets), "found": found}
        yield {"fitted": fitted, **row}


def measured(
    datasets: Sequence[Dataset], fit: Callable[[str, str], MannerModel]
) -> Iterator[dict[str, Any]]:
    """Yield the rows: by the whole fit, without each generator, and without each dataset.

    `fit` makes a model without a dataset and a kind, each "" for none.
    """
    embedder = built_in()
    clean = [_read(retrieve(record, embedder, _K)) for data in datasets for record in data.report]
    attacks: dict[tuple[str, str, int], list[ReadSet]] = {}
    for data in datasets:
        for record, kind, count in product(data.report, _KINDS, _COUNTS):
            texts = planted(record, kind, "plain", count)
            found = retrieve(record, embedder, _K, texts)
            if found.poisoned.any():
                attacks.setdefault((data.name, kind, count), []).append(_read(found))
    yield from counted("on all", fit("", ""), clean, attacks)
    for kind in _KINDS:
        own = {key: sets for key, sets in attacks.items() if key[1] == kind}
        yield from counted("without the generator", fit("", kind), clean, own)
    for name in dict.fromkeys(key[0] for key in attacks):
        own = {key: sets for key, sets in attacks.items() if key[0] == name}
        yield from counted("without the dataset", fit(name, ""), clean, own)


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    yield crossed(
        "Plain texts found by manner alone",
        sections["unseen_manner"],
        {"dataset": "dataset", "texts": "kind", "planted": "planted"},
        lambda row: f"fitted {row['fitted']}",
        lambda rows: share(rows[0]["found"], rows[0]["sets"]),
    )


@command(tables)
def main(data: Data, limit: Limit = None) -> Measured:
    datasets = load_with_reading(data)
    found = Folds(groups(data, datasets))

    def fit(dataset: str, kind: str) -> MannerModel:
        ERRORS.print(f"fit without {dataset or kind or 'nothing'}")
        return rounded(found.without(dataset=dataset, kind=kind))[0]

    limited = [dataset.limited(limit) for dataset in datasets]
    return {"unseen_manner": list(measured(limited, fit))}, datasets
