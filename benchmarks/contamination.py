"""What attacks in recorded traffic teach a guard: `python -m benchmarks.contamination --data DIR`.

A guard with the shipped calibration records the choosing half of the data with an attacker's
queries mixed in, and calibrates from that record; then it filters the report half, clean and with
one text planted for each question. An attacker who has a copy of the guard can plant passages, or
only ask. Nothing is chosen on the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random

import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks.command import new_parser, save, without_warnings
from benchmarks.contamination_tables import tables
from benchmarks.datasets import Record, load_folder
from benchmarks.embedders import built_in
from benchmarks.retrieval import OVER_FETCH, planted, retrieve
from benchmarks.tables import as_rich
from ragguard import Guard, Passage
from ragguard.audit import MemoryStore, ScoredQuery
from ragguard.embedding import Embedder
from ragguard.errors import CalibrationError
from ragguard.inline.admission import MAX_STEP
from ragguard.inline.calibration_file import gate_threshold
from ragguard.inline.conformal import Calibration
from ragguard.text import sentences

__all__ = ["KINDS", "STEPWISE", "WAYS", "Query", "Row", "main", "measure", "queries"]

KINDS = ("planted", "asked", "asked, highest")
"""What the attacker adds: questions for which a text with the question in front was planted,
sentences of benign passages asked as questions, and those of them that score highest."""

WAYS: Mapping[str, Mapping[str, bool]] = {
    "as it is": {},
    "clean_looking": {"clean_looking": True},
    "force": {"force": True},
}
"""How the guard calibrates; by force every calibration is adopted."""

SHARES = (0.01, 0.012, 0.05, 0.2)
"""The attacker's share of the record."""

STEPWISE = "asked, step by step"
"""The kind of an attacker who knows the bounds; with the number of calibrations."""

_K = 5
_DRAWS = 5
_STEP_SHARE = 0.012
_SMALLEST_STEP = 0.01  # nats
_ODD_EACH = 3  # sentences of each question's passages
_ODD_WORDS = (6, 25)

Query = tuple[str, list[Passage], int | None]
"""A question, what is retrieved for it, and the rank of what was planted among the first k."""


@dataclass(frozen=True)
class Row:
    """Figures over the draws.

    Attributes:
        kind: Of the attacker's queries, or "none".
        share: Of them in the record.
        way: How the guard calibrates.
        draws: How often queries of the attacker were drawn.
        refused: Draws in which it refused; the figures below are of the others, and None if there
            are none.
        threshold: Nats, mean.
        clean_touched: Share of clean queries in which the gate fires, mean.
        prepended: Share of planted texts with the question in front that are dropped, lowest.
        shuffled: The same with the question's words shuffled.
    """

    kind: str
    share: float
    way: str
    draws: int
    refused: int
    threshold: float | None
    clean_touched: float | None
    prepended: float | None
    shuffled: float | None


def queries(records: Sequence[Record], embedder: Embedder) -> Iterator[tuple[str, Query]]:
    """Yield clean, planted (in two forms) and odd queries of every record with their kind."""
    for record in records:
        yield "clean", _query(record, embedder, ())
        kind = next(iter(record.poison), None)
        for form in ("prepend", "shuffled") if kind else ():
            query = _query(record, embedder, planted(record, str(kind), form, 1))
            if query[2] is not None:
                yield form, query
        for text in record.hits[:_ODD_EACH]:
            first = next(iter(sentences(text)), "")
            if _ODD_WORDS[0] <= len(first.split()) <= _ODD_WORDS[1]:
                odd = Record(first, record.hits, frozenset(), {})
                yield "asked", _query(odd, embedder, ())


def _query(record: Record, embedder: Embedder, poison: Sequence[str]) -> Query:
    found = retrieve(record, embedder, OVER_FETCH * _K, poison)
    ranks = found.poisoned[:_K].nonzero()[0]
    return record.question, [Passage(t) for t in found.texts], int(ranks[0]) if len(ranks) else None


def measure(
    recorded: Mapping[str, Sequence[Query]],
    filtered: Mapping[str, Sequence[Query]],
    *,
    seed: int,
    console: Console,
    draws: int = _DRAWS,
) -> list[Row]:
    """Mix, calibrate, filter.

    Args:
        recorded: By kind as `queries` names them: what the guard calibrates on.
        filtered: What it filters afterwards.
        seed: Of the draws.
        console: Shows the progress.
        draws: How often the attacker's queries are drawn.
    """
    pools = {kind: _scored(recorded[kind]) for kind in ("clean", "prepend", "asked")}
    highest = sorted(pools["asked"], key=lambda one: one.score, reverse=True)
    clean = pools["clean"]
    cells = [("none", 0.0), *((kind, share) for kind in KINDS for share in SHARES)]
    rows = []
    for kind, share in track(cells, description="calibrations", console=console):
        number = round(share / (1 - share) * len(clean))
        added = []
        for draw in range(draws if kind in KINDS[:2] else 1):
            pool = pools["prepend" if kind == "planted" else "asked"]
            chosen = Random(f"{seed} {draw}").sample(pool, min(number, len(pool)))
            added.append(highest[:number] if kind == "asked, highest" else chosen)
        for way, options in WAYS.items():
            found = [_calibrated([*clean, *more], options, filtered) for more in added]
            accepted = [one for one in found if one is not None]
            figures: list[float | None] = [None] * 4
            if accepted:
                means, lowest = np.mean(accepted, axis=0), np.min(accepted, axis=0)
                figures = [*means[:2].tolist(), *lowest[2:].tolist()]
            refused = len(found) - len(accepted)
            rows.append(Row(kind, share, way, len(found), refused, *figures))
    steps, made = _step_by_step(clean)
    if made is not None:
        name = f"{STEPWISE} ({steps})"
        rows.append(Row(name, _STEP_SHARE, "as it is", 1, 0, *_figures(made, filtered)))
    return rows


def _step_by_step(clean: Sequence[ScoredQuery]) -> tuple[int, Calibration | None]:
    """Calibrate again and again with queries of the highest score that is not refused.

    As if the attacker could bring a question to any score. Only the share `_STEP_SHARE` of the
    record is theirs, so that it does not look attacked.

    Returns:
        How often the guard calibrated before smaller steps were refused too, and on what last.
    """
    made: Calibration | None = None
    number = round(_STEP_SHARE / (1 - _STEP_SHARE) * len(clean))
    steps, height = 0, MAX_STEP
    while height > _SMALLEST_STEP:
        score = float(np.nextafter(_line(made) + height, 0.0))
        odd = [
            replace(
                clean[0], score=score, suspicions=(score,) * _K, question=f"odd {n}", naming=False
            )
            for n in range(number)
        ]
        store = MemoryStore()
        store.add_scores([*clean, *odd], sample=len(clean) + number, recent=0)
        with Guard(store=store, calibration=made, on_error="raise") as guard:
            try:
                made = guard.calibrate_from_store()
                steps += 1
            except CalibrationError:
                height /= 2
    return steps, made


def _line(calibration: Calibration | None) -> float:
    return gate_threshold(calibration, 0.01, _K, with_reference=True)


def _scored(asked: Sequence[Query]) -> list[ScoredQuery]:
    """Return what a guard records of queries."""
    store = MemoryStore()
    with Guard(store=store, mode="monitor", on_error="raise") as guard:
        for start in range(0, len(asked), 500):
            guard.filter_batch([query[:2] for query in asked[start : start + 500]], k=_K)
            guard._parts.counter.flush()
    return store.scores()


def _calibrated(
    record: Sequence[ScoredQuery],
    options: Mapping[str, bool],
    filtered: Mapping[str, Sequence[Query]],
) -> tuple[float, float, float, float] | None:
    """Return threshold, clean touched and recalls after calibrating, or None if it is refused."""
    store = MemoryStore()
    store.add_scores(record, sample=len(record), recent=0)
    with Guard(store=store, on_error="raise") as guard:
        try:
            made = guard.calibrate_from_store(**options)
        except CalibrationError:
            return None
    return _figures(made, filtered)


def _figures(
    made: Calibration, filtered: Mapping[str, Sequence[Query]]
) -> tuple[float, float, float, float]:
    with Guard(calibration=made, on_error="raise") as guard:
        verdicts = guard.filter_batch([query[:2] for query in filtered["clean"]], k=_K)
        touched = float(np.mean([verdict.attacked for verdict in verdicts]))
        return (
            _line(made),
            touched,
            _recall(guard, filtered["prepend"]),
            _recall(guard, filtered["shuffled"]),
        )


def _recall(guard: Guard, attacked: Sequence[Query]) -> float:
    verdicts = guard.filter_batch([query[:2] for query in attacked], k=_K)
    dropped = [
        passages[rank] in verdict.dropped
        for (_, passages, rank), verdict in zip(attacked, verdicts, strict=True)
        if rank is not None
    ]
    return float(np.mean(dropped))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, show and write."""
    parser = new_parser("contamination", __doc__)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    datasets = [dataset.limited(arguments.limit) for dataset in load_folder(arguments.data)]
    errors = Console(stderr=True)
    with without_warnings():
        rows = measure(
            _by_kind([record for one in datasets for record in one.choosing]),
            _by_kind([record for one in datasets for record in one.report]),
            seed=arguments.seed,
            console=errors,
        )
    found = [asdict(row) for row in rows]
    for table in tables(found):
        Console().print(as_rich(table))
    save(arguments, "contamination", {"seed": arguments.seed}, datasets, {"contamination": found})


def _by_kind(records: Sequence[Record]) -> dict[str, list[Query]]:
    found: dict[str, list[Query]] = {"clean": [], "prepend": [], "shuffled": [], "asked": []}
    for kind, query in queries(records, built_in()):
        found[kind].append(query)
    return found


if __name__ == "__main__":
    main()
