"""RAGDefender's own protocol: `python -m benchmarks.protocol --data DIR --json FILE`.

Kim, Lee and Koo (2025), Section 5: every question comes with 5 benign passages (2 for multi-hop
questions), the golden one first, and with 1, 2, 4 or 6 times as many poisoned ones, all of which
are retrieved. So poison is nearly always the majority, which is what RAGDefender was made for. Of
the sets with texts of all writers it is noted, with the built-in embedder, whether the published
package follows the paper there (`benchmarks.peers`).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks import command, peers
from benchmarks.datasets import Dataset, Record, load_folder
from benchmarks.defences.contenders import MULTI_HOP, Defence, all_defences
from benchmarks.forms import FORMS
from benchmarks.metrics.outcomes import Counts, counted
from benchmarks.report.table import Row, Rows, Table, as_is, grouped, pooled
from benchmarks.retrieval import RetrievedSet
from ragguard.embedding import Embedder
from ragguard.errors import InvalidInputError

_OURS = ("ragguard", "ragguard 3x")
_DEFENCES = (*_OURS, "paper", "package")
_PLACE = ("dataset", "kind", "form", "ratio", "embedder")
_MEASURES = ("detected", "benign lost")
_EPSILON = 1e-9

RATIOS = (1, 2, 4, 6)  # poisoned passages for every benign one
BENIGN = {"nq": 5, "msmarco": 5, "hotpotqa": 2}  # passages a question, of the paper's datasets

_COUNTS = (
    *("questions", "fired", "poison", "poison_removed", "benign", "benign_removed"),
    *("golden", "golden_removed", "reference"),
)
_WRITERS = ("poisonedrag", "gpt4", "gemini")
TOGETHER = "together"  # all three in that order: no single one has enough for every ratio


def texts_of(record: Record, kind: str, form: str) -> list[str]:
    """Return all poison texts of a kind in a question form, each once."""
    kinds = _WRITERS if kind == TOGETHER else (kind,)
    texts = [text for one in kinds for text in record.poison.get(one, ())]
    return list(dict.fromkeys(FORMS[form](record.question, text) for text in texts))


def poisoned_set(
    record: Record, embedder: Embedder, benign: int, poison: Sequence[str]
) -> tuple[RetrievedSet, int]:
    """Return the passages by similarity to the question, and how many the generator gets.

    First those, benign and poisoned; then the other hits, as what over-fetching would return.
    """
    query = embedder.embed([record.question])[0]
    hits = np.array(record.hits, dtype=object)
    likeness = embedder.embed(record.hits) @ query
    is_golden = np.array([text in record.golden for text in record.hits], dtype=bool)
    golden_first = np.lexsort((-likeness, ~is_golden))
    shown = [*hits[golden_first[:benign]], *poison]
    best = np.argsort(-(embedder.embed(shown) @ query), kind="stable")
    ranked = np.argsort(-likeness, kind="stable")
    below = ranked[~np.isin(ranked, golden_first[:benign])]
    texts = (*(shown[i] for i in best), *hits[below])
    poisoned = np.zeros(len(texts), dtype=bool)
    poisoned[: len(shown)] = best >= benign
    golden = np.array([text in record.golden for text in texts], dtype=bool) & ~poisoned
    rows = embedder.embed(texts)
    return RetrievedSet(record.question, texts, rows, poisoned, golden), len(shown)


def run(
    datasets: Sequence[Dataset],
    embedders: Sequence[Embedder],
    defences: Sequence[Defence],
    forms: Sequence[str],
) -> Rows:
    found = Counts(*_COUNTS)
    packaged = any(defence.name.startswith("package") for defence in defences)
    kinds = (*_WRITERS, TOGETHER)
    for embedder, dataset in product(embedders, datasets):
        benign = BENIGN[dataset.name]
        hops = dataset.name in MULTI_HOP
        for record in command.tracked(dataset.report, dataset.name):
            for kind, form, ratio in product(kinds, forms, RATIOS):
                texts = texts_of(record, kind, form)[: ratio * benign]
                if len(texts) < ratio * benign:
                    continue
                shown, k = poisoned_set(record, embedder, benign, texts)
                place = dict(
                    zip(_PLACE, (dataset.name, kind, form, ratio, embedder.name), strict=True)
                )
                looked_at = packaged and embedder is embedders[0] and kind == TOGETHER
                follows = peers.follows(shown.first(k), multi_hop=hops) if looked_at else None
                for defence in defences:
                    key = {**place, "follows": follows, "defence": defence.name}
                    found.add(key, {**counted(defence, shown, k), "questions": 1})
    places = ([dataset.name for dataset in datasets], kinds, forms, RATIOS)
    order = dict(zip(_PLACE, places, strict=False))
    return sorted(found.rows(), key=lambda row: [at.index(row[name]) for name, at in order.items()])


def compared(rows: Sequence[Row]) -> Rows:
    """Hold our defences, cell by cell, against the paper's method and its package.

    The paper's method is the preset for the dataset: clustering, or concentration for multi-hop
    questions. "no_worse" says that no more poison is left and no more benign passages are lost;
    "margin" is the smaller of the two advantages, below 0 where it is worse.
    """
    out = []
    for key, cell in grouped(rows, *_PLACE).items():
        by_name = {row["defence"]: row for row in pooled(cell, "defence")}
        names = dict(zip(_DEFENCES, (*_OURS, *peers.both(key[0])), strict=True))
        shares = {
            label: (row["poison_removed"] / row["poison"], row["benign_removed"] / row["benign"])
            for label, name in names.items()
            if (row := by_name.get(name))
        }
        found = dict(zip(_PLACE, key, strict=True))
        found["questions"] = by_name[names["paper"]]["questions"]
        for label in names:
            known = shares.get(label, (None, None))
            for what, value in zip(_MEASURES, known, strict=True):
                found[f"{label}: {what}"] = None if value is None else round(value, 4)
        detected, lost = shares["paper"]
        for name in _OURS:
            margin = min(shares[name][0] - detected, lost - shares[name][1])
            found[f"{name}: margin"] = round(margin, 4)
            found[f"{name}: no_worse"] = margin >= -_EPSILON
        out.append(found)
    return out


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield for every form means by ratio and by kind, and the worst cell; then of our preset."""
    for (form,), rows in grouped(sections["cells"], "form").items():
        title = f"RAGDefender's protocol, form {form}"
        for name, field in (("poisoned : benign", "ratio"), ("texts", "kind")):
            parts = {str(key[0]): part for key, part in grouped(rows, field).items()}
            yield _means(f"{title}, by {field}", name, parts)
        worst = min(rows, key=lambda row: float(row["ragguard: margin"]))
        place = ", ".join(str(worst[name]) for name in _PLACE if name != "form")
        yield _means(f"{title}, worst cell", "cell", {place: [worst]})
    yield from peers.tables(sections)


def _means(title: str, name: str, parts: Mapping[str, Sequence[Row]]) -> Table:
    lines = []
    for label, rows in parts.items():
        good = sum(row["ragguard: no_worse"] for row in rows)
        means = dict.fromkeys(_DEFENCES, "-")
        for one in _DEFENCES:
            # The package was not run in every cell.
            if known := [row for row in rows if row[f"{one}: detected"] is not None]:
                shares = (fmean(row[f"{one}: {what}"] for row in known) for what in _MEASURES)
                means[one] = " / ".join(f"{100 * mean:.1f} %" for mean in shares)
        lines.append({name: label, **means, "cells no worse": f"{good} of {len(rows)}"})
    return as_is(f"{title}: poison removed / benign removed", lines)


@command.command(tables)
def main(
    data: command.Data,
    limit: command.Limit = None,
    forms: command.Forms = "prepend",
    embedders: command.Embedders = "all",
) -> command.Measured:
    asked, by_name = command.chosen("--forms", forms, FORMS), command.embedders_for(embedders)
    found = [dataset for dataset in load_folder(data) if dataset.name in BENIGN]
    if not found:
        raise InvalidInputError(f"{data} holds none of {', '.join(BENIGN)}")
    datasets = [dataset.limited(limit) for dataset in found]
    with ExitStack() as stack:
        defences = [one for one in all_defences(stack) if one.name != "none"]
        rows = run(datasets, by_name, defences, asked)
    return {"defences": rows, "cells": compared(rows)}, datasets
