"""A short form of the benchmark that kills workers, with what it must show."""

import json
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_killed_workers_lose_nothing_and_nothing_takes_effect_twice(request, tmp_path, kind):
    if kind == "postgresql":
        request.getfixturevalue("postgres_schemas")
    out = tmp_path / "kills.json"
    options = f"--events 80 --kills 8 --workers 3 --lease 1 --stores {kind} --json {out}"
    command = "-W ignore::DeprecationWarning -m benchmarks.kills"
    subprocess.run(
        [sys.executable, *command.split(), *options.split()],
        check=True,
        capture_output=True,
        timeout=150,
    )
    (row,) = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert (row["kills"], row["lost"], row["failed"]) == (8, 0, 0)
    assert row["done"] == row["with_attribution"] == row["quarantined"] == 80
    assert row["changes_of_the_quarantine"] == 80
