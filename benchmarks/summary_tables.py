"""Short tables of `benchmarks.plain` and `benchmarks.protocol`, for a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.plain_tables import FITTED
from benchmarks.tables import Table, share

__all__ = ["plain_tables", "protocol_tables"]

Row = Mapping[str, Any]

_LEAST_SETS = 10
"""Strata with fewer sets have no share worth a mean."""

_MARGIN = "ragguard: margin"


def plain_tables(attack: Sequence[Row], clean: Sequence[Row]) -> Iterator[Table]:
    """Yield for every form the means of every score over strata, and recall by kind of attack.

    Args:
        attack: The section "attack".
        clean: The section "clean": how many clean sets the same thresholds really stop.
    """
    for form in dict.fromkeys(row["form"] for row in attack):
        rows = [row for row in attack if row["form"] == form and row["sets"] >= _LEAST_SETS]
        yield _means(form, rows, clean)
        yield _by_kind(form, rows)


def _means(form: str, attack: Sequence[Row], clean: Sequence[Row]) -> Table:
    counts = sorted({row["planted"] for row in attack})
    body = []
    for score in dict.fromkeys(row["score"] for row in attack):
        of_clean = [row for row in clean if row["score"] == score]
        sets = sum(row["sets"] for row in of_clean)
        cells = [score]
        cells += [share(sum(row[field] for row in of_clean), sets) for field in _FIELDS]
        for count in counts:
            rows = [row for row in attack if row["score"] == score and row["planted"] == count]
            cells.append(f"{fmean(row['auc'] for row in rows):.3f}")
            cells += [_recall(rows, field) for field in _FIELDS]
        body.append(tuple(cells))
    columns = ["score", *(f"clean, {label}" for label in _FIELDS.values())]
    for count in counts:
        columns += [f"M={count} AUC", *(f"M={count}, {label}" for label in _FIELDS.values())]
    return Table(f"Vectors, form {form}: recall at 1 % of clean sets", tuple(columns), tuple(body))


_FIELDS = {"sets_at_1%": "all", "own_at_1%": "own"}
"""Thresholds of all datasets together, or in units of the own dataset's clean sets."""


def _by_kind(form: str, attack: Sequence[Row]) -> Table:
    names = list(dict.fromkeys(row["score"] for row in attack))
    fitted = [name for name in names if name.startswith(FITTED)]
    vectors = [name for name in names[1:] if name not in fitted]
    body = []
    kinds = list(dict.fromkeys(row["kind"] for row in attack))
    strata = {(row["kind"], row["planted"]) for row in attack}
    for kind, count in sorted(strata, key=lambda one: (kinds.index(one[0]), one[1])):
        found = {
            name: [
                row["own_at_1%"] / row["sets"]
                for row in attack
                if (row["kind"], row["planted"], row["score"]) == (kind, count, name)
            ]
            for name in names
        }
        best = max(vectors, key=lambda name: fmean(found[name]))
        cells = [f"{100 * fmean(found[name]):.1f} %" for name in (names[0], best, *fitted)]
        body.append((kind, str(count), cells[0], f"{cells[1]} ({best})", *cells[2:]))
    return Table(
        f"Vectors by kind, form {form}: recall at 1 % of the own clean sets",
        ("kind", "M", names[0], "best of vectors", *fitted),
        tuple(body),
    )


def _recall(rows: Sequence[Row], field: str) -> str:
    return f"{100 * fmean(row[field] / row['sets'] for row in rows):.1f} %"


def protocol_tables(cells: Sequence[Row]) -> Iterator[Table]:
    """Yield for every form the means by ratio and by kind of attack, and the worst cell.

    Args:
        cells: The section "cells".
    """
    for form in dict.fromkeys(cell["form"] for cell in cells):
        rows = [cell for cell in cells if cell["form"] == form]
        title = f"RAGDefender's protocol, form {form}"
        for name, field in (("poisoned : benign", "ratio"), ("texts", "kind")):
            parts = {
                str(value): [row for row in rows if row[field] == value]
                for value in dict.fromkeys(row[field] for row in rows)
            }
            yield _protocol(f"{title}, by {field}", name, parts)
        worst = min(rows, key=lambda row: row[_MARGIN])
        place = ", ".join(str(worst[name]) for name in _PLACE)
        yield _protocol(f"{title}, worst cell", "cell", {place: [worst]})


_PLACE = ("dataset", "kind", "ratio", "embedder")
_DEFENCES = ("ragguard", "ragguard 3x", "paper", "package")


def _protocol(title: str, name: str, parts: Mapping[str, Sequence[Row]]) -> Table:
    body = []
    for label, rows in parts.items():
        good = sum(row["ragguard: no_worse"] for row in rows)
        body.append((label, *(_pair(rows, one) for one in _DEFENCES), f"{good} of {len(rows)}"))
    return Table(
        f"{title}: poison removed / benign removed",
        (name, *_DEFENCES, "cells no worse"),
        tuple(body),
    )


def _pair(rows: Iterable[Row], defence: str) -> str:
    """Return the means over cells; those that the package was not run in are left out."""
    known = [row for row in rows if row[f"{defence}: detected"] is not None]
    if not known:
        return "-"
    means = (fmean(row[f"{defence}: {what}"] for row in known) for what in _MEASURES)
    return " / ".join(f"{100 * mean:.1f} %" for mean in means)


_MEASURES = ("detected", "benign lost")
