"""One page of HTML that needs nothing beside it: heat map, charts and tables of a suite."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader

from benchmarks.report.charts import by_reader, charts
from benchmarks.report.figures import Shown, pivot, share, suite_tables, title_of

_MEASURES = {"dacc": "DACC", "fpr": "FPR", "fnr": "FNR"}


def page(title: str, about: Mapping[str, Any], found: Sequence[Shown]) -> str:
    folder = FileSystemLoader(Path(__file__).parent)
    templates = Environment(loader=folder, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    blamed = [one for one in found if one.cell.room == "attributors" and one.rows]
    text: str = templates.get_template("page.html").render(
        title=title,
        about={"machine": {}, **about},
        sample=_sample(found),
        heat_maps=[_heat_map(reader, here) for reader, here in by_reader(found)],
        charts=charts(found),
        blamed=_blamed(blamed) if blamed else None,
        tables=list(suite_tables(found)),
    )
    return text


def _sample(found: Sequence[Shown]) -> str:
    datasets = dict.fromkeys(one.cell.dataset for one in found)
    rows = sum(len(one.rows) for one in found)
    empty = sum(bool(one.reason) for one in found)
    said = f"{len(found)} cells, {rows:,} rows; data: {', '.join(datasets)}."
    return f"{said} {empty} cells are empty, for the reasons below." if empty else said


def _heat_map(reader: str, found: Sequence[Shown]) -> dict[str, Any]:
    planted = next((one.cell.planted for one in found if one.cell.planted), 0)
    here = [one for one in found if one.cell.planted in (0, planted)]
    attacks, methods, rows = pivot(here)
    reasons = {(one.cell.attack, one.cell.method): one.reason for one in here}

    def cell(attack: str, method: str) -> tuple[str | None, str]:
        if part := rows.get((attack, method)):
            heat, right = (share(part, name) or 0.0 for name in ("attack_success", "accuracy"))
            return f"{100 * heat:.0f}", f"{right:.0%} right answers"
        return None, reasons.get((attack, method)) or "not in the suite"

    return {
        "reader": title_of("readers", reader),
        "planted": planted,
        "methods": [title_of(room, method) for room, method in methods],
        "lines": [
            (title_of("attacks", attack), [cell(attack, method) for _, method in methods])
            for attack in attacks
        ],
    }


def _blamed(found: Sequence[Shown]) -> dict[str, Any]:
    """Methods and measures down, attacks across, as RAGOrigin's tables are; the best are bold."""
    attacks, methods, rows = pivot(found)

    def cell(name: str, attack: str, method: str) -> tuple[str, bool]:
        shares = {one: share(rows.get((attack, one), ()), name) for _, one in methods}
        known = [one for one in shares.values() if one is not None]
        best = (max if name == "dacc" else min)(known, default=None)
        value = shares[method]
        return "-" if value is None else f"{value:.2f}", value is not None and value == best

    return {
        "attacks": [title_of("attacks", attack) for attack in attacks],
        "lines": [
            (
                title_of(room, method),
                [
                    (said, [cell(name, attack, method) for attack in attacks])
                    for name, said in _MEASURES.items()
                ],
            )
            for room, method in methods
        ],
    }
