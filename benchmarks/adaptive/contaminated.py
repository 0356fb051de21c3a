"""Attack "calibration": the attacker's queries are in the traffic that the user calibrates on.

A guard with the shipped calibration filters the choosing half with a share of attacked queries
mixed in, and calibrates on what it recorded; then it filters the report half, clean and attacked.
Which attacked queries are mixed in is drawn several times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

from benchmarks.adaptive.oracle import Ranking, Setting
from benchmarks.data import Record
from benchmarks.embedders import built_in
from benchmarks.retrieval import planted
from ragguard import Guard, Passage

__all__ = ["DRAWS", "SHARES", "CalibrationRow", "Traffic", "measure", "traffic"]

SHARES = (0.0, 0.01, 0.05, 0.1)
"""Attacked queries for every clean one in the traffic that is calibrated on."""

DRAWS = 4
_LEAST = 99  # clean queries that the gate's default alpha of 0.01 needs
_SETTING = Setting(k=5, over_fetch=3)

Query = tuple[str, list[Passage]]


@dataclass(frozen=True)
class Traffic:
    """Queries with what is retrieved for them: clean ones, and attacked ones of the same form."""

    clean: tuple[Query, ...]
    attacked: tuple[Query, ...]


@dataclass
class CalibrationRow:
    """Counts over the draws.

    Attributes:
        form: How the attacked queries' poison carries the question.
        share: Attacked queries for every clean one in the traffic.
        clean_looking: As in `Guard.calibrate_from_store`.
        clean: Clean queries filtered after calibrating.
        touched: Those of them in which the gate fired.
        attacked: Attacked queries filtered after calibrating.
        detected: Those of them in which the gate fired.
    """

    form: str
    share: float
    clean_looking: bool
    clean: int = 0
    touched: int = 0
    attacked: int = 0
    detected: int = 0


def traffic(records: Iterable[Record], form: str) -> Traffic:
    """Retrieve with the built-in embedder; one text is planted for each attacked question."""
    embedder = built_in()
    clean: list[Query] = []
    attacked: list[Query] = []
    k, limit = _SETTING.k, _SETTING.k * _SETTING.over_fetch
    for record in records:
        ranking = Ranking(record, embedder)
        clean.append((record.question, ranking.ranked((), limit)))
        kind = next(iter(record.poison), None)
        ranked = ranking.ranked(planted(record, kind, form, 1), limit) if kind else []
        if any(passage.id.startswith("planted") for passage in ranked[:k]):
            attacked.append((record.question, ranked))
    return Traffic(tuple(clean), tuple(attacked))


def measure(
    form: str,
    recorded: Traffic,
    filtered: Traffic,
    *,
    seed: int,
    advance: Callable[[], object],
    draws: int = DRAWS,
) -> list[CalibrationRow]:
    """Mix, calibrate, filter.

    Args:
        form: The form of the attacked queries, for the rows.
        recorded: What the guard calibrates on; there are no rows if it is too little.
        filtered: What it filters afterwards.
        seed: Of the draws.
        advance: Called after every draw.
        draws: How often attacked queries are drawn.
    """
    if len(recorded.clean) < _LEAST:
        return []
    rows = {
        (share, looking): CalibrationRow(form, share, looking)
        for share in SHARES
        for looking in (False, True)
    }
    for draw in range(draws):
        attacked = Random(f"{seed} {draw}").sample(recorded.attacked, len(recorded.attacked))
        for share in SHARES:
            mixed = [*recorded.clean, *attacked[: round(share * len(recorded.clean))]]
            with Guard(on_error="raise") as guard:
                guard.filter_batch(mixed, k=_SETTING.k)
                for looking in (False, True):
                    calibration = guard.calibrate_from_store(clean_looking=looking)
                    with Guard(calibration=calibration, on_error="raise") as own:
                        _count(rows[share, looking], own, filtered)
        advance()
    return list(rows.values())


def _count(row: CalibrationRow, guard: Guard, filtered: Traffic) -> None:
    row.clean += len(filtered.clean)
    row.attacked += len(filtered.attacked)
    row.touched += sum(v.attacked for v in guard.filter_batch(filtered.clean, k=_SETTING.k))
    row.detected += sum(v.attacked for v in guard.filter_batch(filtered.attacked, k=_SETTING.k))
