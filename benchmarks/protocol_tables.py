"""Ours against the paper's method, cell by cell: what `benchmarks.protocol` says in the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from benchmarks.tables import Table

__all__ = ["compared", "summaries", "tables"]

Row = dict[str, Any]

_MULTI_HOP = frozenset({"hotpotqa"})
_OURS = ("ragguard", "ragguard 3x")
_PLACE = ("dataset", "kind", "form", "ratio", "embedder")
_EPSILON = 1e-9


def compared(rows: Sequence[Row]) -> list[Row]:
    """Hold our defences, cell by cell, against the paper's method and its package.

    The paper's method is the preset for the dataset: clustering, or concentration for multi-hop
    questions. "no_worse" says that no more poison is left and no more benign passages are lost;
    "margin" is the smaller of the two advantages, below 0 where it is worse.
    """
    cells: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        key = tuple(row[name] for name in _PLACE)
        cells.setdefault(key, {})[row["defence"]] = row
    out = []
    for key, by_name in cells.items():
        multi_hop = key[0] in _MULTI_HOP
        paper = "paper concentration" if multi_hop else "paper clustering"
        package = "package multi_hop" if multi_hop else "package single_hop"
        names = [name for name in (*_OURS, paper, package) if name in by_name]
        shares = {name: _shares(by_name[name]) for name in names}
        detected, lost = shares[paper]
        found: Row = dict(zip(_PLACE, key, strict=True))
        found["questions"] = by_name[paper]["questions"]
        labels = {paper: "paper", package: "package"}
        for name in (*_OURS, paper, package):
            label = labels.get(name, name)
            known = shares.get(name)
            found[f"{label}: detected"] = None if known is None else round(known[0], 4)
            found[f"{label}: benign lost"] = None if known is None else round(known[1], 4)
        for name in _OURS:
            margin = min(shares[name][0] - detected, lost - shares[name][1])
            found[f"{name}: margin"] = round(margin, 4)
            found[f"{name}: no_worse"] = margin >= -_EPSILON
        out.append(found)
    return out


def _shares(row: Row) -> tuple[float, float]:
    return row["poison_removed"] / row["poison"], row["benign_removed"] / row["benign"]


def tables(cells: Sequence[Row]) -> Iterator[Table]:
    """Yield the cells side by side, and then the worst one of each of our defences."""
    columns = ("dataset", "texts", "form", "ratio", "embedder", "questions")
    labels = (*_OURS, "paper", "package")
    verdicts = tuple(f"{name} no worse" for name in _OURS)
    rows = []
    for cell in cells:
        place = (cell["dataset"], cell["kind"], cell["form"], f"{cell['ratio']}x", cell["embedder"])
        rows.append(
            (
                *place,
                str(cell["questions"]),
                *(_pair(cell, label) for label in labels),
                *("yes" if cell[f"{name}: no_worse"] else "no" for name in _OURS),
            )
        )
    yield Table("Poison detected / benign passages lost", columns + labels + verdicts, tuple(rows))
    worst = []
    for name in _OURS:
        cell = min(cells, key=lambda cell: cell[f"{name}: margin"])
        good = sum(cell[f"{name}: no_worse"] for cell in cells)
        where = ", ".join(str(cell[field]) for field in _PLACE)
        worst.append(
            (
                name,
                f"{good} of {len(cells)}",
                where,
                _pair(cell, name),
                _pair(cell, "paper"),
                f"{100 * cell[f'{name}: margin']:+.1f}",
                str(cell["questions"]),
            )
        )
    yield Table(
        "Against the paper's method",
        (
            *("defence", "cells no worse", "worst cell", "there", "paper there"),
            *("margin, points", "questions there"),
        ),
        tuple(worst),
    )


def _pair(cell: Row, label: str) -> str:
    detected, lost = cell[f"{label}: detected"], cell[f"{label}: benign lost"]
    return "-" if detected is None else f"{detected:.1%} / {lost:.1%}"


def summaries(cells: Sequence[Row]) -> Iterator[Table]:
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
        worst = min(rows, key=lambda row: row["ragguard: margin"])
        place = ", ".join(str(worst[name]) for name in _CELL)
        yield _protocol(f"{title}, worst cell", "cell", {place: [worst]})


_CELL = ("dataset", "kind", "ratio", "embedder")
_DEFENCES = ("ragguard", "ragguard 3x", "paper", "package")


def _protocol(title: str, name: str, parts: Mapping[str, Sequence[Row]]) -> Table:
    body = []
    for label, rows in parts.items():
        good = sum(row["ragguard: no_worse"] for row in rows)
        body.append((label, *(_means_of(rows, one) for one in _DEFENCES), f"{good} of {len(rows)}"))
    return Table(
        f"{title}: poison removed / benign removed",
        (name, *_DEFENCES, "cells no worse"),
        tuple(body),
    )


def _means_of(rows: Iterable[Row], defence: str) -> str:
    """Return the means over cells; those that the package was not run in are left out."""
    known = [row for row in rows if row[f"{defence}: detected"] is not None]
    if not known:
        return "-"
    means = (fmean(row[f"{defence}: {what}"] for row in known) for what in _MEASURES)
    return " / ".join(f"{100 * mean:.1f} %" for mean in means)


_MEASURES = ("detected", "benign lost")
