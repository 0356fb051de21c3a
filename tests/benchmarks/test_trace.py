"""The command that follows a query and an event through the modules."""

from benchmarks.report.result import read
from tests.benchmarks import trace


def test_every_scene_is_traced(tmp_path, capsys):
    out = tmp_path / "trace.json"
    assert trace.main(["--json", str(out)]) == 0
    clean, attacked, event = read(out)["sections"]["scenes"]
    assert [row["scene"] for row in (clean, attacked)] == ["clean query", "attacked query"]
    assert clean["modules"] <= attacked["modules"]
    assert attacked["modules"] <= attacked["changes"] + 1 <= attacked["calls"]
    assert (clean["threads"], attacked["threads"]) == (1, 1)
    assert event["threads"] > 1
    entered = attacked["in_order_of_first_entry"].split()
    assert entered[0] == "guard"
    assert len(entered) == attacked["modules"]
    assert "passage" in capsys.readouterr().out
