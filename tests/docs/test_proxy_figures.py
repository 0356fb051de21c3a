"""The figures of docs/proxies.md are those of committed results."""

from __future__ import annotations

from pathlib import Path

from benchmarks.report.result import read

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = (ROOT / "docs" / "proxies.md").read_text(encoding="utf-8")

ROUNDED = "| {} | {:.1f} % | {:.1f} % | {:.2f} |"
BY = {"CPUExecutionProvider": "ONNX Runtime", "OpenVINOExecutionProvider": "OpenVINO in bfloat16"}
SPEED = "| {} | {} | {:.2f} | {:.2f} | {:,.0f} | {:,.0f} |"


def test_speed():
    for row in read(RESULTS / "scope_speed.json")["sections"]["speed"]:
        seconds = row["scope_s"], row["scope_processor_s"]
        rates = [row[name] / row[f"{name}_s"] for name in ("read", "written")]
        line = SPEED.format(BY[row["provider"]], row["threads"], *seconds, *rates)
        if row["provider"] != "CPUExecutionProvider":  # it generates with ONNX Runtime
            line = line.rsplit("|", 3)[0]
        assert line in PAGE


def test_rounded_weights():
    for row in read(RESULTS / "rounded_weights.json")["sections"]["rounded_weights"]:
        values = (row["form"], 100 * row["same_blame"], 100 * row["relative_error"])
        assert ROUNDED.format(*values, row["processor_s"]) in PAGE
        assert (row["relative_error"] > row["limit"]) is (row["form"] != "as exported")


def test_how_much_faster_the_graph_is():
    for shape in ("0.5b", "20m"):
        found = read(RESULTS / f"proxy_cost_{shape}.json")["sections"]["proxy_cost"]["rows"]
        [row] = [row for row in found if row["contender"].startswith("OnnxProxy fp32")]
        assert f"{row['times_faster']:.1f}" in PAGE
