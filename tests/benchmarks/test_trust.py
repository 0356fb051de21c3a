"""What policies over sources cost, counted on the project's own data."""

from __future__ import annotations

from rich.console import Console

from benchmarks import trust
from benchmarks.datasets import skerrin
from benchmarks.embedders import built_in


def test_no_policy_drops_what_is_protected_and_none_finds_more_than_no_policy():
    data = skerrin().limited(6)
    found = trust.rows([data], built_in(), Console(stderr=True))
    clean = {row["policy"]: row for row in found if not row["form"]}
    assert list(clean) == ["none", "protected", "known 0.1", "known 0.3"]
    for row in found:
        plain = next(
            one
            for one in found
            if one["policy"] == "none"
            and (one["form"], one["planted_in"]) == (row["form"], row["planted_in"])
        )
        assert row["sets"] == plain["sets"]
        assert row["found"] <= plain["found"]
        assert row["benign"] >= row["not_open"]
    (table,) = trust.tables({"trust": found})
    assert len(table.rows) == len(found)


def test_sources_are_drawn_by_the_text_alone():
    drawn = [trust.source_of_hit(f"page {n}") for n in range(500)]
    assert drawn == [trust.source_of_hit(f"page {n}") for n in range(500)]
    assert 20 < drawn.count("protected") < 90
    assert 180 < drawn.count("known") < 320
