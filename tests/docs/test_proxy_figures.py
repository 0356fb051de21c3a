"""The figures of docs/proxies.md are those of committed results."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.report.result import read

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = (ROOT / "docs" / "proxies.md").read_text(encoding="utf-8")

QUANTISATION = "| {} | {:.1f} % | {:.1f} % | {:g} | {:g} | {:g} |"
ROUNDED = "| {} | {:.1f} % | {:.1f} % | {:.2f} |"
COST = "| {} | {:.3g} | {:.3g} | {:,.1f} | "
SPEED = "| {} | {:.1f} | {:.0f} | {:.0f} |"


def test_speed():
    for row in read(RESULTS / "real_model.json")["sections"]["speed"]:
        read_per_s, written_per_s = (
            row[name] / row[f"{name}_processor_s"] for name in ("read", "written")
        )
        values = (row["threads"], row["scope_processor_s"], read_per_s, written_per_s)
        assert SPEED.format(*values) in PAGE


def test_rounded_weights():
    for row in read(RESULTS / "rounded_weights.json")["sections"]["rounded_weights"]:
        values = (row["form"], 100 * row["same_blame"], 100 * row["relative_error"])
        assert ROUNDED.format(*values, row["processor_s"]) in PAGE
        assert (row["relative_error"] > row["limit"]) is (row["form"] != "as exported")


def test_quantisation():
    for row in read(RESULTS / "quantisation.json")["sections"]["quantisation"]:
        line = QUANTISATION.format(
            row["export"],
            100 * row["identical_sets"],
            100 * row["identical_with_blame"],
            row["gc_mean_difference"],
            row["relative_error"],
            row["megabytes"],
        )
        assert line in PAGE
        assert row["gate"] == "passes" or "int8" in row["export"]


@pytest.mark.parametrize("shape", ["0.5b", "20m"])
def test_cost(shape):
    found = read(RESULTS / f"proxy_cost_{shape}.json")["sections"]["proxy_cost"]
    assert f"{found['tokens']:,} tokens" in PAGE
    for row in found["rows"]:
        values = (row[name] for name in ("processor_s", "fastest_processor_s", "times_faster"))
        assert COST.format(row["contender"], *values) in PAGE
