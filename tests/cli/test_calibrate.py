"""`ragguard calibrate`, and what `filter` makes of its file."""

from __future__ import annotations

import json

from ragguard import Guard


def _traffic(clean, count):
    return [
        {
            "query": f"{clean['query']} {n}",
            "passages": [f"{text} {n}" for text in clean["passages"]],
        }
        for n in range(count)
    ]


def test_writes_what_the_guard_and_filter_read(run, jsonl, tmp_path, clean, attacked):
    traffic, out = jsonl("clean.jsonl", *_traffic(clean, 20)), tmp_path / "calibration.json"
    result = run("calibrate", traffic, "-o", out, "--alpha", "0.1", "--json")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert json.loads(result.stdout) == {
        "calibration": str(out),
        "queries": 20,
        "naming": 0,
        "passages": 60,
        "passages_per_query": 3,
        "alpha": 0.1,
        "source": (
            "20 queries given to Guard.calibrate; left out: 0 repeated questions, 0 with more or "
            "fewer passages than 3"
        ),
        "promise": "asking: 20 queries, alpha kept on average; naming: as shipped",
    }
    Guard(calibration=out, alpha=0.1).close()
    result = run("filter", jsonl("t.jsonl", attacked), "--calibration", out, "--alpha", "0.1")
    assert json.loads(result.stdout)["p_value"] <= 2 / 21


def test_reads_stdin_and_tells_a_person_how_to_go_on(run, tmp_path, clean):
    out = tmp_path / "c.json"
    stdin = "\n".join(map(json.dumps, _traffic(clean, 20)))
    result = run("calibrate", "-o", out, "--alpha", "0.1", "--k", "2", stdin=stdin)
    assert result.exit_code == 0
    assert f"ragguard filter --calibration {out}" in result.stdout
    assert out.exists()


def test_too_little_traffic_writes_nothing(run, jsonl, tmp_path, clean):
    out = tmp_path / "c.json"
    result = run("calibrate", jsonl("t.jsonl", *_traffic(clean, 20)), "-o", out)
    assert result.exit_code == 2
    assert "at least 99 calibration queries" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not out.exists()


def test_a_bad_line_writes_nothing(run, jsonl, tmp_path, clean):
    path, out = jsonl("t.jsonl", *_traffic(clean, 20), 7), tmp_path / "c.json"
    result = run("calibrate", path, "-o", out, "--alpha", "0.1")
    assert result.exit_code == 2
    assert result.stderr == (
        f'ragguard: {path}:21: expected an object with "query" (str) and "passages" (list), '
        "got a number\n"
    )
    assert not out.exists()


def test_a_damaged_calibration_is_one_line(run, jsonl, tmp_path, clean):
    out = tmp_path / "c.json"
    out.write_text("{}")
    result = run("filter", jsonl("t.jsonl", clean), "--calibration", out)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "calibrate anew" in result.stderr


def test_traffic_with_planted_passages_raises_little_without_force(run, jsonl, tmp_path, clean):
    lines = _traffic(clean, 20)
    for line in lines[:3]:
        line["passages"][0] = f"{line['query']}? It was raised by the crown in 1911."
    traffic, out = jsonl("t.jsonl", *lines), tmp_path / "c.json"
    result = run("calibrate", traffic, "-o", out, "--alpha", "0.1")
    assert result.exit_code == 0
    assert "3 of 20 queries score higher than one calibration may raise the threshold" in (
        result.stderr
    )
    small = max(json.loads(out.read_text())["scores"])
    forced = run("calibrate", traffic, "-o", out, "--alpha", "0.1", "--force")
    assert forced.exit_code == 0
    assert "higher" not in forced.stderr
    assert max(json.loads(out.read_text())["scores"]) > small


def test_a_store_that_is_named_tells_of_it(run, jsonl, tmp_path, clean, store_url):
    traffic, out = jsonl("clean.jsonl", *_traffic(clean, 20)), tmp_path / "c.json"
    result = run("calibrate", traffic, "-o", out, "--alpha", "0.1", "--store", store_url)
    assert result.exit_code == 0
    listed = run("audit", "list", "--store", store_url, "--json")
    told = json.loads(listed.stdout)
    (told,) = [one for one in told if one["action"] == "calibration.adopted"]
    assert told["details"]["queries"] == 20
    result = run("calibrate", "--from-store", store_url, "--store", store_url)
    assert result.exit_code == 2
    assert "its own trail tells of it" in " ".join(result.stderr.split())
