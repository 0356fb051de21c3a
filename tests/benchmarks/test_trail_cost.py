"""What the trail costs: measured in short, and as it is published."""

import json

import pytest

from benchmarks.trail_cost import measure
from tests.docs.claims import ROOT, claim


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["memory", "sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def test_decisions_with_and_without_the_trail(request, kind):
    if kind == "postgresql":
        request.getfixturevalue("postgres_schemas")
    row = measure(kind, decisions=5, rows=20)
    assert (row["rows"], row["findings"], row["decisions"]) == (20, 0, 5)
    assert row["with_us"] > 0 < row["without_us"]


def test_what_the_trail_costs_is_published():
    text = (ROOT / "benchmarks" / "results" / "trail_cost.json").read_text(encoding="utf-8")
    rows = {row["store"]: row for row in json.loads(text)["rows"]}
    said = claim("docs/operations.md", "what the trail costs")
    memory = rows.pop("memory")
    assert (
        f"takes {memory['with_us']:.0f} us in memory instead of {memory['without_us']:.0f}" in said
    )
    for name, store in (("SQLite", "sqlite"), ("PostgreSQL", "postgresql")):
        with_ms, without_ms = (rows[store][f"{which}_us"] / 1000 for which in ("with", "without"))
        assert f"{with_ms:.1f} ms in {name} instead of {without_ms:.1f}" in said
    assert f"verified in {rows['sqlite']['verify_s']:.1f} s" in said
    assert not any(row["findings"] for row in rows.values())
