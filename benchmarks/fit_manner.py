"""Fits `ragguard.inline.features.manner`: `python -m benchmarks.fit_manner --data DIR --out FILE`.

A logistic regression on windows of texts: planted ones of every kind that was written by a person
or by a language model, without the question in front, against honest ones. All are of the choosing
half, and of plain texts every second. Every kind of planted text in each dataset has the same
weight. Honest pages that language models wrote weigh most, then what retrievers ranked first.

An attacker is free to choose the marks. So each text is there once more without any, and once with
others in their place, and so are its sentences by themselves, as the filter reads them. All these
weigh little beside the text itself (data augmentation: Simard et al. 2003).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit

from benchmarks.command import ERRORS, Data, Out, script, tracked
from benchmarks.datasets import READING, WRITTEN, Dataset, load_with_reading, texts_in, values
from ragguard.inline.features import manner
from ragguard.inline.features.manner import BUCKETS, STEP, WINDOW, MannerModel, buckets_of, windows
from ragguard.inline.features.prose import as_prose, prose_tokens, sentence_tokens
from ragguard.text.html import strip_markup

Floats = NDArray[np.float64]

FOLDS = 5  # parts of the choosing half, for scores by models that did not see the query
_RIDGE = 3e-8
_ROUNDS = 150
_ENDS = "\x02\x03"  # tokens of their own
# Together, in planted texts of one kind in one dataset.
_HITS, _PLAIN, _MACHINE_WRITTEN = 6.0, 2.0, 8.0
_REMARKED = 0.15  # a text with other marks, or without any, beside the text itself
_SENTENCES = 0.3  # and its sentences by themselves
_FEW_HITS = 10
_FIRST, _LOWER = 5, 0.3  # hits that a reader gets, and what one below them weighs beside one


@dataclass(frozen=True)
class Group:
    """Texts of one kind, each with the folds of its questions, which share one weight.

    Plain texts have no dataset, and honest ones no kind of attack. `lower` are those that no
    retriever ranks among the first `_FIRST`.
    """

    texts: dict[str, set[int]]
    weight: float
    dataset: str = ""
    kind: str = ""
    lower: frozenset[str] = frozenset()


def groups(folder: Path, datasets: Sequence[Dataset]) -> Iterator[Group]:
    """Yield the texts of the choosing half, and every second plain text."""
    fold_of: dict[str, set[int]] = defaultdict(set)
    for position, value in enumerate(values(folder, WRITTEN)[::2]):
        for hit in value["hits"]:
            fold_of[hit["text"]].add(position % FOLDS)
    for data in datasets:
        if data.name == WRITTEN:
            continue
        hits: dict[str, set[int]] = defaultdict(set)
        first = {hit for record in data.choosing for hit in record.hits[:_FIRST]}
        planted: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for position, record in enumerate(data.choosing):
            fold = position % FOLDS
            for rank, text in enumerate(record.hits):
                fold_of[text].add(fold)
                if rank < _FEW_HITS or data.name != READING:
                    hits[text].add(fold)
            for kind, false in record.poison.items():
                for text in false if kind != "garag" else ():  # genuine pages
                    planted[kind][text].add(fold)
        weight = _PLAIN if data.name == READING else _HITS
        yield Group(hits, weight, data.name, lower=frozenset(hits) - first)
        for kind, texts_of_kind in planted.items():
            yield Group(texts_of_kind, 1.0, data.name, kind)
    written, keywords = (
        [h["text"] for value in values(folder, name)[::2] for h in value["hits"][:_FEW_HITS]]
        for name in (WRITTEN, "keyword_traffic")
    )
    for plain, weight in (
        (texts_in(folder, "wikipedia_passages")[::2], _PLAIN),
        (texts_in(folder, "reading_comprehension", "context")[::4], _PLAIN),
        (written, _MACHINE_WRITTEN),
        (keywords, _PLAIN),
    ):
        yield Group({text: fold_of.get(text, set()) for text in plain}, weight)


def readings(found: list[str], *, lines: bool) -> Iterator[tuple[list[str], float]]:
    """Yield the sentences of a text, the text, and it with other marks, and what each weighs.

    With `lines` a line stands for a stop; else a semicolon does, for a comma and colon too.
    """
    yield sentence_tokens(found), _SENTENCES
    found = as_prose(found)
    yield found, 1.0
    yield [token for token in found if token.isalnum() or token in _ENDS], _REMARKED
    if lines:
        said = [token for token in found if token not in ",:;"]
        yield ["\n" if token in ".!?" else token for token in said], _REMARKED
    else:
        yield [";" if token in ".!?,:" else token for token in found], _REMARKED


class Folds:
    """The windows of all texts, and models that are fitted on them without a fold."""

    def __init__(self, found: Iterable[Group]) -> None:
        counts: list[NDArray[np.intp]] = []
        # For every text its group, how many windows it has, its folds, and its weight in the group.
        self._rows: list[tuple[int, int, set[int], float]] = []
        self._groups = list(found)
        values, lengths = [], []
        for number, group in enumerate(tracked(self._groups, "texts")):
            for at, (text, folds) in enumerate(group.texts.items()):
                of_text = _LOWER if text in group.lower else 1.0
                for tokens, share in readings(prose_tokens(strip_markup(text)), lines=at % 2 > 0):
                    hashed = buckets_of(tokens)
                    # Of honest texts there are enough without overlap.
                    parts = windows(hashed.shape[1], STEP if group.kind else WINDOW)
                    self._rows.append((number, len(parts[0]), folds, of_text * share))
                    for start, end in zip(*parts, strict=True):
                        bucket = hashed[:, start:end]
                        bucket = bucket[bucket < BUCKETS]
                        counts.append(bucket)
                        lengths.append(len(bucket))
                        values.append(np.full(len(bucket), 1.0 / max(end - start, WINDOW)))
        self._windows = csr_array(
            (np.concatenate(values), np.concatenate(counts), np.append(0, np.cumsum(lengths))),
            shape=(len(lengths), BUCKETS),
        )
        self._windows.sum_duplicates()

    def without(self, fold: int | None = None, *, dataset: str = "", kind: str = "") -> MannerModel:
        """Fit a model on all texts but those of a fold's questions, a dataset or a kind."""
        left_out = [g.dataset == dataset != "" or g.kind == kind != "" for g in self._groups]
        number, sizes, folds, weights = zip(*self._rows, strict=True)
        rows = zip(number, folds, weights, strict=True)
        used = np.array([0.0 if fold in of or left_out[at] else weight for at, of, weight in rows])
        groups = np.repeat(number, sizes)
        total = np.bincount(number, used, minlength=len(self._groups))
        share = np.array([g.weight for g in self._groups]) / np.maximum(total, 1e-9)
        weight = np.repeat(used / sizes, sizes) * share[groups]
        planted = np.array([bool(g.kind) for g in self._groups])[groups]
        both = [weight[planted == side].sum() or 1.0 for side in (False, True)]
        weight = weight / np.array(both)[planted.astype(int)] / 2
        kept = weight > 0
        texts, sides = self._windows[kept], planted[kept].astype(np.float64)
        bias, slope = logistic(texts, sides, weight[kept], ridge=_RIDGE, maxiter=_ROUNDS)
        # Of sixteen bits, as they are shipped; eight lose too much.
        return MannerModel(bias, np.append(slope.astype(np.float16).astype(np.float64), 0.0))


def logistic(
    values: Any,
    positive: Floats,
    weight: Floats,
    *,
    ridge: float,
    penalty: float | None = None,
    **options: Any,
) -> tuple[float, Floats]:
    """Return bias and weights of a logistic regression; with a `penalty` on their sum none < 0."""
    across = values.T if isinstance(values, np.ndarray) else values.T.tocsr()
    price = penalty or 0.0

    def loss(parameters: Floats) -> tuple[float, Floats]:
        slope = parameters[1:]
        log_odds = values @ slope + parameters[0]
        error = weight * (expit(log_odds) - positive)
        total = weight @ (np.logaddexp(0.0, log_odds) - positive * log_odds)
        steepness = across @ error + price + 2 * ridge * slope
        costs = price * slope.sum() + ridge * slope @ slope
        return float(total + costs), np.append(error.sum(), steepness)

    size = values.shape[1]
    bounds: Any = None if penalty is None else [(None, None)] + [(0.0, None)] * size
    settings: Any = {"method": "L-BFGS-B", "bounds": bounds, "options": options}
    solved = minimize(loss, np.zeros(size + 1), jac=True, **settings).x
    return float(solved[0]), solved[1:]


def fit_folds(folder: Path, datasets: Sequence[Dataset]) -> list[MannerModel]:
    """Return for every fold a model without it: pages that were fitted on look too honest."""
    found = Folds(groups(folder, datasets))
    return [found.without(fold) for fold in tracked(range(FOLDS), "manner without a fold")]


def under(model: MannerModel) -> AbstractContextManager[Any]:
    """Let a model take the place of the shipped one."""
    return patch.object(manner, "shipped", lambda: model)


@script
def main(data: Data, out: Out = None) -> None:
    """Fit the model, and write it if asked to."""
    model = Folds(groups(data, load_with_reading(data))).without()
    weights = model.weights[:-1].astype(np.float16)
    if out is not None:
        np.savez_compressed(out, weights=weights, bias=np.float64(model.bias))
    ERRORS.print(f"{np.count_nonzero(weights):,} weights, bias {model.bias:.2f}")
