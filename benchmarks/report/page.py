"""One page of HTML that needs nothing beside it: heat map, figures and tables of a suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from benchmarks.metrics.intervals import Rate
from benchmarks.report.figures import Shown, suite_tables, title_of
from benchmarks.report.table import Table

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem;
  color: #1c2330; background: #fff }
table { border-collapse: collapse; margin: 0 0 2rem; display: block; overflow-x: auto }
th, td { border: 1px solid #d5dae3; padding: .3rem .6rem; text-align: right; white-space: nowrap }
th { background: #f2f4f8; font-weight: 600; white-space: normal }
th:first-child, td:first-child { text-align: left }
td.heat { text-align: center; min-width: 5rem } figure { margin: 0 0 2rem }
small, figcaption { color: #5a6475 } code { background: #f2f4f8; padding: 0 .3rem }
"""
_COLOURS = ("#1b6ca8", "#c2410c", "#2f855a", "#7b3fa0", "#8a6d00", "#444")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 520, 260, 50, 40


def page(title: str, about: Mapping[str, Any], found: Sequence[Shown]) -> str:
    """Return the page.

    Args:
        title: What the suite answers.
        about: Versions, machine and command of the run.
        found: Its cells.
    """
    tables = list(suite_tables(found))
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f"<p><small>ragguard {escape(str(about.get('ragguard', '')))},"
        f" {escape(str(about.get('date', '')))}, <code>{escape(str(about.get('command', '')))}"
        f"</code><br>{escape(_machine(about))}</small></p>",
        *(_heat_map(reader, found) for reader in _readers(found)),
        *(_by_share(reader, found) for reader in _readers(found)),
        *map(_table, tables),
        "</body></html>\n",
    ]
    return "\n".join(part for part in parts if part)


def _machine(about: Mapping[str, Any]) -> str:
    machine = about.get("machine", {})
    return ", ".join(f"{name}: {value}" for name, value in machine.items())


def _readers(found: Sequence[Shown]) -> list[str]:
    return list(dict.fromkeys(one.cell.reader for one in found if one.cell.reader))


def _mean(found: Sequence[Shown], name: str) -> float | None:
    values = [one.figures[name] for one in found if one.figures]
    rates = [(one.value, one.count) for one in values if isinstance(one, Rate)]
    known = [(value, count) for value, count in rates if value is not None]
    total = sum(count for _, count in known)
    return sum(value * count for value, count in known) / total if total else None


def _heat_map(reader: str, found: Sequence[Shown]) -> str:
    here = [one for one in found if one.cell.reader == reader]
    attacks = list(dict.fromkeys(one.cell.attack for one in here))
    defences = list(dict.fromkeys(one.cell.method for one in here))
    lines = []
    for defence in defences:
        cells = []
        for attack in attacks:
            chosen = [
                one for one in here if (one.cell.attack, one.cell.method) == (attack, defence)
            ]
            value = _mean(chosen, "attack_success")
            if value is None:
                reasons = {one.reason for one in chosen}
                cells.append(f"<td class='heat' title='{escape(', '.join(reasons))}'>-</td>")
            else:
                cells.append(
                    f"<td class='heat' style='background:hsl(14 85% {97 - 47 * value:.0f}%)'>"
                    f"{100 * value:.0f} %</td>"
                )
        lines.append(f"<tr><td>{escape(title_of('defences', defence))}</td>{''.join(cells)}</tr>")
    heads = "".join(f"<th>{escape(title_of('attacks', attack))}</th>" for attack in attacks)
    return (
        f"<h2>How often the attacker's answer is given: {escape(title_of('readers', reader))}</h2>"
        f"<table class='heatmap'><tr><th></th>{heads}</tr>{''.join(lines)}</table>"
    )


def _by_share(reader: str, found: Sequence[Shown]) -> str:
    """Attack success by number of planted texts, one line a defence; "" with fewer than two."""
    here = [one for one in found if one.cell.reader == reader and one.cell.planted]
    counts = sorted({one.cell.planted for one in here})
    if len(counts) < 2:
        return ""
    lines = []
    for number, defence in enumerate(dict.fromkeys(one.cell.method for one in here)):
        points = []
        for count in counts:
            chosen = [
                one for one in here if (one.cell.planted, one.cell.method) == (count, defence)
            ]
            if (value := _mean(chosen, "attack_success")) is not None:
                points.append(f"{_across(count, counts):.0f},{_up(value):.0f}")
        colour = _COLOURS[number % len(_COLOURS)]
        y = 14 + 15 * number
        lines.append(
            f"<polyline fill='none' stroke='{colour}' points='{' '.join(points)}'/>"
            f"<text x='{_WIDTH + 8}' y='{y}' fill='{colour}' font-size='12'>"
            f"{escape(title_of('defences', defence))}</text>"
        )
    for count in counts:
        x = f"{_across(count, counts):.0f}"
        lines.append(f"<text x='{x}' y='{_HEIGHT - 20}' font-size='12'>{count}</text>")
    for share in (0.0, 0.5, 1.0):
        lines.append(f"<text x='4' y='{_up(share) + 4:.0f}' font-size='12'>{share:.0%}</text>")
    return (
        f"<figure><svg viewBox='0 0 {_WIDTH + 220} {_HEIGHT}' width='{_WIDTH + 220}' role='img'>"
        f"{''.join(lines)}</svg><figcaption>Attack success by number of planted texts, all attacks:"
        f" {escape(title_of('readers', reader))}</figcaption></figure>"
    )


def _across(count: int, counts: Sequence[int]) -> float:
    first, last = counts[0], counts[-1]
    return _LEFT + (_WIDTH - _LEFT - 20) * (count - first) / (last - first)


def _up(share: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - 20) * share


def _table(table: Table) -> str:
    heads = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    lines = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    return f"<h2>{escape(table.title)}</h2><table><tr>{heads}</tr>{lines}</table>"
