"""One page of HTML that needs nothing beside it: heat map, charts and tables of a suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.metrics.counting import attributed
from benchmarks.metrics.intervals import Rate
from benchmarks.report.curves import by_reader, curves
from benchmarks.report.figures import Shown, suite_tables, title_of
from benchmarks.report.table import Table

_STYLE = Path(__file__).with_name("page.css")
_MEASURES = {"dacc": "DACC", "fpr": "FPR", "fnr": "FNR"}


def page(title: str, about: Mapping[str, Any], found: Sequence[Shown]) -> str:
    """Return the page.

    Args:
        title: What the suite answers.
        about: Versions, machine and command of the run.
        found: Its cells.
    """
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


def _mean(found: Sequence[Shown], name: str) -> float | None:
    values = [one.figures[name] for one in found if one.figures]
    rates = [(one.value, one.count) for one in values if isinstance(one, Rate)]
    known = [(value, count) for value, count in rates if value is not None]
    total = sum(count for _, count in known)
    return sum(value * count for value, count in known) / total if total else None


def _heat_map(reader: str, found: Sequence[Shown]) -> str:
    planted = next((one.cell.planted for one in found if one.cell.planted), 0)
    here = [one for one in found if one.cell.planted in (0, planted)]
    attacks = list(dict.fromkeys(one.cell.attack for one in here))
    defences = list(dict.fromkeys(one.cell.method for one in here))
    lines = []
    for attack in attacks:
        cells = []
        for defence in defences:
            chosen = [
                one for one in here if (one.cell.attack, one.cell.method) == (attack, defence)
            ]
            value, right = _mean(chosen, "attack_success"), _mean(chosen, "accuracy")
            if value is None or right is None:
                reasons = ", ".join({one.reason for one in chosen}) or "not in the suite"
                cells.append(f"<td class='heat' title='{escape(reasons)}'>-</td>")
            else:
                cells.append(
                    f"<td class='heat' style='--heat:{100 * value:.0f}%'"
                    f" title='{right:.0%} right answers'>{100 * value:.0f} %</td>"
                )
        lines.append(f"<tr><th>{escape(title_of('attacks', attack))}</th>{''.join(cells)}</tr>")
    heads = "".join(f"<th>{escape(title_of('defences', one))}</th>" for one in defences)
    return (
        f"<section><h2>How often the attacker's answer is given</h2>"
        f"<p>{escape(title_of('readers', reader))}, {planted} planted;"
        " right answers are under the pointer.</p>"
        "<div class='wide'>"
        f"<table class='heatmap'><thead><tr><th></th>{heads}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div></section>"
    )


def _blame(found: Sequence[Shown]) -> str:
    """Methods and measures down, attacks across, as RAGOrigin's tables are; the best are bold."""
    if not found:
        return ""
    attacks = list(dict.fromkeys(one.cell.attack for one in found))
    methods = list(dict.fromkeys(one.cell.method for one in found))
    values: dict[tuple[str, str, str], float] = {}
    for attack in attacks:
        for method in methods:
            chosen = [
                one for one in found if (one.cell.attack, one.cell.method) == (attack, method)
            ]
            counts = attributed([row for one in chosen for row in one.rows])
            for name in _MEASURES:
                rate = counts[name]
                if isinstance(rate, Rate) and rate.value is not None:
                    values[attack, method, name] = rate.value
    lines = []
    for method in methods:
        for number, (name, said) in enumerate(_MEASURES.items()):
            cells = []
            for attack in attacks:
                value = values.get((attack, method, name))
                others = [values[key] for key in values if key[0] == attack and key[2] == name]
                best = value == (max if name == "dacc" else min)(others, default=None)
                text = "-" if value is None else f"{value:.2f}"
                cells.append(f"<td>{f'<b>{text}</b>' if best else text}</td>")
            title = escape(title_of("attributors", method))
            head = f"<th rowspan='{len(_MEASURES)}'>{title}</th>" if number == 0 else ""
            lines.append(f"<tr>{head}<td>{said}</td>{''.join(cells)}</tr>")
    heads = "".join(f"<th>{escape(title_of('attacks', attack))}</th>" for attack in attacks)
    return (
        "<section><h2>Who is blamed for a wrong answer</h2><p>Shares over the texts in scope, as in"
        " RAGOrigin's tables; the best of each attack is bold.</p><div class='wide'>"
        f"<table class='blame'><thead><tr><th>method</th><th>measure</th>{heads}</tr></thead>"
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
