"""The table of the README says what the tables of the benchmark say."""

from __future__ import annotations

import pytest

from tests.docs.claims import ROOT

TABLES = (ROOT / "benchmarks" / "TABLES.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTENDERS = ("ragguard", "ragguard 3x", "package single_hop", "paper clustering")


def cells(line):
    return [cell.strip(" *") for cell in line.strip("| ").split("|")]


def measured(title, *start):
    """The rows of a table that begin so, by defence, at k = 5."""
    (table,) = [part for part in TABLES.split("<!-- results/") if f": {title} -->" in part]
    lines = [cells(line) for line in table.splitlines() if line.startswith("|")]
    head, rows = lines[0], [row for row in lines[2:] if row[: len(start)] == [*start]]
    return {row[head.index("defence")]: dict(zip(head, row, strict=True)) for row in rows}


def shown(start):
    (line,) = [line for line in README.splitlines() if line.startswith(f"| {start}")]
    return cells(line)[1:]


@pytest.mark.parametrize(
    ("start", "column"),
    [
        ("clean queries touched", "touched"),
        ("passages removed from clean sets", "passages removed"),
        ("passage that answers removed", "golden passage removed"),
    ],
)
def test_clean(start, column):
    found = measured("Clean traffic, public data, hashed-ngrams-1024", "5")
    assert shown(start) == [found[one][column].replace("100.0", "100") for one in CONTENDERS]


@pytest.mark.parametrize(
    ("start", "form", "planted"),
    [
        ("question in front, 1 ", "prepend", "1"),
        ("question in front, up to 5", "prepend", "5"),
        ("no trace of the question, up to 5", "plain", "5"),
    ],
)
def test_attacked(start, form, planted):
    found = measured("Attacks, all kinds, public data, hashed-ngrams-1024", form, planted, "5")
    assert shown(start) == [
        f"{found[one]['poison removed'][:-2]} / {found[one]['benign removed']}".replace(
            "100.0", "100"
        )
        for one in CONTENDERS
    ]
