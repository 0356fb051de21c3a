"""Manner that was not fitted on: `python -m benchmarks.unseen_manner --data DIR`.

The model of `ragguard.inline.features.manner` is fitted again without a generator's texts, or
without a dataset's pages and planted texts, and asked to find just these, on questions of the
report half. Only the signal `manner` decides: a set is found if a passage of it has more than those
of all but 1 % of the clean sets. So the figures say what this evidence is worth on texts of
another kind, without the other signals and before the gate shares its 1 % out.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from benchmarks.command import ERRORS, Data, Limit, Measured, command
from benchmarks.datasets import Dataset, load_with_reading
from benchmarks.embedders import built_in
from benchmarks.fit_manner import Folds, groups, under
from benchmarks.report.table import Row, Sections, Table, crossed, shares
from benchmarks.retrieval import RetrievedSet, planted, retrieve
from benchmarks.samples import ALPHA, COUNTS, Floats, signals_of
from ragguard.inline.features import SIGNALS
from ragguard.inline.features.manner import MannerModel

_K = 5
_MANNER = SIGNALS.index("manner")
_KINDS = ("poisonedrag", "gpt4", "gemini", "blind")


def highest(model: MannerModel, sets: Sequence[RetrievedSet]) -> Floats:
    """Return the highest `manner` of each set by a model: float64 of shape (s,)."""
    with under(model):
        signals = [signals_of(one, _K, with_reference=False) for one in sets]
    return np.array([of_set[:, _MANNER].max(initial=0.0) for of_set in signals])


def measured(datasets: Sequence[Dataset], texts: Folds) -> Iterator[Row]:
    """Yield the rows: by the whole fit, without each generator, and without each dataset."""
    embedder = built_in()
    clean = [retrieve(record, embedder, _K) for data in datasets for record in data.report]
    attacks: dict[tuple[str, str, int], list[RetrievedSet]] = {}
    for data in datasets:
        for record, kind, count in product(data.report, _KINDS, COUNTS):
            found = retrieve(record, embedder, _K, planted(record, kind, "plain", count))
            if found.poisoned.any():
                attacks.setdefault((data.name, kind, count), []).append(found)
    fits = [("on all", "", "")]
    fits += [("without the generator", "", kind) for kind in _KINDS]
    fits += [("without the dataset", name, "") for name in dict.fromkeys(key[0] for key in attacks)]
    for fitted, dataset, left_out in fits:
        ERRORS.print(f"fit without {dataset or left_out or 'nothing'}")
        model = texts.without(dataset=dataset, kind=left_out)
        line = float(np.quantile(highest(model, clean), 1.0 - ALPHA, method="higher"))
        for (name, kind, count), sets in attacks.items():
            if dataset in ("", name) and left_out in ("", kind):
                row = {"fitted": fitted, "dataset": name, "kind": kind, "planted": count}
                reach = int((highest(model, sets) > line).sum())
                yield {**row, "sets": len(sets), "found": reach}


def tables(sections: Sections) -> Iterator[Table]:
    yield crossed(
        "Plain texts found by manner alone",
        sections["unseen_manner"],
        {"dataset": "dataset", "texts": "kind", "planted": "planted"},
        lambda row: f"fitted {row['fitted']}",
        shares(("found", "sets")),
    )


@command(tables)
def main(data: Data, limit: Limit = None) -> Measured:
    datasets = load_with_reading(data)
    texts = Folds(groups(data, datasets))
    limited = [dataset.limited(limit) for dataset in datasets]
    return {"unseen_manner": list(measured(limited, texts))}, datasets
