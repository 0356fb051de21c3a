"""The samples: the signals of retrieved sets, clean and attacked, with what is poison in them.

The plans say for each detector the signals that it may look at, and the attacks it is fitted on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import Dataset, Record
from benchmarks.datasets.reading import WRITTEN
from benchmarks.fit_manner import FOLDS, under
from benchmarks.forms import FITTED_FORMS
from benchmarks.retrieval import OVER_FETCH, RetrievedSet, planted, retrieve
from ragguard.embedding import Embedder
from ragguard.inline.features import SIGNALS, signal_matrix
from ragguard.inline.features.manner import MannerModel, shipped
from ragguard.inline.tokens import tokenize_passage, tokenize_query

Floats = NDArray[np.float64]

COUNTS = (1, 5)
"""How many texts are planted."""

KINDS = ("poisonedrag", "blind")
"""Kinds of attack that are planted in every form; the others in two."""

_SIMPLE = ("prepend", "plain")
_SIZES = (5, 10)
_ONE_OF_THREE = "simpleqa"  # the largest set, thinned so that it does not decide alone
_CLEAN_WEIGHT = 3.0  # clean sets together, relative to the poison


@dataclass(frozen=True)
class Plan:
    """The signals that a detector may look at, and the attacks and counts that it is fitted on."""

    signals: tuple[str, ...]
    forms: tuple[str, ...]
    counts: tuple[int, ...] = (1, 5)


PLANS: Mapping[str, Plan] = {
    "verbatim": Plan(("verbatim_question", "verbatim_at_boundary"), ("prepend",)),
    "boundary_overlap": Plan(("boundary_overlap",), ("statement", "halves")),
    "window_density": Plan(("window_density",), ("shuffled", "middle", "dropped")),
    "inserted_words": Plan(("inserted_words",), ("spread",)),
    "keywords": Plan(("keyword_bigrams", "keywords_at_boundary"), ("keywords", "stuffed")),
    "manner": Plan(("manner",), ("plain",)),
}
"""The detectors that are fitted, each for one way of carrying the question."""


@dataclass(frozen=True)
class Sample:
    """One retrieved set.

    `form` is the question form of the poison, or "clean"; `WRITTEN` of clean pages that language
    models wrote, which no line is drawn by.
    """

    signals: Floats  # shape (k, s): one column a signal
    poisoned: NDArray[np.bool_]  # shape (k,): which of its passages are poison
    form: str
    count: int  # how many texts were planted; 0 if none
    setting: tuple[int, bool]  # how many passages were judged, and whether those below were given
    fold: int  # the part of the choosing half that its question belongs to


def signals_of(retrieved: RetrievedSet, k: int, *, with_reference: bool) -> Floats:
    """Return the signals of the first k passages, with or without the rest as reference."""
    texts = retrieved.texts if with_reference else retrieved.texts[:k]
    words = [tokenize_passage(text) for text in texts]
    query = tokenize_query(retrieved.question)
    return signal_matrix(query, words, min(k, len(words)))


def samples(
    datasets: Sequence[Dataset], embedders: Sequence[Embedder], manners: Sequence[MannerModel] = ()
) -> Iterator[Sample]:
    """Yield the choosing half, clean and under every attack; all forms with the first embedder.

    `manners` are the models of manner that were fitted without each fold; by default the shipped
    one reads all.
    """
    models = manners or [shipped()] * FOLDS
    for number, embedder in enumerate(embedders):
        forms = FITTED_FORMS if number == 0 else ("prepend",)
        for dataset in datasets:
            clean = WRITTEN if dataset.name == WRITTEN else "clean"
            for position, record in enumerate(dataset.choosing):
                attacks = () if thinned(dataset, position) else forms
                with under(models[position % FOLDS]):
                    found = list(drawn(record, embedder, attacks, position % FOLDS, clean))
                yield from found


def thinned(dataset: Dataset, position: int) -> bool:
    """Return True if no attack is tried on this question of a half."""
    return dataset.name == _ONE_OF_THREE and position % 3 > 0


def drawn(
    record: Record, embedder: Embedder, forms: Sequence[str], fold: int, clean: str = "clean"
) -> Iterator[Sample]:
    """Yield the sets of one question: clean, and under every attack in these forms."""
    yield from sets_of(record, embedder, clean, 0, (), fold)
    for kind in record.poison:
        for form in forms if kind in KINDS else [form for form in forms if form in _SIMPLE]:
            for count in COUNTS:
                if texts := planted(record, kind, form, count):
                    yield from sets_of(record, embedder, form, count, texts, fold)


def sets_of(
    record: Record, embedder: Embedder, form: str, count: int, poison: Sequence[str], fold: int
) -> Iterator[Sample]:
    """Yield a question's sets in every setting; attacked ones only if poison is in them."""
    ranked = retrieve(record, embedder, OVER_FETCH * max(_SIZES), poison)
    for k in _SIZES:
        given = ranked.first(OVER_FETCH * k)
        poisoned = given.poisoned[:k]
        if poison and not poisoned.any():
            continue
        for with_reference in (False, True):
            signals = signals_of(given, k, with_reference=with_reference)
            yield Sample(signals, poisoned, form, count, (k, with_reference), fold)


class Samples:
    """Many samples as arrays: `signals` (n, len(names)) and `poisoned` (n,) of n passages.

    Of s sets, shape (s,): `sizes`, their passages; `clean`, nothing was planted; and `folds`.
    """

    def __init__(self, found: Sequence[Sample], names: tuple[str, ...] = SIGNALS) -> None:
        self.found, self.names = found, names
        self.signals = np.concatenate([sample.signals for sample in found])
        self.poisoned = np.concatenate([sample.poisoned for sample in found])
        self.sizes = np.array([len(sample.poisoned) for sample in found])
        self.clean = np.array([sample.count == 0 for sample in found])
        self.folds = np.array([sample.fold for sample in found])

    def where(self, chosen: Sequence[bool] | NDArray[np.bool_]) -> Samples:
        """Return some of the samples; `chosen` has one entry a set."""
        return Samples(list(compress(self.found, chosen)), self.names)

    def highest(self, scores: Floats) -> Floats:
        """Return the highest of the passages' scores for every set: float64 of shape (s,)."""
        starts = np.cumsum(self.sizes) - self.sizes
        return np.asarray(np.maximum.reduceat(scores, starts), dtype=np.float64)

    def weights(self, plan: Plan) -> Floats:
        """Return the weight of every passage for a plan: float64 of shape (n,), sum 1.

        The poison of a set shares one weight, and so does what is benign in it; clean sets
        together weigh `_CLEAN_WEIGHT` times as much as the poison.
        """
        share = [one.form in plan.forms and one.count in plan.counts for one in self.found]
        set_weight = np.repeat(np.array(share, dtype=np.float64), self.sizes)
        clean = np.repeat(self.clean, self.sizes)
        poison = np.add.reduceat(self.poisoned.astype(int), np.cumsum(self.sizes) - self.sizes)
        poison_count = np.repeat(np.maximum(poison, 1), self.sizes)
        benign_count = np.repeat(np.maximum(self.sizes - poison, 1), self.sizes)
        weight = set_weight / np.where(self.poisoned, poison_count, benign_count)
        total = weight[self.poisoned].sum()
        weight[clean] = 1.0 / benign_count[clean]
        if total:
            weight[clean] *= _CLEAN_WEIGHT * total / weight[clean].sum()
        return np.asarray(weight / weight.sum(), dtype=np.float64)
