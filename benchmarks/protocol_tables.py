"""Ours against the paper's method, cell by cell: what `benchmarks.protocol` says in the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from benchmarks.report.table import Row, Table, Text, grouped, listed

_MULTI_HOP = frozenset({"hotpotqa"})
_OURS = ("ragguard", "ragguard 3x")
_DEFENCES = (*_OURS, "paper", "package")
_PLACE = ("dataset", "kind", "form", "ratio", "embedder")
_EPSILON = 1e-9


def compared(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Hold our defences, cell by cell, against the paper's method and its package.

    The paper's method is the preset for the dataset: clustering, or concentration for multi-hop
    questions. "no_worse" says that no more poison is left and no more benign passages are lost;
    "margin" is the smaller of the two advantages, below 0 where it is worse.
    """
    out = []
    for key, cell in grouped(rows, *_PLACE).items():
        by_name = {row["defence"]: row for row in cell}
        multi_hop = key[0] in _MULTI_HOP
        names = dict(zip(_OURS, _OURS, strict=True)) | {
            "paper": "paper concentration" if multi_hop else "paper clustering",
            "package": "package multi_hop" if multi_hop else "package single_hop",
        }
        shares = {label: _shares(by_name[name]) for label, name in names.items() if name in by_name}
        found = dict(zip(_PLACE, key, strict=True))
        found["questions"] = by_name[names["paper"]]["questions"]
        for label in names:
            known = shares.get(label)
            found[f"{label}: detected"] = None if known is None else round(known[0], 4)
            found[f"{label}: benign lost"] = None if known is None else round(known[1], 4)
        detected, lost = shares["paper"]
        for name in _OURS:
            margin = min(shares[name][0] - detected, lost - shares[name][1])
            found[f"{name}: margin"] = round(margin, 4)
            found[f"{name}: no_worse"] = margin >= -_EPSILON
        out.append(found)
    return out


def _shares(row: Row) -> tuple[float, float]:
    return row["poison_removed"] / row["poison"], row["benign_removed"] / row["benign"]


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield for every form the means by ratio and by kind of attack, and the worst cell."""
    for (form,), rows in grouped(sections["cells"], "form").items():
        title = f"RAGDefender's protocol, form {form}"
        for name, field in (("poisoned : benign", "ratio"), ("texts", "kind")):
            parts = {str(key[0]): part for key, part in grouped(rows, field).items()}
            yield _means(f"{title}, by {field}", name, parts)
        worst = min(rows, key=lambda row: float(row["ragguard: margin"]))
        place = ", ".join(str(worst[name]) for name in _PLACE if name != "form")
        yield _means(f"{title}, worst cell", "cell", {place: [worst]})


def _means(title: str, name: str, parts: Mapping[str, Sequence[Row]]) -> Table:
    def good(line: Row) -> str:
        rows = parts[line["name"]]
        return f"{sum(row['ragguard: no_worse'] for row in rows)} of {len(rows)}"

    columns: dict[str, Text] = {name: "name"}
    columns |= {one: partial(_mean, parts, one) for one in _DEFENCES}
    return listed(
        f"{title}: poison removed / benign removed",
        [{"name": label} for label in parts],
        {**columns, "cells no worse": good},
    )


def _mean(parts: Mapping[str, Sequence[Row]], defence: str, line: Row) -> str:
    """Return the means over cells; those that the package was not run in are left out."""
    known = [row for row in parts[line["name"]] if row[f"{defence}: detected"] is not None]
    if not known:
        return "-"
    means = (fmean(row[f"{defence}: {what}"] for row in known) for what in _MEASURES)
    return " / ".join(f"{100 * mean:.1f} %" for mean in means)


_MEASURES = ("detected", "benign lost")
