"""What the pages say of tenants and of the trail holds in the archived results."""

import json

from benchmarks.report.result import read
from tests.docs.claims import ROOT, claim

RESULTS = ROOT / "benchmarks" / "results"


def test_what_the_trail_costs():
    text = (RESULTS / "trail_cost.json").read_text(encoding="utf-8")
    rows = {row["store"]: row for row in json.loads(text)["rows"]}
    said = claim("docs/reports.md", "what the trail costs")
    memory = rows.pop("memory")
    assert (
        f"takes {memory['with_us']:.0f} us in memory instead of {memory['without_us']:.0f}" in said
    )
    for name, store in (("SQLite", "sqlite"), ("PostgreSQL", "postgresql")):
        with_ms, without_ms = (rows[store][f"{which}_us"] / 1000 for which in ("with", "without"))
        assert f"{with_ms:.1f} ms in {name} instead of {without_ms:.1f}" in said
    assert f"verified in {rows['sqlite']['verify_s']:.1f} s" in said
    assert not any(row["findings"] for row in rows.values())


def test_what_tenants_cost():
    rows = read(RESULTS / "tenants.json")["sections"]["tenants"]
    said = claim("docs/operations.md", "what tenants cost")
    for row in rows:
        assert f"{row['mib']:.0f} MiB and {row['load_s']:.1f} s" in said
        assert f"{row['seen_ms']:.0f} ms" in said
    one, many = rows
    assert f"{many['own_ms']:.2f} ms for a tenant who has some" in said
    assert f"{many['none_ms']:.2f} ms for one who" in said
    assert many["own_ms"] < 1.1 * one["own_ms"]
    assert many["mib"] < 1.2 * one["mib"]
