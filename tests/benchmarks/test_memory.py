"""What a defence takes of memory, in new processes."""

import sys

import pytest

from benchmarks import memory
from benchmarks.tables import tables


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_a_guard_takes_memory_and_no_defence_none(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(memory, "known", lambda _: ["none", "ragguard"])
    assert memory.main(["--limit", "3"]) == 0
    assert "Memory that a defence takes" in capsys.readouterr().out
    nothing, ours = (
        {"defence": name, "sets": 3, "before": 90.0, "grown": grown}
        for name, grown in (("no defence", 0.0), ("ragguard", 38.96))
    )
    (table,) = tables({"memory": [nothing, ours]})
    assert table.rows[1] == ("ragguard", "3", "90", "39.0")
