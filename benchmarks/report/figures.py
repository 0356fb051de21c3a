"""From the cells of a run to what its pages show.

What is committed of a suite are its rows without text, from which the figures are made anew.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.cells import Cell
from benchmarks.metrics.counting import Rate, attributed, figures, rate
from benchmarks.plugins import attack_named, find, known
from benchmarks.report.table import Row, Rows, Sections, Table, as_is, grouped
from ragguard.attribution.text_model import Prices, Usage

_ROWS = {"defences": "suite_rows", "attributors": "suite_events"}
_MANY, _FEW = 8, 6  # a table of more defences than many is also given for the few named first
_SUCCESS, _REMOVED = ("attack_success", "accuracy"), ("poison_removed", "benign_removed")
_GIVEN = {
    **{"attack_success": "of all", "attack_success_if_retrieved": "poison retrieved"},
    **{"attack_success_if_known": "clean answer right", "attack_success_if_both": "both"},
}
_DETECTED = {"detection_accuracy": "DACC", "benign_removed": "FPR", "poison_missed": "FNR"}
_PAID = {
    **{"accuracy": "right answers", "touched": "queries touched", "marked": "marked"},
    **{"benign_removed": "passages removed", "golden_removed": "golden passages removed"},
}
_BLAME = ("dacc", "fpr", "fnr")
_CHANGED = {"attack success": "attacked", "right answers": "right"}

Titles = dict[str, str]  # what tables call plug-ins, by name


@dataclass(frozen=True)
class Shown:
    """A cell with its figures and rows, as `figures` takes them, or the reason why it has none."""

    cell: Cell
    rows: Sequence[Row]
    reason: str
    figures: Mapping[str, Any]


def judged(kept: Mapping[tuple[Any, ...], tuple[Cell, Sequence[Row], str]]) -> list[Shown]:
    """Return cells with figures, given their rows and reasons by key."""
    found = []
    for cell, rows, reason in kept.values():
        clean = kept.get(cell.clean(), (cell, (), ""))[1]
        right = {row["question"] for row in clean if row["right"]}
        told = [{**row, "dataset": cell.dataset, "known": row["question"] in right} for row in rows]
        count = attributed if cell.room == "attributors" else figures
        found.append(Shown(cell, told, reason, count(told) if told else {}))
    return found


def sections_of(found: Sequence[Shown]) -> Sections:
    """Return cells and rows as sections of a result; a row names its cell by number."""
    cells = []
    sections: dict[str, Rows] = {"suite_rows": [], "suite_events": []}
    for number, one in enumerate(found):
        cells.append({**one.cell.fields, "id": one.cell.id, "reason": one.reason})
        for row in one.rows:
            told = {name: row[name] for name in row if name not in ("known", "dataset")}
            sections[_ROWS[one.cell.room]].append({"cell": number, **told})
    return {"suite_cells": cells, **{name: rows for name, rows in sections.items() if rows}}


def of_sections(sections: Sections) -> list[Shown]:
    """Return the cells of a result with their figures, counted anew."""
    rows = grouped((row for name in _ROWS.values() for row in sections.get(name, ())), "cell")
    kept = {}
    for number, fields in enumerate(sections["suite_cells"]):
        cell = Cell(**{name: fields[name] for name in fields if name not in ("id", "reason")})
        kept[cell.key] = (cell, rows.get((number,), []), fields["reason"])
    return judged(kept)


def title_of(room: str, name: str) -> str:
    """Return what tables call a plug-in; its name if it is not here."""
    plugin, *options = name.split() or [""]
    if plugin not in known(room):
        return name
    if room == "attacks":
        return attack_named(name)[0].about.title
    return " ".join([find(room, plugin).about.title, *options])


def suite_tables(found: Sequence[Shown], prices: Prices | None = None) -> Iterator[Table]:
    """Yield the tables of a suite, its first one the answer to the buyer's question.

    With the `prices` of the reader's tokens it is said what questions cost.
    """
    defended = [one for one in found if one.cell.room == "defences"]
    for reader, planted, k in dict.fromkeys(
        (one.cell.reader, one.cell.planted, one.cell.k) for one in defended if one.cell.planted
    ):
        place = (reader, k, planted), (reader, k, 0)
        here = [one for one in defended if (one.cell.reader, one.cell.k, one.cell.planted) in place]
        methods = {one.cell.method for one in here if one.cell.planted}
        chosen = [one for one in here if one.cell.method in methods]
        where = f"{title_of('readers', reader)}, {planted} planted, k = {k}"
        first = list(dict.fromkeys(one.cell.method for one in chosen))[:_FEW]
        if len(methods) > _MANY:
            few = [one for one in chosen if one.cell.method in first]
            yield _crossed(f"Attack success / right answers in short, % ({where})", few, _SUCCESS)
        yield _crossed(f"Attack success / right answers, % ({where})", chosen, _SUCCESS)
        yield _crossed(f"Poison removed / benign removed, % ({where})", chosen, _REMOVED)
        yield as_is(f"Attack success under four conditions ({where})", _attacked(chosen, _GIVEN))
        yield as_is(f"Detection: DACC / FPR / FNR ({where})", _attacked(chosen, _DETECTED))
    if clean := [one for one in defended if one.cell.attack == "none" and one.rows]:
        titles = "What honest users pay", "What a defence costs"
        yield from map(as_is, titles, zip(*_honest(clean, prices), strict=True))
    if blamed := [one for one in found if one.cell.room == "attributors"]:
        yield _crossed("Attribution: DACC / FPR / FNR, %", blamed, _BLAME)
    if empty := [one for one in found if one.reason]:
        yield _empty(empty)


def share(rows: Sequence[Row], name: str) -> float | None:
    """Return one figure of rows of one room, put together; None where there are none."""
    found: Rate = (attributed if name in _BLAME else figures)(rows)[name] if rows else rate(())
    return found.value


def rows_by(found: Sequence[Shown], *fields: str) -> dict[tuple[Any, ...], Rows]:
    """Return the rows of cells by these fields of the cells, in order of appearance."""
    rows: dict[tuple[Any, ...], Rows] = {}
    for one in found:
        place = tuple(getattr(one.cell, name) for name in fields)
        rows.setdefault(place, []).extend(one.rows)
    return rows


def pivot(found: Sequence[Shown]) -> tuple[Titles, Titles, dict[tuple[Any, ...], Rows]]:
    """Return the attacks and the methods with their titles, and the rows by attack and method."""
    attacks = {one.cell.attack: title_of("attacks", one.cell.attack) for one in found}
    methods = {one.cell.method: title_of(one.cell.room, one.cell.method) for one in found}
    return attacks, methods, rows_by(found, "attack", "method")


def _crossed(title: str, found: Sequence[Shown], names: Sequence[str]) -> Table:
    """Attacks down, methods across; a cell has these figures."""
    attacks, methods, rows = pivot(found)

    def cell(here: Sequence[Row]) -> str:
        shares = [share(here, name) for name in names] if here else []
        return " / ".join("-" if one is None else f"{100 * one:.0f}" for one in shares) or "-"

    body = []
    for attack, said in attacks.items():
        line = [rows.get((attack, method), []) for method in methods]
        body.append((said, str(max(map(len, line))), *map(cell, line)))
    return Table(title, ("attack", "questions", *methods.values()), tuple(body))


def _attacked(found: Sequence[Shown], names: Mapping[str, str]) -> Iterator[Row]:
    attacked = [one for one in found if one.cell.attack != "none" and one.rows]
    for (method,), rows in rows_by(attacked, "method").items():
        count = figures(rows)
        line: Row = {"defence": title_of("defences", method)}
        line |= {"questions": len(count["accuracy"].parts), "attacked sets": len(rows)}
        yield line | {said: count[name] for name, said in names.items()}


def _honest(found: Sequence[Shown], prices: Prices | None) -> Iterator[tuple[Row, Row]]:
    """Yield by defence what honest users pay for it, and what it costs."""
    for (reader, k, method), rows in rows_by(found, "reader", "k", "method").items():
        count = figures(rows)
        line: Row = {"defence": title_of("defences", method), "reader": title_of("readers", reader)}
        line |= {"k": k, "questions": len(count["accuracy"].parts)}
        paid = line | {said: count[name] for name, said in _PAID.items()}
        paid["attacker's answer by itself"] = f"{100 * count['attack_success'].value:.1f} %"
        costs = line | {f"ms, p{q}": f"{count[f'ms_p{q}']:.2f}" for q in (50, 95)}
        paid["answers asked for"] = costs["answers asked for"] = f"{count['calls']:.1f}"
        tokens = [count[name] for name in ("read", "written")]
        told = ["-" if one is None else f"{one:.0f}" for one in tokens]
        costs |= dict(zip(("tokens read", "tokens written"), told, strict=True))
        if prices is not None and None not in tokens:
            costs["price of 1,000 questions"] = f"{1000 * prices.of(Usage(0, *tokens)):.2f}"
        yield paid, costs


def _empty(found: Sequence[Shown]) -> Table:
    counted: Counter[tuple[str, ...]] = Counter()
    for one in found:
        method = title_of(one.cell.room, one.cell.method)
        counted[title_of("attacks", one.cell.attack), method, one.cell.dataset, one.reason] += 1
    lines = tuple((*line, str(count)) for line, count in counted.items())
    return Table("Cells without rows", ("attack", "method", "data", "why", "cells"), lines)


def compared(first: Sequence[Shown], second: Sequence[Shown]) -> Iterator[Row]:
    """Yield the difference of every cell that both hold, over the questions that both hold.

    Intervals are of the paired difference; a cell of other sources is the same cell here.
    """
    before = {one.cell.key: {row["question"]: row for row in one.rows} for one in first}
    for one in second:
        old = before.get(one.cell.key, {})
        both = [(old[row["question"]], row) for row in one.rows if row["question"] in old]
        if both and one.cell.room == "defences":
            line = {"data": one.cell.dataset, "attack": title_of("attacks", one.cell.attack)}
            line |= {"defence": title_of("defences", one.cell.method), "questions": str(len(both))}
            for said, part in _CHANGED.items():
                changed = rate([b[part] - a[part] for a, b in both])
                points = [100 * (one or 0.0) for one in (changed.value, *changed.ends)]
                line[said] = "{:+.1f} ({:+.1f} to {:+.1f})".format(*points)
            yield line
