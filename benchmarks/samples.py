"""Retrieved sets as signals: what detectors are fitted on, and scores at the shipped line."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, product

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import WRITTEN, Dataset, Record
from benchmarks.fit_manner import FOLDS, under
from benchmarks.forms import DEFAULT_FORMS, FITTED_FORMS
from benchmarks.report.table import Row
from benchmarks.retrieval import OVER_FETCH, RetrievedSet, planted, retrieve
from ragguard.embedding import Embedder
from ragguard.inline.calibration_file import default_calibration
from ragguard.inline.features import SIGNALS, signal_matrix
from ragguard.inline.features.manner import MannerModel
from ragguard.inline.normalize.frame import without_labels
from ragguard.inline.page_form import repeats_as_expected
from ragguard.inline.scoring import EXPECTED, repeating, suspicions
from ragguard.inline.tokens import TokenizedPassage, tokenize_passages, tokenize_query

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Setting = tuple[int, bool]  # passages that are judged, and whether those below are given as well

SETTINGS: tuple[Setting, ...] = ((5, False), (5, True), (10, False), (10, True))
ALPHA = 0.01  # share of the clean queries that may be touched
COUNTS = (1, 5)  # how many texts are planted
_EVERY_FORM = ("poisonedrag", "blind")  # kinds of attack; the others are planted in two forms
_ONE_OF_THREE = "simpleqa"  # the largest set, thinned so that it does not decide alone
_CLEAN_WEIGHT = 3.0  # clean sets together, relative to the poison


@dataclass(frozen=True)
class Plan:
    """The signals that a detector may look at, and the forms of attacks that it is fitted on."""

    signals: tuple[str, ...]
    forms: tuple[str, ...]


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
    """One retrieved set."""

    signals: Floats  # shape (k, s): one column a signal
    poisoned: Bools  # shape (k,): which of its passages are poison
    form: str  # of the poison; "clean", or `WRITTEN` of clean pages that no line is drawn by
    count: int  # how many texts were planted; 0 if none
    setting: Setting
    fold: int  # the part of the choosing half that its question belongs to


def signals_of(found: RetrievedSet, k: int, *, with_reference: bool) -> Floats:
    """Return the signals of the first k passages, with or without those below as reference."""
    words = _read(found, k, with_reference)
    return signal_matrix(tokenize_query(found.question), words, min(k, len(words)))


def _read(found: RetrievedSet, k: int, with_reference: bool) -> Sequence[TokenizedPassage]:
    words = tokenize_passages(found.texts[: OVER_FETCH * k if with_reference else k])
    return without_labels(tokenize_query(found.question), words)


def samples(
    datasets: Sequence[Dataset], embedders: Sequence[Embedder], manners: Sequence[MannerModel]
) -> Iterator[Sample]:
    """Yield the choosing half, clean and attacked, read by a model of manner without its fold."""
    for number, embedder in enumerate(embedders):
        forms = FITTED_FORMS if number == 0 else ("prepend",)
        for dataset in datasets:
            for position, record in enumerate(dataset.choosing):
                with under(manners[position % FOLDS]):
                    found = list(drawn(dataset.name, position, record, embedder, forms))
                yield from found


def drawn(
    dataset: str, position: int, record: Record, embedder: Embedder, forms: Sequence[str]
) -> Iterator[Sample]:
    """Yield the sets of a half's question: clean, and under every attack in these forms."""
    fold, clean = position % FOLDS, WRITTEN if dataset == WRITTEN else "clean"
    yield from sets_of(record, embedder, clean, 0, (), fold)
    if dataset == _ONE_OF_THREE and position % 3:
        return
    simple = [form for form in forms if form in DEFAULT_FORMS]
    for kind in record.poison:
        for form, count in product(forms if kind in _EVERY_FORM else simple, COUNTS):
            if texts := planted(record, kind, form, count):
                yield from sets_of(record, embedder, form, count, texts, fold)


def sets_of(
    record: Record, embedder: Embedder, form: str, count: int, poison: Sequence[str], fold: int
) -> Iterator[Sample]:
    """Yield a question's sets in every setting; attacked ones only if poison is in them."""
    ranked = retrieve(record, embedder, OVER_FETCH * max(SETTINGS)[0], poison)
    for k, with_reference in SETTINGS:
        poisoned = ranked.poisoned[:k]
        if poisoned.any() or not poison:
            signals = signals_of(ranked, k, with_reference=with_reference)
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
        self._starts = np.cumsum(self.sizes) - self.sizes
        self._without: dict[int, Samples] = {}

    def where(self, chosen: Sequence[bool] | Bools) -> "Samples":
        """Return some of the samples; `chosen` has one entry a set."""
        return Samples(list(compress(self.found, chosen)), self.names)

    def without(self, fold: int) -> "Samples":
        """Return the samples of the other folds, the same object every time."""
        if fold not in self._without:
            self._without[fold] = self.where(self.folds != fold)
        return self._without[fold]

    def highest(self, scores: Floats) -> Floats:
        """Return the highest of the passages' scores for every set: float64 of shape (s,)."""
        return np.asarray(np.maximum.reduceat(scores, self._starts), dtype=np.float64)

    def weights(self, plan: Plan) -> Floats:
        """Return the weight of every passage for a plan: float64 of shape (n,), sum 1.

        The poison of a set shares one weight, and so does what is benign in it; clean sets
        together weigh `_CLEAN_WEIGHT` times as much as the poison.
        """
        of_plan = np.repeat([one.form in plan.forms for one in self.found], self.sizes)
        clean = np.repeat(self.clean, self.sizes)
        poison = np.add.reduceat(self.poisoned.astype(int), self._starts)
        poison_count = np.repeat(np.maximum(poison, 1), self.sizes)
        benign_count = np.repeat(np.maximum(self.sizes - poison, 1), self.sizes)
        weight = of_plan / np.where(self.poisoned, poison_count, benign_count)
        total = weight[self.poisoned].sum()
        weight[clean] = 1.0 / benign_count[clean]
        if total:
            weight[clean] *= _CLEAN_WEIGHT * total / weight[clean].sum()
        return np.asarray(weight / weight.sum(), dtype=np.float64)


class Scored:
    """A set in a setting; `expected`: which passages repeat no more than honest ones, or None."""

    def __init__(self, found: RetrievedSet, setting: Setting) -> None:
        k, below = setting
        self._line = default_calibration(k, with_reference=below).threshold(ALPHA, k)
        self._signals = signals_of(found, k, with_reference=below)
        of_interest = found.poisoned if found.poisoned.any() else found.golden
        self._of_interest = of_interest[: len(self._signals)]
        self.expected: Bools | None = None
        if rows := repeating(self._signals):
            asked, words = tokenize_query(found.question), _read(found, k, below)
            expected = repeats_as_expected(asked, words, rows, len(self._signals))
            self.expected = expected if expected.any() else None

    def fires(self, expected: Bools | None = None, nats: float = EXPECTED) -> tuple[bool, bool]:
        """Return whether any passage reaches the line, and whether a planted or right one does."""
        over = suspicions(self._signals, expected, nats=nats) >= self._line
        return bool(over.any()), bool(over[self._of_interest].any())


def place_of(setting: Setting) -> dict[str, int]:
    """Return the columns of a row that say its setting."""
    return dict(zip(("k", "with_reference"), setting, strict=True))


def setting_of(row: Row) -> str:
    """Return how tables call the setting of a row."""
    return f"k = {row['k']}{', 3x' if row['with_reference'] else ''}"
