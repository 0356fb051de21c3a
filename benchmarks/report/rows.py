"""A suite's result as rows without text: what is committed, and what figures are made anew from."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.cells import Cell
from benchmarks.report.figures import Shown, judged
from benchmarks.report.result import read

_ROWS = {"defences": "suite_rows", "attributors": "suite_events"}


def sections_of(found: Sequence[Shown]) -> dict[str, Any]:
    """Return cells and rows as sections of a result; a row names its cell by number."""
    cells = []
    sections: dict[str, list[dict[str, Any]]] = {"suite_rows": [], "suite_events": []}
    for number, one in enumerate(found):
        fields = {name: value for name, value in asdict(one.cell).items() if name != "versions"}
        cells.append({**fields, "id": one.cell.id, "reason": one.reason})
        rows = ({name: row[name] for name in row if name != "known"} for row in one.rows)
        sections[_ROWS[one.cell.room]] += [{"cell": number, **row} for row in rows]
    return {"suite_cells": cells, **{name: rows for name, rows in sections.items() if rows}}


def of_sections(sections: Mapping[str, Any]) -> list[Shown]:
    """Return the cells of a result with their figures, counted anew."""
    rows: dict[int, list[Mapping[str, Any]]] = {}
    for name in _ROWS.values():
        for row in sections.get(name, ()):
            rows.setdefault(row["cell"], []).append(row)
    kept = {}
    for number, fields in enumerate(sections["suite_cells"]):
        cell = Cell(**{name: fields[name] for name in fields if name not in ("id", "reason")})
        kept[cell.key] = (cell, rows.get(number, []), fields["reason"])
    return judged(kept)


def read_rows(path: Path) -> list[Shown]:
    return of_sections(read(path)["sections"])
