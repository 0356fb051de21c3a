"""Makes the shipped calibration: `python -m benchmarks.make_calibration --data DIR --out FILE`.

Scores of the choosing half, clean, retrieved with both embedders, by detectors that were fitted on
the other folds of it; docs/benchmarks.md says why they are lifted.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from benchmarks.command import ERRORS, Data, Out, script, tracked
from benchmarks.datasets import Dataset, load_with_reading
from benchmarks.embedders import EMBEDDERS, embedder_of
from benchmarks.fit_manner import FOLDS, fit_folds, under
from benchmarks.fit_suspicion import fit_detectors, shifted
from benchmarks.report.table import Row, as_is, as_rich
from benchmarks.retrieval import OVER_FETCH, retrieve
from benchmarks.samples import Floats, Samples, samples, signals_of
from ragguard.embedding import Embedder
from ragguard.inline.calibration_file import default_calibration
from ragguard.inline.conformal import lifted
from ragguard.inline.features.manner import MannerModel
from ragguard.inline.scoring import DETECTORS, SCORER, Scorer, nonconformity

Weigh = Callable[[Floats], Floats]  # signals (k, s) of a set -> suspicions (k,) of its passages

SIZES = (5, 10, 20, 50)
_SOURCE = (
    "shipped: choosing half of public retrieval results, two retrievers, "
    "scored by detectors fitted on other folds"
)
# A passage is judged by its place in the tail, so the tail is kept finely and the rest coarsely.
_LEVELS = np.r_[np.linspace(0, 0.9, 91)[:-1], np.linspace(0.9, 1, 401)]


def calibrate(
    datasets: Sequence[Dataset],
    embedders: Sequence[Embedder],
    weigh: Sequence[Weigh],
    manners: Sequence[MannerModel],
) -> Iterator[dict[str, Any]]:
    """Yield a calibration a size, without and with reference, by models without each fold."""
    ranked = [
        (position % FOLDS, retrieve(record, embedder, OVER_FETCH * max(SIZES)))
        for embedder in embedders
        for dataset in datasets
        for position, record in enumerate(dataset.choosing)
    ]
    for size, with_reference in product(SIZES, (False, True)):
        found = []
        for fold, retrieved in ranked:
            with under(manners[fold]):
                signals = signals_of(retrieved, size, with_reference=with_reference)
            found.append(weigh[fold](signals))
        quantiles = np.quantile(np.concatenate(found), _LEVELS, method="inverted_cdf")
        scores = lifted([nonconformity(one) for one in found], len(ranked) // len(embedders))
        yield {
            "format": 1,
            "size": size,
            "with_reference": with_reference,
            "scorer": SCORER,
            "source": _SOURCE,
            "scores": np.round(scores, 5).tolist(),
            "passage_scores": np.round(quantiles, 5).tolist(),
        }


def cross_fitted(
    datasets: Sequence[Dataset], embedders: Sequence[Embedder], manners: Sequence[MannerModel]
) -> list[Weigh]:
    """Return for every fold the suspicions by detectors fitted on the other folds.

    The offsets are the shipped ones, which were chosen on scores that are cross-fitted already.
    """
    found = Samples(list(tracked(samples(datasets, embedders, manners), "signals")))
    shift = {name: DETECTORS[name].bias - one.bias for name, one in fit_detectors(found).items()}
    return [
        Scorer(shifted(fit_detectors(found.without(fold)), shift)).suspicions
        for fold in tracked(range(FOLDS), "folds")
    ]


def compared(made: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """Yield by how much the made calibrations differ from the shipped ones."""
    for one in made:
        line = {"size": one["size"], "reference": one["with_reference"]}
        other = vars(default_calibration(one["size"], with_reference=one["with_reference"]))
        gaps = [
            np.subtract(one[name], other[name]) if len(one[name]) == len(other[name]) else np.nan
            for name in ("scores", "passage_scores")
        ]
        for said, entry in (("made", one), ("shipped", other)):
            line[f"queries, {said}"] = len(entry["scores"])
            line[f"99 % score, {said}"] = f"{np.quantile(entry['scores'], 0.99):.3f}"
        yield {**line, "largest difference": f"{np.abs(np.hstack(gaps)).max():.5f}"}


@script
def main(data: Data, out: Out = None) -> None:
    """Make the calibrations, compare them with the shipped ones, and write them if asked to."""
    datasets, embedders = load_with_reading(data), list(map(embedder_of, EMBEDDERS))
    manners = fit_folds(data, datasets)
    weigh = cross_fitted(datasets, embedders, manners)
    made = list(calibrate(datasets, embedders, weigh, manners))
    ERRORS.print(as_rich(as_is("The made calibrations beside the shipped ones", compared(made))))
    if out is not None:
        out.write_text(json.dumps(made), encoding="utf-8")
