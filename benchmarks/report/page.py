"""One page of HTML that needs nothing beside it: heat map, charts and tables of a suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.report.curves import by_reader, curves
from benchmarks.report.figures import Shown, pivot, share, suite_tables, title_of
from benchmarks.report.table import Table

_STYLE = Path(__file__).with_name("page.css")
_MEASURES = {"dacc": "DACC", "fpr": "FPR", "fnr": "FNR"}


def page(title: str, about: Mapping[str, Any], found: Sequence[Shown]) -> str:
    """Return the page."""
    drawn = curves(found)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width'>",
        f"<title>{escape(title)}</title><style>{_STYLE.read_text(encoding='utf-8')}</style></head>",
        f"<body><header><h1>{escape(title)}</h1>",
        f"<p>{escape(_sample(found))}</p></header><main>",
        *(_heat_map(reader, here) for reader, here in by_reader(found)),
        f"<section class='charts'>{drawn}</section>" if drawn else "",
        _blame([one for one in found if one.cell.room == "attributors" and one.rows]),
        "<h2>All tables</h2>",
        *map(_table, suite_tables(found)),
        "</main><footer>",
        f"ragguard {escape(str(about.get('ragguard', '')))},"
        f" {escape(str(about.get('date', '')))}, {escape(_machine(about))}."
        f"<br><code>{escape(str(about.get('command', '')))}</code></footer></body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _sample(found: Sequence[Shown]) -> str:
    """Say what the page is made from."""
    datasets = dict.fromkeys(one.cell.dataset for one in found)
    rows = sum(len(one.rows) for one in found)
    empty = sum(bool(one.reason) for one in found)
    said = f"{len(found)} cells, {rows:,} rows; data: {', '.join(datasets)}."
    return f"{said} {empty} cells are empty, for the reasons below." if empty else said


def _machine(about: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in about.get("machine", {}).items())


def _heat_map(reader: str, found: Sequence[Shown]) -> str:
    planted = next((one.cell.planted for one in found if one.cell.planted), 0)
    here = [one for one in found if one.cell.planted in (0, planted)]
    attacks, methods, rows = pivot(here)
    reasons = {(one.cell.attack, one.cell.method): one.reason for one in here}
    lines = []
    for attack in attacks:
        cells = []
        for _, method in methods:
            if part := rows.get((attack, method)):
                value, right = (share(part, name) for name in ("attack_success", "accuracy"))
                cells.append(
                    f"<td class='heat' style='--heat:{100 * (value or 0):.0f}%'"
                    f" title='{right or 0:.0%} right answers'>{100 * (value or 0):.0f} %</td>"
                )
            else:
                reason = reasons.get((attack, method)) or "not in the suite"
                cells.append(f"<td class='heat' title='{escape(reason)}'>-</td>")
        lines.append(f"<tr><th>{escape(title_of('attacks', attack))}</th>{''.join(cells)}</tr>")
    note = f"{title_of('readers', reader)}, {planted} planted; right answers are under the pointer."
    heads = ["", *(title_of(room, method) for room, method in methods)]
    return _section("How often the attacker's answer is given", note, "heatmap", heads, lines)


def _blame(found: Sequence[Shown]) -> str:
    """Methods and measures down, attacks across, as RAGOrigin's tables are; the best are bold."""
    if not found:
        return ""
    attacks, methods, rows = pivot(found)
    values = {
        (attack, method, name): share(part, name)
        for (attack, method), part in rows.items()
        for name in _MEASURES
    }
    lines = []
    for room, method in methods:
        head = f"<th rowspan='{len(_MEASURES)}'>{escape(title_of(room, method))}</th>"
        for name, said in _MEASURES.items():
            cells = []
            for attack in attacks:
                value = values.get((attack, method, name))
                others = [values.get((attack, other, name)) for _, other in methods]
                known = [one for one in others if one is not None]
                best = value == (max if name == "dacc" else min)(known, default=None)
                text = "-" if value is None else f"{value:.2f}"
                cells.append(f"<td>{f'<b>{text}</b>' if best else text}</td>")
            lines.append(f"<tr>{head}<td>{said}</td>{''.join(cells)}</tr>")
            head = ""
    note = (
        "Shares over the texts in scope, as in RAGOrigin's tables; the best of each attack is bold."
    )
    heads = ["method", "measure", *(title_of("attacks", attack) for attack in attacks)]
    return _section("Who is blamed for a wrong answer", note, "blame", heads, lines)


def _section(title: str, note: str, kind: str, heads: Sequence[str], lines: Sequence[str]) -> str:
    cells = "".join(f"<th>{escape(head)}</th>" for head in heads)
    return (
        f"<section><h2>{title}</h2><p>{escape(note)}</p><div class='wide'>"
        f"<table class='{kind}'><thead><tr>{cells}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div></section>"
    )


def _table(table: Table) -> str:
    heads = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    lines = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    return (
        f"<details><summary>{escape(table.title)}</summary><div class='wide'>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div></details>"
    )
