"""Tables of strings, and how rows of a result become their lines and cells."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table as RichTable

Row = dict[str, Any]
Rows = list[Row]  # what is measured, a row each
Sections = Mapping[str, Any]  # rows, or whatever else is measured, by the name of the section
Text = str | Callable[[Row], str]  # the name of a field, or what makes a cell of a row


@dataclass(frozen=True)
class Table:
    """A table of strings with a title."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def listed(title: str, rows: Iterable[Row], columns: Mapping[str, Text]) -> Table:
    """Return a table with a line for each row; each head has what stands below it."""
    lines = tuple(tuple(_text(row, one) for one in columns.values()) for row in rows)
    return Table(title, tuple(columns), lines)


def as_is(title: str, rows: Iterable[Row]) -> Table:
    """Return the rows as a table, a column for each of their fields."""
    rows = list(rows)
    fields = dict.fromkeys(name for row in rows for name in row)
    lines = tuple(tuple(str(row.get(name, "")) for name in fields) for row in rows)
    return Table(title, tuple(fields), lines)


def crossed(
    title: str,
    rows: Sequence[Row],
    down: Mapping[str, Text],
    across: Text,
    cell: Callable[[Row], str],
) -> Table:
    """Return a table with a line and a column for each of the values that rows have.

    `down` has the heads of the first columns, each with what tells lines apart; `across` tells
    columns apart, and is their head; `cell` is made of the sum of the rows there. Lines and columns
    stand in the order of the rows.
    """
    cells: dict[tuple[str, ...], dict[str, list[Row]]] = {}
    for row in rows:
        line = cells.setdefault(tuple(_text(row, one) for one in down.values()), {})
        line.setdefault(_text(row, across), []).append(row)
    columns = dict.fromkeys(_text(row, across) for row in rows)
    lines = tuple(
        (*head, *(cell(summed(line[one])) if one in line else "" for one in columns))
        for head, line in cells.items()
    )
    return Table(title, (*down, *columns), lines)


def _text(row: Row, how: Text) -> str:
    return str(row[how]) if isinstance(how, str) else how(row)


def grouped(rows: Iterable[Row], *fields: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return the rows by their values of these fields, in order."""
    out: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        out.setdefault(tuple(row[name] for name in fields), []).append(row)
    return out


def summed(rows: Sequence[Row], *fields: str) -> dict[str, Any]:
    """Return one row with the sums of all counts, and these fields as the first row has them."""
    counts = {
        name: sum(row[name] for row in rows if isinstance(row.get(name), int))
        for name, value in rows[0].items()
        if isinstance(value, int)
    }
    return {**counts, **{name: rows[0][name] for name in fields}}


def pooled(rows: Iterable[Row], *by: str) -> Rows:
    """Return a row of sums for each of the values that rows have in these fields."""
    return [summed(part, *by) for part in grouped(rows, *by).values()]


def share(part: int, whole: int, digits: int = 1) -> str:
    """Return a share in per cent, or a dash where there is nothing to have a share of."""
    return f"{100 * part / whole:.{digits}f} %" if whole else "-"


def ratio(part: str, whole: str, digits: int = 1) -> Callable[[Row], str]:
    """Return what gives the share that one count of a row has in another."""
    return lambda row: share(row[part], row[whole], digits)


def shares(*pairs: tuple[str, str]) -> Callable[[Row], str]:
    """Return what gives the share that one count of a row has in another, for each pair."""
    return lambda row: " / ".join(ratio(*pair)(row) for pair in pairs)


def number(field: str, form: str = ".3f") -> Callable[[Row], str]:
    """Return what writes a field of a row as a number, or a dash where it has none."""
    return lambda row: "-" if row[field] is None else format(row[field], form)


def as_markdown(table: Table) -> str:
    head, *rows = (f"| {' | '.join(row)} |" for row in (table.columns, *table.rows))
    rule = f"|{'---|' * len(table.columns)}"
    return "\n".join([f"**{table.title}**", "", head, rule, *rows, ""])


def as_rich(table: Table) -> RichTable:
    out = RichTable(*table.columns, title=table.title, title_justify="left")
    for row in table.rows:
        out.add_row(*row)
    return out
