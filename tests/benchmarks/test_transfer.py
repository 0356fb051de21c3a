"""What is left of a calibration's promise, on tiny data and on made-up scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy.stats import binom

from benchmarks import transfer
from benchmarks.datasets import Dataset, skerrin
from benchmarks.embedders import built_in
from benchmarks.transfer import interval, simulate, tables


@given(st.integers(1, 60), st.data())
def test_the_interval_ends_where_the_count_becomes_unlikely(whole, data):
    part = data.draw(st.integers(0, whole))
    low, high = interval(part, whole)
    assert 0.0 <= low <= part / whole <= high <= 1.0
    if part:
        assert binom.sf(part - 1, whole, low) == pytest.approx(0.025, abs=1e-6)
    if part < whole:
        assert binom.cdf(part, whole, high) == pytest.approx(0.025, abs=1e-6)


def test_the_interval_of_none_in_ten_is_known():
    assert interval(0, 10) == (0.0, pytest.approx(1 - 0.025 ** (1 / 10)))
    assert interval(10, 10) == (pytest.approx(0.025 ** (1 / 10)), 1.0)


def test_the_simulation_keeps_the_promise():
    scores = np.random.default_rng(1).normal(size=398)
    # 199 calibrate: rank floor(0.05 x 200) = 10 of 200 places.
    found = simulate(scores, alpha=0.05, splits=2000, seed=0)
    assert (found["calibrating"], found["judged"]) == (199, 199)
    assert found["promised"] == 0.05
    # A share of one split has a standard deviation of 0.022: the mean one of 0.0005.
    assert found["mean"] == pytest.approx(0.05, abs=0.002)
    assert found["quantile_5%"] < found["quantile_50%"] < found["quantile_95%"]


def test_too_few_scores_promise_nothing_and_touch_nothing():
    found = simulate(np.arange(20.0), alpha=0.05, splits=10, seed=0)
    assert (found["promised"], found["mean"]) == (0.0, 0.0)


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
    return transfer.run(datasets, [built_in()], Console(quiet=True))


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
def test_tables_name_every_kind(datasets, rows):
    simulated = transfer.simulations(
        datasets, [built_in()], splits=5, seed=0, errors=Console(quiet=True)
    )
    assert {row["traffic"] for row in simulated} == {"all", "large"}
    of_one, of_five, simulation = tables({"pairs": rows, "simulation": simulated})
    assert of_five.columns == ("calibrated on", "large", "small", "other")
    assert [row[0] for row in of_five.rows] == ["large", "own", "all others", "shipped"]
    assert [row[0] for row in of_one.rows] == ["shipped"]
    assert [row[0] for row in simulation.rows] == ["all", "large"]
    for table in (of_one, of_five, simulation):
        assert all(len(row) == len(table.columns) for row in table.rows)
