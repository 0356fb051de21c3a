"""Clean traffic across kinds: `python -m benchmarks.transfer --data DIR --json FILE`.

A calibration promises to leave all but a share alpha of clean queries alone, as long as they are
like those it was made on. This measures what is left of the promise where they are not: calibrated
on one kind of traffic and judged on another, on all kinds but the judged one, and as shipped.

And it measures what a calibration buys: the texts without the question that are found as shipped,
and after calibrating on the clean traffic of the choosing halves.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from scipy.stats import binomtest

from benchmarks.command import Data, Limit, Measured, command, embedders_for, tracked
from benchmarks.datasets import Dataset, Record, load_folder
from benchmarks.defences.contenders import guarded
from benchmarks.inline import COUNTS, SIZES
from benchmarks.metrics.outcomes import Counts, counted
from benchmarks.report.table import Row, Rows, Table, crossed, grouped, share, summed
from benchmarks.retrieval import OVER_FETCH, RetrievedSet, planted, retrieve
from ragguard import Guard
from ragguard.embedding import Embedder
from ragguard.errors import CalibrationError
from ragguard.inline.conformal import Calibration

Kinds = Mapping[str, tuple[list[RetrievedSet], list[RetrievedSet]]]
"""The clean sets of each kind of traffic, those of the choosing half first."""

ALPHAS = (0.01, 0.05)
"""A kind of fewer than 99 queries can calibrate only for the second."""

_SETTINGS = tuple((k, factor) for k in SIZES for factor in (1, OVER_FETCH))
_ORDER = ("other", "own", "all others", "shipped")


def run(datasets: Sequence[Dataset], embedders: Sequence[Embedder]) -> Rows:
    rows: Rows = []
    for embedder in embedders:
        kinds = {
            one.name: (_retrieved(one.choosing, embedder), _retrieved(one.report, embedder))
            for one in datasets
        }
        for k, factor in tracked(_SETTINGS, "pairs"):
            for tested in kinds:
                for how, on, traffic in _calibrations(kinds, tested):
                    made = None if traffic is None else _calibrated(traffic, k, factor)
                    size = 0 if traffic is None else len(traffic)
                    for alpha in ALPHAS if made is not None or how == "shipped" else ():
                        place = {"embedder": embedder.name, "k": k, "over_fetch": factor}
                        place |= {"alpha": alpha, "how": how, "calibrated": on}
                        place |= {"calibration_queries": size, "tested": tested}
                        rows += _judged(place, made, kinds[tested][1])
    return rows


def plain(datasets: Sequence[Dataset], embedders: Sequence[Embedder]) -> Rows:
    """Return what is found of texts that do not repeat the question, and touched without them."""
    rows = Counts("sets", "fired", "poison", "poison_removed")
    clean = {
        one: [found for data in datasets for found in _retrieved(data.choosing, one)]
        for one in embedders
    }
    for embedder, (k, factor) in tracked([*product(embedders, _SETTINGS)], "plain"):
        guards = {"shipped": None, "calibrated": _calibrated(clean[embedder], k, factor)}
        for how, made in guards.items():
            if how == "calibrated" and (made is None or made.queries < 1 / min(ALPHAS) - 1):
                continue
            with Guard(calibration=made) as guard:
                defence = guarded("ragguard", guard, factor)
                for name, record, kind, count in _attacked(datasets):
                    place = {"embedder": embedder.name, "k": k, "over_fetch": factor, "how": how}
                    place |= {"dataset": name, "kind": kind, "planted": count}
                    texts = planted(record, kind, "plain", count)
                    found = retrieve(record, embedder, k * factor, texts)
                    if found.poisoned[:k].any() or not texts:
                        rows.add(place, {**counted(defence, found, k), "sets": 1})
    return rows.rows()


def _attacked(datasets: Sequence[Dataset]) -> Iterator[tuple[str, Record, str, int]]:
    """Yield each record that is reported, without planted texts and with one or five of a kind."""
    for dataset, record in ((data.name, one) for data in datasets for one in data.report):
        yield dataset, record, "none", 0
        for kind, count in product(record.poison, COUNTS):
            yield dataset, record, kind, count


def _retrieved(records: Sequence[Record], embedder: Embedder) -> list[RetrievedSet]:
    return [retrieve(record, embedder, OVER_FETCH * max(SIZES)) for record in records]


def _calibrations(
    kinds: Kinds, tested: str
) -> Iterator[tuple[str, str, list[RetrievedSet] | None]]:
    """Yield how, what on, and the traffic of every calibration that judges a kind.

    On the choosing half of the kind itself, one other kind, all others together, or as shipped.
    """
    yield "own", tested, kinds[tested][0]
    others = {name: [*first, *second] for name, (first, second) in kinds.items() if name != tested}
    for name, sets in others.items():
        yield "other", name, sets
    if len(others) > 1:
        yield "all others", "+".join(others), [one for sets in others.values() for one in sets]
    yield "shipped", "shipped", None


def _calibrated(traffic: Sequence[RetrievedSet], k: int, factor: int) -> Calibration | None:
    """Return the calibration of clean traffic, or None if it is too little for any alpha."""
    with Guard(alpha=max(ALPHAS), on_error="raise") as guard:
        pairs = [(one.question, list(one.texts[: k * factor])) for one in traffic]
        try:
            return guard.calibrate(pairs, k=k, force=True)
        except CalibrationError:
            return None


def _judged(
    place: Mapping[str, Any], made: Calibration | None, sets: Sequence[RetrievedSet]
) -> Rows:
    """Return the row of what a guard does with clean sets; none if alpha is too strict for it.

    `touched` are the sets for which the gate fired, with the Clopper-Pearson interval of their
    share; `golden` those that hold the passage that answers, and may lose it.
    """
    try:
        guard = Guard(alpha=place["alpha"], calibration=made, on_error="raise")
    except CalibrationError:
        return []
    found = Counter[str]()
    with guard:
        defence = guarded("ragguard", guard, place["over_fetch"])
        for one in sets:
            found.update(counted(defence, one, place["k"]))
    if not sets:
        return []
    ends = binomtest(found["fired"], len(sets)).proportion_ci()  # Clopper and Pearson
    row = {**place, "queries": len(sets), "touched": found["fired"]}
    row |= {"low": round(ends.low, 5), "high": round(ends.high, 5)}
    return [row | {name: found[name] for name in ("golden", "golden_removed")}]


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the pairs for every alpha.

    Shares are over all embedders, k and over-fetch together: the same queries several times, so
    only single rows have an interval.
    """
    pairs = sections["pairs"]
    for (alpha,), rows in sorted(grouped(pairs, "alpha").items()):
        tested = list(dict.fromkeys(row["tested"] for row in rows))

        def place(row: Row, names: list[str] = tested) -> tuple[int, int]:
            # Kinds first, in the order of the data; then what judges every kind.
            other = row["how"] == "other" and row["calibrated"] in names
            at = names.index(row["calibrated"]) if other else len(names)
            return _ORDER.index(row["how"]), at

        yield crossed(
            f"Clean queries touched (golden passage lost), alpha {alpha:.0%}; judged kind in "
            "columns",
            sorted(rows, key=place),
            {"calibrated on": lambda row: row["calibrated" if row["how"] == "other" else "how"]},
            "tested",
            _touched,
            order=tested,
            empty="-",
        )
    if rows := sections.get("plain", []):
        yield crossed(
            "Texts without the question: sets found / texts dropped; without texts: sets touched",
            rows,
            {"texts": "kind", "planted": "planted", "guard": "how"},
            "dataset",
            _found,
            empty="-",
        )


def _found(rows: list[Row]) -> str:
    n = summed(rows)
    dropped = f" / {share(n['poison_removed'], n['poison'], 0)}" if n["poison"] else ""
    return f"{share(n['fired'], n['sets'], 0)}{dropped}".replace(" %", "%")


def _touched(rows: list[Row]) -> str:
    n = summed(rows)
    lost = f" ({share(n['golden_removed'], n['golden'])})" if n["golden"] else ""
    return f"{share(n['touched'], n['queries'])}{lost}".replace(" %", "%")


@command(tables)
def main(data: Data, limit: Limit = None) -> Measured:
    datasets = [dataset.limited(limit) for dataset in load_folder(data)]
    sections = {"pairs": run, "plain": plain}
    return {name: make(datasets, embedders_for()) for name, make in sections.items()}, datasets
