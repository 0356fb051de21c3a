"""The command that follows a query and an event through the modules."""

from benchmarks import trace
from benchmarks.report.result import read


def test_every_scene_is_traced(tmp_path, capsys):
    out = tmp_path / "trace.json"
    assert trace.main(["--json", str(out)]) == 0
    sections = read(out)["sections"]
    whole = {row["scene"]: row for row in sections["scenes"] if row["thread"] == "all"}
    assert list(whole) == ["clean query", "attacked query", "event"]
    assert whole["clean query"]["modules"] <= whole["attacked query"]["modules"]
    first = {}
    for row in sections["modules"]:
        first.setdefault((row["scene"], row["thread"]), row["module"])
    assert first["attacked query", "MainThread"] == "ragguard.guard"
    entered = [row for row in sections["modules"] if row["scene"] == "attacked query"]
    assert sum(row["entered"] for row in entered) == whole["attacked query"]["changes"] + 1
    assert sum(row["calls"] for row in entered) == whole["attacked query"]["calls"]
    assert "ragguard.passage" in capsys.readouterr().out
