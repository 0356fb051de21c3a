"""What many tenants cost, and what the page says of it."""

import json

from benchmarks import tenants
from benchmarks.report.result import read
from tests.docs.claims import ROOT, claim


def test_many_tenants_and_one_are_measured_alike(monkeypatch, tmp_path):
    monkeypatch.setattr(tenants, "_SETS", 2)
    monkeypatch.setattr(tenants, "_ROUNDS", 2)
    monkeypatch.setattr(tenants, "_CHANGES", 2)
    path = tmp_path / "out.json"
    assert tenants.main(["--tenants", "3", "--entries", "30", "--json", str(path)]) == 0
    rows = read(path)["sections"]["tenants"]
    assert [(row["tenants"], row["entries"]) for row in rows] == [(1, 30), (3, 30)]
    assert all(row[name] > 0 for row in rows for name in ("load_s", "mib", "seen_ms", "own_ms"))
    (table,) = tenants.tables(rows)
    assert len(table.rows) == 2
    assert json.loads(path.read_text())


def test_what_tenants_cost_is_published():
    rows = read(ROOT / "benchmarks" / "results" / "tenants.json")["sections"]["tenants"]
    said = claim("docs/operations.md", "what tenants cost")
    for row in rows:
        assert f"{row['mib']:.0f} MiB and {row['load_s']:.1f} s" in said
        assert f"{row['seen_ms']:.0f} ms" in said
    one, many = rows
    assert f"{many['own_ms']:.2f} ms for a tenant who has some" in said
    assert f"{many['none_ms']:.2f} ms for one who" in said
    assert many["own_ms"] < 1.1 * one["own_ms"]
    assert many["mib"] < 1.2 * one["mib"]
