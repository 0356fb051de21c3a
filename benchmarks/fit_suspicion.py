"""Fits the weights of `ragguard.inline.suspicion`: `python -m benchmarks.fit_suspicion --data DIR`.

Logistic regression of "this passage is poison" on the signals and their products, over the
choosing half of the data, clean and attacked. No weight is below zero: no signal may speak for a
passage. A penalty on the sum of the weights, and two rounds of leaving out what hardly weighs,
keep the terms few.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.optimize import minimize

from benchmarks.data import Dataset, Record, load_folder
from benchmarks.embedders import both_embedders
from benchmarks.forms import DEFAULT_FORMS, FORMS
from benchmarks.retrieval import OVER_FETCH, RetrievedSet, planted, retrieve
from ragguard.embedding import Embedder
from ragguard.inline.signals import SIGNALS, signal_matrix
from ragguard.inline.suspicion import BIAS, WEIGHTS
from ragguard.inline.words import passage_words, query_words

__all__ = [
    "FITTED",
    "FOLDS",
    "TERMS",
    "Sample",
    "Term",
    "fit",
    "main",
    "products",
    "samples",
    "signals_of",
]

Floats = NDArray[np.float64]
Term = tuple[str, ...]

BY_HAND = ("address",)
"""Signals that the data says nothing about: no passage in it addresses the model."""

FITTED = tuple(name for name in SIGNALS if name not in BY_HAND)
"""The columns of a sample."""

_YES_OR_NO = ("echo_whole", "echo_edge")  # the second implies the first: no product says more

TERMS: tuple[Term, ...] = tuple((name,) for name in FITTED) + tuple(
    pair for pair in combinations_with_replacement(FITTED, 2) if not set(pair) <= set(_YES_OR_NO)
)
"""What may get a weight: a signal, or the product of two."""

_SIZES = (5, 10)
_COUNTS = (1, 5)
_CLEAN_WEIGHT = 3.0  # clean passages together, relative to those of all attacked sets
_FORM_WEIGHTS = {"prepend": 2.0, "append": 1.4, "faq": 1.4, "disguise": 0.3}
_ALL_FORMS_KINDS = ("poisonedrag", "blind")
_ONE_OF_THREE = "simpleqa"  # the largest set, thinned so that it does not decide alone
_SELECTING_PENALTY = 3e-4
_FINAL_PENALTY = 1e-4
_RIDGE = 1e-5
_LEAST_WEIGHT = 0.15  # nats


@dataclass(frozen=True)
class Sample:
    """Signals (n, len(FITTED)) of one set's passages, which of them are poison, and a weight."""

    signals: Floats
    poisoned: NDArray[np.bool_]
    weight: float
    clean: bool


def signals_of(retrieved: RetrievedSet, k: int, *, with_reference: bool) -> Floats:
    """Return the signals of the first k passages, with or without the rest as reference."""
    texts = retrieved.texts if with_reference else retrieved.texts[:k]
    words = [passage_words(text) for text in texts]
    return signal_matrix(query_words(retrieved.question), words, min(k, len(words)))


FOLDS = 5
"""Into how many parts the choosing half is cut for calibrating weights on what they did not see."""


def samples(
    datasets: Sequence[Dataset], embedders: Sequence[Embedder]
) -> Iterator[tuple[int, Sample]]:
    """Yield the choosing half, clean and under every attack, each sample with its fold."""
    for number, embedder in enumerate(embedders):
        forms = tuple(FORMS) if number == 0 else DEFAULT_FORMS
        for dataset in datasets:
            for position, record in enumerate(dataset.choosing):
                fold = position % FOLDS
                for sample in _samples(record, embedder, (), 1.0):
                    yield fold, sample
                if dataset.name != _ONE_OF_THREE or position % 3 == 0:
                    for sample in _attacked(record, embedder, forms):
                        yield fold, sample


def _attacked(record: Record, embedder: Embedder, forms: Sequence[str]) -> Iterator[Sample]:
    for kind in record.poison:
        for form in forms if kind in _ALL_FORMS_KINDS else DEFAULT_FORMS:
            for count in _COUNTS:
                texts = planted(record, kind, form, count)
                if texts:
                    yield from _samples(record, embedder, texts, _FORM_WEIGHTS.get(form, 1.0))


def _samples(
    record: Record, embedder: Embedder, poison: Sequence[str], weight: float
) -> Iterator[Sample]:
    ranked = retrieve(record, embedder, OVER_FETCH * max(_SIZES), poison)
    columns = [SIGNALS.index(name) for name in FITTED]
    for k in _SIZES:
        given = ranked.first(OVER_FETCH * k)
        for with_reference in (False, True):
            signals = signals_of(given, k, with_reference=with_reference)[:, columns]
            yield Sample(signals, given.poisoned[:k], weight, not poison)


def products(signals: Floats, terms: Sequence[Term]) -> Floats:
    """Return float64 of shape (n, len(terms)): what the terms are for n passages."""
    out = np.empty((len(signals), len(terms)), dtype=np.float64)
    for column, term in enumerate(terms):
        out[:, column] = np.prod([signals[:, FITTED.index(name)] for name in term], axis=0)
    return out


def fit(found: Sequence[Sample]) -> tuple[float, dict[Term, float]]:
    """Return the bias and the weights of the terms that are left, in nats of log-odds."""
    terms = list(TERMS)
    values = products(np.concatenate([sample.signals for sample in found]), terms)
    poisoned = np.concatenate([sample.poisoned for sample in found]).astype(np.float64)
    weight = np.concatenate([np.full(len(s.signals), s.weight) for s in found])
    clean = np.concatenate([np.full(len(s.signals), s.clean) for s in found])
    weight[clean] *= _CLEAN_WEIGHT * weight[~clean].sum() / clean.sum()
    weight /= weight.sum()
    bias = 0.0
    weights: Floats = np.zeros(len(terms))
    for penalty, is_final in (
        (_SELECTING_PENALTY, False),
        (_FINAL_PENALTY, False),
        (_FINAL_PENALTY, True),
    ):
        bias, weights = _regress(values, poisoned, weight, penalty)
        if not is_final:
            kept = np.flatnonzero(weights > _LEAST_WEIGHT)
            values, terms = values[:, kept], [terms[i] for i in kept]
    return bias, dict(zip(terms, weights.tolist(), strict=True))


def _regress(
    values: Floats, poisoned: Floats, weight: Floats, penalty: float
) -> tuple[float, Floats]:
    def loss(parameters: Floats) -> tuple[float, Floats]:
        slope = parameters[1:]
        log_odds = values @ slope + parameters[0]
        total = weight @ (np.logaddexp(0.0, log_odds) - poisoned * log_odds)
        error = weight * (1.0 / (1.0 + np.exp(-log_odds)) - poisoned)
        steepness = error @ values + penalty + 2 * _RIDGE * slope
        return (
            float(total + penalty * slope.sum() + _RIDGE * slope @ slope),
            np.concatenate([[error.sum()], steepness]),
        )

    size = values.shape[1]
    solved = minimize(
        loss,
        np.zeros(size + 1),
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None)] + [(0.0, None)] * size,
        options={"maxiter": 5000, "ftol": 1e-12, "gtol": 1e-8},
    ).x
    return float(solved[0]), solved[1:]


def compared(bias: float, weights: Mapping[Term, float]) -> Table:
    """Return fitted and shipped weights side by side."""
    table = Table("term", "fitted", "shipped", title="Weights in nats of log-odds")
    table.add_row("bias", f"{bias:.2f}", f"{BIAS:.2f}")
    for term in sorted({*weights, *WEIGHTS}, key=lambda term: -weights.get(term, 0.0)):
        fitted = "by hand" if set(term) <= set(BY_HAND) else f"{weights.get(term, 0.0):.2f}"
        table.add_row(" x ".join(term), fitted, f"{WEIGHTS.get(term, 0.0):.2f}")
    return table


def main() -> None:
    """Fit and print the weights next to the shipped ones."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit_suspicion", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of datasets")
    arguments = parser.parse_args()
    found = samples(load_folder(arguments.data), both_embedders())
    errors = Console(stderr=True)
    everything = [sample for _, sample in track(found, description="signals", console=errors)]
    Console().print(compared(*fit(everything)))


if __name__ == "__main__":
    main()
