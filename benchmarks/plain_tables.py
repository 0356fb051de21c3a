"""The tables of `benchmarks.plain`: means over strata, and which score is best where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.tables import Table

__all__ = ["FITTED", "best_tables", "mean_table"]

Row = Mapping[str, Any]

FITTED = "fitted"
"""How the names of the regressions begin."""

_LEAST_SETS = 10
"""Strata with fewer sets have no share worth a mean."""

_FIELDS = {"sets_at_1%": "1 %", "sets_at_5%": "5 %", "own_at_1%": "own 1 %", "own_at_5%": "own 5 %"}
"""Shares of clean sets by which the thresholds are set; "own": in units of the own dataset."""

_BY = ("dataset", "kind", "embedder", "k", "over_fetch")


def mean_table(form: str, attack: Sequence[Row], clean: Sequence[Row]) -> Table:
    """Return AUC and recall of every score, as means over strata, for each number of texts.

    Args:
        form: The question form of the rows.
        attack: Rows of the section "attack".
        clean: Rows of the section "clean": how many clean sets the same thresholds really stop.
    """
    counts = sorted({row["planted"] for row in attack})
    columns = ["score", *(f"clean: {label}" for label in _FIELDS.values())]
    for count in counts:
        columns += [f"M={count}: {name}" for name in ("AUC", *_FIELDS.values())]
    columns += [f"M={count}, passages: {name}" for count in counts for name in ("AUC", "1 %")]
    rows = []
    for score in dict.fromkeys(row["score"] for row in attack):
        of_clean = [row for row in clean if row["score"] == score]
        cells = [score, *(_pooled(of_clean, field) for field in _FIELDS)]
        strata = {count: list(_strata(attack, score, count)) for count in counts}
        for count in counts:
            cells.append(_mean(row["auc"] for row in strata[count]))
            for field in _FIELDS:
                cells.append(_percent(row[field] / row["sets"] for row in strata[count]))
        for count in counts:
            with_passages = [row for row in strata[count] if row["passages"]]
            cells.append(_mean(row["passage_auc"] for row in with_passages))
            cells.append(_percent(row["passages_at_1%"] / row["passages"] for row in with_passages))
        rows.append(tuple(cells))
    return Table(f"Means over strata, form {form}", tuple(columns), tuple(rows))


def best_tables(form: str, attack: Sequence[Row]) -> Iterator[Table]:
    """Yield for every way of cutting the strata: ours, the best of the vectors, and the fitted.

    Best by mean recall at thresholds in units of the own dataset. The first score is ours, and
    those whose names begin with `FITTED` are regressions.
    """
    names = list(dict.fromkeys(row["score"] for row in attack))
    fitted = [name for name in names if name.startswith(FITTED)]
    vectors = [name for name in names[1:] if name not in fitted]
    for by in _BY:
        rows = []
        for value in dict.fromkeys(row[by] for row in attack):
            part = [row for row in attack if row[by] == value]
            for count in sorted({row["planted"] for row in part}):
                cells = [str(value), str(count)]
                for field in ("own_at_1%", "own_at_5%"):
                    means = {name: _recall(part, name, count, field) for name in names}
                    best = max(vectors, key=means.__getitem__)
                    cells += [f"{means[names[0]]:.1%}", f"{means[best]:.1%} ({best})"]
                    cells += [f"{means[name]:.1%}" for name in fitted]
                rows.append(tuple(cells))
        columns = [by, "M"]
        for share in ("own 1 %", "own 5 %"):
            columns += [f"{names[0]} at {share}", f"best of vectors at {share}"]
            columns += [f"{name} at {share}" for name in fitted]
        yield Table(f"By {by}, form {form}", tuple(columns), tuple(rows))


def _recall(rows: Iterable[Row], score: str, count: int, field: str) -> float:
    shares = [row[field] / row["sets"] for row in _strata(rows, score, count)]
    return fmean(shares) if shares else 0.0


def _strata(rows: Iterable[Row], score: str, count: int) -> Iterator[Row]:
    for row in rows:
        if row["score"] == score and row["planted"] == count and row["sets"] >= _LEAST_SETS:
            yield row


def _pooled(rows: Sequence[Row], field: str) -> str:
    whole = sum(row["sets"] for row in rows)
    return f"{sum(row[field] for row in rows) / whole:.1%}" if whole else "-"


def _mean(values: Iterable[float]) -> str:
    found = list(values)
    return f"{fmean(found):.3f}" if found else "-"


def _percent(shares: Iterable[float]) -> str:
    found = list(shares)
    return f"{fmean(found):.1%}" if found else "-"
