"""What is left of a calibration's promise, on tiny data."""

import pytest

from benchmarks import transfer
from benchmarks.datasets import Dataset, skerrin
from benchmarks.embedders import built_in
from benchmarks.transfer import tables


@pytest.fixture(scope="module")
def datasets():
    records = skerrin().records
    # The first kind is large enough for 5 %, the second only together with others.
    return [
        Dataset("large", records[:40], split=True),
        Dataset("small", records[40:52], split=True),
        Dataset("other", records[52:64], split=True),
    ]


@pytest.fixture(scope="module")
def rows(datasets):
    return transfer.run(datasets, [built_in()])


@pytest.mark.slow
def test_a_kind_calibrates_only_for_what_its_size_allows(rows):
    made = {
        (row["how"], row["calibrated"], row["tested"])
        for row in rows
        if (row["alpha"], row["k"], row["over_fetch"]) == (0.05, 5, 1)
    }
    assert made == {
        ("own", "large", "large"),
        ("other", "large", "small"),
        ("other", "large", "other"),
        ("all others", "small+other", "large"),
        ("all others", "large+other", "small"),
        ("all others", "large+small", "other"),
        *(("shipped", "shipped", name) for name in ("large", "small", "other")),
    }
    # None has 99 queries, not even together.
    assert {row["how"] for row in rows if row["alpha"] == 0.01} == {"shipped"}


@pytest.mark.slow
def test_rows_count_the_report_half(rows):
    for row in rows:
        assert row["queries"] == (20 if row["tested"] == "large" else 6)
        assert 0 <= row["golden_removed"] <= row["golden"] <= row["queries"]
        assert row["golden_removed"] <= row["touched"]
        assert row["low"] <= row["touched"] / row["queries"] <= row["high"]
    sizes = {(row["how"], row["calibrated"]): row["calibration_queries"] for row in rows}
    assert sizes["own", "large"] == 20
    assert sizes["other", "large"] == 40
    assert sizes["all others", "small+other"] == 24
    assert sizes["shipped", "shipped"] == 0


@pytest.mark.slow
def test_tables_name_every_kind(rows):
    of_one, of_five = tables({"pairs": rows})
    assert of_five.columns == ("calibrated on", "large", "small", "other")
    assert [row[0] for row in of_five.rows] == ["large", "own", "all others", "shipped"]
    assert [row[0] for row in of_one.rows] == ["shipped"]
    for table in (of_one, of_five):
        assert all(len(row) == len(table.columns) for row in table.rows)
