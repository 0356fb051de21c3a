"""RAGDefender's own protocol: `python -m benchmarks.protocol --data DIR --json FILE`.

Kim, Lee and Koo (2025), Section 5: every question comes with 5 benign passages (2 for multi-hop
questions), and with 1, 2, 4 or 6 times as many poisoned ones, all of which are retrieved. The other
sections measure what a retriever returns; here poison is nearly always the majority, which is what
RAGDefender was made for. The benign passages are the golden one, where it was retrieved, and the
best clean hits.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from benchmarks.command import Measured, add_forms, embedders_for, new_parser, run_command
from benchmarks.datasets import Dataset, Record, load_folder
from benchmarks.defences.contenders import Defence, all_defences
from benchmarks.forms import FORMS
from benchmarks.metrics.outcomes import add, counted
from benchmarks.protocol_tables import compared, tables
from benchmarks.retrieval import RetrievedSet
from ragguard.embedding import Embedder
from ragguard.errors import InvalidInputError

Row = dict[str, Any]

RATIOS = (1, 2, 4, 6)
"""Poisoned passages for every benign one."""

BENIGN = {"nq": 5, "msmarco": 5, "hotpotqa": 2}
"""Benign passages a question, for the datasets of the paper."""

_WRITERS = ("poisonedrag", "gpt4", "gemini")
TOGETHER = "together"
"""The texts of all three writers, in that order: no single one has enough for every ratio."""


@dataclass
class Cell:
    """Counts over the questions that have enough poison texts.

    Attributes:
        questions: Sets judged.
        fired: Sets from which anything was dropped.
        poison: Poisoned passages, and how many were dropped.
        benign: Benign passages, and how many were dropped.
        golden: Sets that hold the golden passage, and how many lost it.
        reference: Passages from below that over-fetching defences were given.
    """

    dataset: str
    kind: str
    form: str
    ratio: int
    embedder: str
    defence: str
    questions: int = 0
    fired: int = 0
    poison: int = 0
    poison_removed: int = 0
    benign: int = 0
    benign_removed: int = 0
    golden: int = 0
    golden_removed: int = 0
    reference: int = 0


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
    advance: Callable[[], object],
) -> list[Row]:
    """Run every defence on every cell; `advance` is called once a record and embedder."""
    cells: dict[tuple[Any, ...], Cell] = {}
    for embedder in embedders:
        for dataset in datasets:
            for record in dataset.report:
                for kind, form, ratio, found, k in _sets(record, embedder, dataset, forms):
                    for defence in defences:
                        key = (dataset.name, kind, form, ratio, embedder.name, defence.name)
                        row = cells.setdefault(key, Cell(*key))
                        add(row, {**counted(defence, found, k), "questions": 1})
                advance()
    names, kinds = [dataset.name for dataset in datasets], (*_WRITERS, TOGETHER)
    order = sorted(
        cells,
        key=lambda key: (names.index(key[0]), kinds.index(key[1]), forms.index(key[2]), key[3]),
    )
    return [asdict(cells[key]) for key in order]


def _sets(
    record: Record, embedder: Embedder, dataset: Dataset, forms: Sequence[str]
) -> Iterator[tuple[str, str, int, RetrievedSet, int]]:
    benign = BENIGN[dataset.name]
    for kind in (*_WRITERS, TOGETHER):
        for form in forms:
            texts = texts_of(record, kind, form)
            for ratio in RATIOS:
                if len(texts) >= ratio * benign:
                    found = poisoned_set(record, embedder, benign, texts[: ratio * benign])
                    yield kind, form, ratio, *found


def _texts(datasets: Sequence[Dataset], forms: Sequence[str]) -> Iterator[str]:
    for record in [record for dataset in datasets for record in dataset.report]:
        yield from (record.question, *record.hits)
        for form in forms:
            yield from texts_of(record, TOGETHER, form)


def measure(arguments: argparse.Namespace, errors: Console) -> Measured:
    """Return the sections "defences" and "cells"."""
    found = [dataset for dataset in load_folder(arguments.data) if dataset.name in BENIGN]
    if not found:
        raise InvalidInputError(f"{arguments.data} holds none of {', '.join(BENIGN)}")
    datasets = [dataset.limited(arguments.limit) for dataset in found]
    with ExitStack() as stack, Progress(console=errors) as progress:
        embedders = embedders_for(_texts(datasets, arguments.forms), progress)
        records = sum(len(dataset.report) for dataset in datasets) * len(embedders)
        bar = progress.add_task("cells", total=records)
        defences = [one for one in all_defences(stack) if one.name != "none"]
        rows = run(datasets, embedders, defences, arguments.forms, lambda: progress.advance(bar))
    return {"defences": rows, "cells": compared(rows)}, datasets


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = new_parser("protocol", __doc__)
    add_forms(parser, ("prepend",))
    return run_command(parser, argv, measure, tables)


if __name__ == "__main__":
    sys.exit(main())
