"""The outage benchmark answers queries through every fault of a SQLite file."""

import pytest

from benchmarks.outages import large_quarantines, on_sqlite


@pytest.mark.slow
def test_what_is_felt_of_a_sqlite_file(tmp_path):
    rows = [outage.felt() for outage in on_sqlite(tmp_path, seconds=2.5, listed=50)]
    assert [row.fault for row in rows][:3] == [
        "none",
        "held by another process",
        "deleted, made anew by another process",
    ]
    for row in rows:
        assert row.queries > 0
        assert row.seen_s is not None
        assert row.stored == row.filed > 0
        assert row.close_s is not None
        assert row.max_ms >= row.p99_ms > 0.0


@pytest.mark.slow
def test_large_quarantines(tmp_path):
    [row] = large_quarantines(tmp_path, [10])
    assert row["keys"] == 10
    assert row["slowest_query_ms"] > 0.0
