"""The tables of a result of `python -m benchmarks.ablation`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.forms import FITTED_FORMS, HELD_OUT_FORMS
from benchmarks.tables import Table

__all__ = ["tables"]

Row = Mapping[str, Any]
Shares = Mapping[tuple[str, int], float]
"""Share of the sets detected by form and number of planted texts."""

_GROUPS: Mapping[str, tuple[str, ...]] = {
    "question in front": ("prepend",),
    "other fitted forms": tuple(form for form in FITTED_FORMS if form not in {"prepend", "plain"}),
    "held-out forms": HELD_OUT_FORMS,
    "plain": ("plain",),
    "soup": ("soup",),
    "long soup": ("long_soup",),
}
_COUNTS = (1, 5)
_CLEAN = ("clean", 0)
_TITLES = {
    "without signal": ("Ablation: one signal left out", "signal"),
    "without detector": ("Ablation: one detector left out", "detector"),
    "with candidate": ("Ablation: one candidate added", "candidate"),
}
_OWN = ", as many clean sets touched"
_COLUMNS = ("clean touched", *(f"{group}, M = 1 / 5" for group in _GROUPS), "most changed")


def tables(rows: Sequence[Row]) -> list[Table]:
    """Return what all signals detect by form, then the difference that every change makes."""
    out = [_by_form([row for row in rows if row["change"] == "none"])]
    for field, suffix in (("detected", ""), ("detected_own", _OWN)):
        full, changed = _shares(rows, field)
        for kind, (title, column) in _TITLES.items():
            lines = [
                (name, *_difference(full, shares))
                for (change, name), shares in changed.items()
                if change == kind
            ]
            head = ("all", *_line(full))
            out.append(Table(f"{title}{suffix}", (column, *_COLUMNS), (head, *lines)))
    return out


def _shares(
    rows: Sequence[Row], field: str = "detected"
) -> tuple[Shares, dict[tuple[str, str], Shares]]:
    """Return the shares detected with all signals, and after every change."""
    found: dict[tuple[str, str], dict[tuple[str, int], float]] = {}
    for row in rows:
        shares = found.setdefault((row["change"], row["name"]), {})
        shares[row["form"], row["planted"]] = row[field] / row["sets"]
    full = found.pop(("none", ""))
    return full, dict(found.items())


def _by_form(rows: Sequence[Row]) -> Table:
    cells = {(row["form"], row["planted"]): row for row in rows}
    forms = dict.fromkeys(form for form, _ in cells if form != "clean")
    clean = cells[_CLEAN]
    return Table(
        "Ablation: detected with all signals",
        ("form", "sets, M = 1", "detected, M = 1", "sets, M = 5", "detected, M = 5"),
        (
            ("clean", str(clean["sets"]), f"{clean['detected'] / clean['sets']:.1%}", "", ""),
            *(
                (form, *(cell for count in _COUNTS for cell in _cells(cells.get((form, count)))))
                for form in forms
            ),
        ),
    )


def _cells(row: Row | None) -> tuple[str, str]:
    return ("0", "-") if row is None else (str(row["sets"]), f"{row['detected'] / row['sets']:.1%}")


def _mean(shares: Shares, forms: Iterable[str], count: int) -> float | None:
    """Return the mean over the forms that there are sets of."""
    there = [shares[form, count] for form in forms if (form, count) in shares]
    return fmean(there) if there else None


def _line(full: Shares) -> tuple[str, ...]:
    cells = [
        " / ".join(
            "-" if (mean := _mean(full, forms, count)) is None else f"{100 * mean:.1f}"
            for count in _COUNTS
        )
        + " %"
        for forms in _GROUPS.values()
    ]
    return (f"{full[_CLEAN]:.2%}".replace("%", " %"), *cells, "")


def _difference(full: Shares, shares: Shares) -> tuple[str, ...]:
    """Return the differences to all signals in percentage points."""
    cells = []
    for forms in _GROUPS.values():
        pairs = [(_mean(full, forms, count), _mean(shares, forms, count)) for count in _COUNTS]
        cells.append(
            " / ".join("-" if a is None or b is None else _points(b - a) for a, b in pairs)
        )
    attacks = [key for key in full if key != _CLEAN]
    form, count = max(attacks, key=lambda key: abs(shares[key] - full[key]), default=_CLEAN)
    most = shares[form, count] - full[form, count]
    return (
        f"{100 * (shares[_CLEAN] - full[_CLEAN]):+.2f}",
        *cells,
        f"{form}, M = {count}: {_points(most)}" if round(100 * most, 1) else "",
    )


def _points(share: float) -> str:
    rounded = round(100 * share, 1)
    return f"{rounded:+.1f}" if rounded else "0"
