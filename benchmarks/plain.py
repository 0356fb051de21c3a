"""Poison without a trace of the question: `python -m benchmarks.plain --data DIR --json FILE`.

The guard's suspicion is read from words, and a plain poison text shares with the question only what
a good answer shares with it. RAGDefender sorts passages by their vectors. Here every score is
gated in the same way: its threshold is the conformal one of the choosing half's clean sets, all
datasets together, and what it catches is counted on the report half. Two logistic regressions of
all scores, fitted on the choosing halves of the other datasets, say how much there may be to gain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from sklearn.linear_model import LogisticRegression

from benchmarks.attack import COUNTS
from benchmarks.clean import SIZES
from benchmarks.command import embedders_for, new_parser, save
from benchmarks.datasets import Dataset, Record, load_folder
from benchmarks.plain_counts import (
    Limits,
    Scale,
    SetScores,
    auc,
    counts,
    passages_of,
    wholes_of,
)
from benchmarks.plain_tables import best_tables, mean_table
from benchmarks.retrieval import OVER_FETCH, RetrievedSet, planted, retrieve
from benchmarks.set_scores import PASSAGE_SCORES, SET_SCORES, SetVectors
from benchmarks.tables import as_rich
from ragguard.embedding import Embedder
from ragguard.inline.pipeline import ConformalFilter
from ragguard.passage import Passage

__all__ = ["judged", "main", "run"]

Floats = NDArray[np.float64]
Setting = tuple[int, int]
"""k, and how many times k is retrieved."""
Stratum = tuple[str, str, str, int]
"""Dataset, kind of poison, question form and number of planted texts."""

_SETTINGS: tuple[Setting, ...] = tuple((k, factor) for k in SIZES for factor in (1, OVER_FETCH))


@dataclass
class _Collected:
    """The scores of one embedder and setting: clean ones by dataset, attacked ones by stratum."""

    choosing: dict[str, list[SetScores]] = field(default_factory=dict)
    report: dict[str, list[SetScores]] = field(default_factory=dict)
    attacked_choosing: dict[Stratum, list[SetScores]] = field(default_factory=dict)
    attacked: dict[Stratum, list[SetScores]] = field(default_factory=dict)


def judged(retrieved: RetrievedSet, setting: Setting, embedder: Embedder) -> SetScores:
    """Return all scores of the first k passages; those below are the reference."""
    k, factor = setting
    given = retrieved.first(k * factor)
    k = min(k, len(given.texts))
    passages = [Passage(text) for text in given.texts]
    ours = ConformalFilter(embedder).score(given.question, passages, k)
    vectors = SetVectors.of(given, k, embedder)
    each = np.array([ours.suspicion, *(score(vectors) for score in PASSAGE_SCORES.values())])
    sets = [score(vectors) for score in SET_SCORES.values()]
    whole = np.array([ours.score, *each[1:].max(axis=1), *sets])
    return SetScores(whole, each, given.poisoned[:k])


def run(
    datasets: Sequence[Dataset],
    embedders: Sequence[Embedder],
    forms: Sequence[str],
    advance: Callable[[], object],
) -> dict[str, list[dict[str, Any]]]:
    """Return the sections "clean" and "attack"; `advance` is called once a record and embedder."""
    clean: list[dict[str, Any]] = []
    attack: list[dict[str, Any]] = []
    for embedder in embedders:
        found = {setting: _Collected() for setting in _SETTINGS}
        for dataset in datasets:
            for half in ("choosing", "report"):
                for record in getattr(dataset, half):
                    _collect(found, half, dataset, record, embedder, forms)
                    advance()
        for (k, factor), collected in found.items():
            place = {"embedder": embedder.name, "k": k, "over_fetch": factor}
            _fit(collected)
            limits = Limits.of(collected.choosing)
            clean += [{**place, **row} for row in _clean_rows(collected, limits)]
            attack += [{**place, **row} for row in _attack_rows(collected, limits)]
    return {"clean": clean, "attack": attack}


def _collect(
    found: Mapping[Setting, _Collected],
    half: str,
    dataset: Dataset,
    record: Record,
    embedder: Embedder,
    forms: Sequence[str],
) -> None:
    limit = OVER_FETCH * max(SIZES)
    ranked = retrieve(record, embedder, limit)
    for setting, collected in found.items():
        sets = getattr(collected, half).setdefault(dataset.name, [])
        sets.append(judged(ranked, setting, embedder))
    for kind in record.poison:
        for form in forms:
            for count in COUNTS:
                ranked = retrieve(record, embedder, limit, planted(record, kind, form, count))
                for setting, collected in found.items():
                    if ranked.poisoned[: setting[0]].any():
                        strata = (
                            collected.attacked if half == "report" else collected.attacked_choosing
                        )
                        sets = strata.setdefault((dataset.name, kind, form, count), [])
                        sets.append(judged(ranked, setting, embedder))


def _fit(collected: _Collected) -> None:
    """Append the fitted scores to those of every set, in place.

    The regressions see every score in units of the dataset's own clean sets, and are fitted on the
    other datasets, so that they learn what an attack changes and not which dataset is attacked.
    """
    scales = {name: Scale.of(sets) for name, sets in collected.choosing.items()}
    clean = {name: scales[name](wholes_of(sets)) for name, sets in collected.choosing.items()}
    attacked = [
        (key[0], scales[key[0]](wholes_of(sets)))
        for key, sets in collected.attacked_choosing.items()
    ]
    models = {name: _models(clean, attacked, name) for name in scales}
    for name, sets in _parts(collected):
        scaled = scales[name](wholes_of(sets))
        fitted = np.stack(
            [model.decision_function(scaled[:, first:]) for first, model in models[name]], axis=1
        )
        for position, found in enumerate(sets):
            sets[position] = replace(found, whole=np.concatenate([found.whole, fitted[position]]))


def _models(
    clean: Mapping[str, Floats], attacked: Sequence[tuple[str, Floats]], left_out: str
) -> list[tuple[int, Any]]:
    """Fit without and with the suspicion, which is the first column.

    On the datasets other than `left_out`, or on itself if no other one is attacked.
    """
    others = {name for name, _ in attacked} - {left_out} or set(clean)
    quiet = [values for name, values in clean.items() if name != left_out or name in others]
    loud = [values for name, values in attacked if name in others]
    values = np.concatenate(quiet + loud)
    labels = np.arange(len(values)) >= sum(map(len, quiet))
    return [
        (first, LogisticRegression(class_weight="balanced", max_iter=2000).fit(v, labels))
        for first, v in ((1, values[:, 1:]), (0, values))
    ]


def _parts(collected: _Collected) -> Iterator[tuple[str, list[SetScores]]]:
    """Yield the sets that are counted or set thresholds, each list with its dataset."""
    yield from collected.choosing.items()
    yield from collected.report.items()
    yield from ((key[0], sets) for key, sets in collected.attacked.items())


def _clean_rows(collected: _Collected, limits: Limits) -> list[dict[str, Any]]:
    return [
        {"dataset": dataset, **row}
        for dataset, sets in collected.report.items()
        for row in counts(dataset, sets, limits, poisoned=False)
    ]


def _attack_rows(collected: _Collected, limits: Limits) -> list[dict[str, Any]]:
    rows = []
    for (dataset, kind, form, count), sets in collected.attacked.items():
        stratum = {"dataset": dataset, "kind": kind, "form": form, "planted": count}
        clean = collected.report[dataset]
        clean_wholes, clean_passages = wholes_of(clean), passages_of(clean, poisoned=False)
        wholes, passages = wholes_of(sets), passages_of(sets, poisoned=True)
        for column, row in enumerate(counts(dataset, sets, limits, poisoned=True)):
            areas: dict[str, Any] = {
                "auc": round(auc(wholes[:, column], clean_wholes[:, column]), 4),
                "passage_auc": round(auc(passages[:, column], clean_passages[:, column]), 4)
                if row["passages"]
                else None,
            }
            rows.append({**stratum, **row, **areas})
    return rows


def _texts(datasets: Sequence[Dataset], forms: Sequence[str]) -> Iterator[str]:
    for record in [record for dataset in datasets for record in dataset.records]:
        yield from (record.question, *record.hits)
        for kind in record.poison:
            for form in forms:
                yield from planted(record, kind, form, max(COUNTS))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, show and write."""
    arguments = new_parser("plain", __doc__, forms=("plain",)).parse_args(argv)
    datasets = [dataset.limited(arguments.limit) for dataset in load_folder(arguments.data)]
    with Progress(console=Console(stderr=True)) as progress:
        embedders = embedders_for(_texts(datasets, arguments.forms), progress)
        records = sum(len(dataset.records) for dataset in datasets) * len(embedders)
        bar = progress.add_task("scores", total=records)
        sections = run(datasets, embedders, arguments.forms, lambda: progress.advance(bar))
    out = Console()
    for form in arguments.forms:
        rows = [row for row in sections["attack"] if row["form"] == form]
        for table in (mean_table(form, rows, sections["clean"]), *best_tables(form, rows)):
            out.print(as_rich(table))
    save(arguments, "plain", {"forms": ",".join(arguments.forms)}, datasets, sections)


if __name__ == "__main__":
    main()
