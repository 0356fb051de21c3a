"""What each reading of reading as meant is worth, on the project's own data."""

from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.clean import SIZES
from benchmarks.datasets import skerrin
from benchmarks.embedders import built_in
from benchmarks.tables import as_markdown
from benchmarks.writing import CLEAN, FORMS, READINGS, run, tables
from ragguard.inline import normalize, tokens
from ragguard.inline.features import consensus
from ragguard.inline.normalize import alignment


def parts():
    return normalize.STEPS, alignment.WHOLE, tokens.strip_markup, consensus.strip_markup


BEFORE = parts()


@pytest.fixture(scope="module")
def rows():
    console = Console(quiet=True)
    return run(Path(), [skerrin().limited(8)], built_in(), console)


@pytest.mark.slow
def test_every_reading_form_and_size_is_counted(rows):
    assert len(rows) == len(READINGS) * (1 + len(FORMS)) * len(SIZES)
    assert {row["sets"] for row in rows if row["form"] == CLEAN} == {8}
    assert all(0 <= row["fired"] <= row["sets"] for row in rows)


@pytest.mark.slow
def test_all_readings_read_every_form_and_each_is_needed_for_one(rows):
    fired = {(row["form"], row["reading"], row["k"]): row["fired"] for row in rows}
    for row in rows:
        if row["reading"] == "all" and row["form"] != CLEAN:
            assert row["fired"] >= 0.75 * row["sets"] > 0, row
    # Of the forms none has its errors elsewhere than at an edge, where "misspelt" is needed.
    for reading in READINGS.keys() - {"all", "no misspelt"}:
        assert any(
            fired[form, reading, k] < fired[form, "all", k] for form in FORMS for k in SIZES
        ), reading
    assert {
        fired[CLEAN, reading, k] - fired[CLEAN, "all", k] for reading in READINGS for k in SIZES
    } == {0}


@pytest.mark.slow
def test_what_was_left_out_is_back(rows):
    assert parts() == BEFORE


def test_the_table_leaves_out_what_is_as_with_all_readings():
    made = [
        {"reading": reading, "form": form, "k": k, "sets": 10, "fired": fired}
        for form, all_of_it, without in ((CLEAN, 0, 0), ("leet", 10, 4))
        for reading, fired in (("all", all_of_it), ("no signs", without))
        for k in SIZES
    ]
    (table,) = tables(made)
    assert table.columns == ("form", "sets", "all", "no signs")
    assert table.rows == (("clean", "20", "0.0 %", ""), ("leet", "20", "100.0 %", "40.0 %"))
    assert "| leet | 20 | 100.0 % | 40.0 % |" in as_markdown(table)
