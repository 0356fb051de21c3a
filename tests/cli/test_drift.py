"""`ragguard drift`, and `ragguard calibrate --from-store`: from recorded traffic and back."""

from __future__ import annotations

import json
import math

import pytest

from ragguard import Guard
from ragguard.audit import ScoredQuery, open_store
from ragguard.inline.calibration_file import gate_threshold
from ragguard.inline.scoring import SCORER


def record(score, **fields):
    values = {"suspicions": (score,), "with_reference": False, "attacked": score > 0, **fields}
    return ScoredQuery(score=score, scorer=SCORER, **values)


@pytest.fixture
def url(tmp_path):
    return str(tmp_path / "audit.db")


@pytest.fixture
def recorded(url):
    """Return a function that puts records into the store of `url`."""

    def put(records):
        store = open_store(url)
        store.add_scores(list(records), sample=2000, recent=1000)
        store.close()

    return put


@pytest.mark.slow
def test_traffic_to_calibration_to_drift(run, jsonl, tmp_path, url, clean, attacked):
    lines = [
        {"query": f"{clean['query']} {n}", "passages": [f"{t} {n}" for t in clean["passages"]]}
        for n in range(20)
    ]
    run("filter", jsonl("t.jsonl", *lines), "--store", url, "--mode", "monitor")
    out = tmp_path / "c.json"
    result = run("calibrate", "--from-store", url, "--out", out, "--alpha", "0.1", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    figures = json.loads(result.stdout)
    assert (figures["queries"], figures["passages"]) == (20, 60)
    assert "20 queries recorded" in figures["source"]
    with Guard(calibration=out, alpha=0.1) as guard:
        direct = guard.calibrate([(line["query"], line["passages"]) for line in lines])
        assert guard.filter(attacked["query"], [p["text"] for p in attacked["passages"]]).attacked
    assert json.loads(out.read_text())["scores"] == direct.scores.tolist()
    options = ["--store", url, "--calibration", out, "--alpha", "0.1"]
    assert run("drift", *options).exit_code == 0
    run("filter", jsonl("a.jsonl", *[attacked] * 30), "--store", url, "--mode", "monitor")
    result = run("drift", *options, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["drifted"] is True
    assert found["queries"] == 50
    assert found["above"] >= 30
    assert found["calibrated"] == [20]


def test_says_in_words_what_it_found(run, recorded, url):
    recorded([])
    assert "no query is recorded" in run("drift", "--store", url).stdout
    recorded(record(-6.0) for _ in range(200))
    result = run("drift", "--store", url)
    assert result.exit_code == 0
    assert result.stdout == (
        "0 of the newest 200 queries score above the calibrated quantile, 0.01 allows about 2.0 "
        "(p=1)\nno drift: the calibration covers this traffic\n"
    )
    recorded(record(20.0) for _ in range(50))
    result = run("drift", "--store", url)
    assert result.exit_code == 1
    assert "50 of the newest 250 queries" in result.stdout
    assert "drift: an attack, or traffic that the calibration does not cover" in result.stdout


@pytest.mark.slow
def test_newest_and_clean_looking_choose_what_is_learnt_from(run, recorded, url, tmp_path):
    recorded(record(-float(n)) for n in range(1, 41))
    recorded(record(float(n)) for n in range(2, 12))
    out = tmp_path / "c.json"
    line = gate_threshold(None, 0.1, 1, with_reference=False)
    assert 0.0 < line < 2.0

    def scores(*options):
        result = run("calibrate", "--from-store", url, "-o", out, "--alpha", "0.1", *options)
        assert result.exit_code == 0, result.stderr
        assert "the gate in force fires on 10 of them" in result.stdout
        return json.loads(out.read_text())["scores"]

    assert len(scores("--force")) == 50
    capped = [math.nextafter(line, 0.0)] * 10
    assert scores("--clean-looking")[-11:] == [-1.0, *capped]
    newest = [float(n) for n in (*range(-40, -30), *range(2, 12))]
    assert scores("--newest", "20", "--force") == newest


@pytest.mark.slow
def test_a_record_that_looks_attacked_is_refused_in_one_line(run, recorded, url, tmp_path):
    recorded(record(-float(n)) for n in range(100))
    recorded(record(11.5) for n in range(100))
    out = tmp_path / "c.json"
    calibrate = ["calibrate", "--from-store", url, "-o", out]
    result = run(*calibrate)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert (
        "50% of this record looks attacked: the gate in force fires on 100 of 200 queries"
        in result.stderr
    )
    assert "--clean-looking" in result.stderr
    assert not out.exists()
    result = run(*calibrate, "--clean-looking")
    assert result.exit_code == 0
    assert "fires on 100 of them and counts as just below its threshold there" in result.stdout
    assert run(*calibrate, "--force").exit_code == 0
    # What it was forced to is in force, and may stay.
    again = [*calibrate[:-1], tmp_path / "d.json", "--calibration", out]
    result = run(*again)
    assert result.exit_code == 0, result.stderr
    assert json.loads((tmp_path / "d.json").read_text())["scores"] == sorted(
        [-float(n) for n in range(100)] + [11.5] * 100
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["t.jsonl", "--from-store", "URL"], "takes neither FILE nor --k"),
        (["--from-store", "URL", "--k", "3"], "takes neither FILE nor --k"),
        (["--newest", "3"], "need --from-store"),
        (["--clean-looking"], "need --from-store"),
        (["--from-store", "URL"], "no usable scores"),
    ],
)
def test_what_calibrate_refuses(run, recorded, url, tmp_path, monkeypatch, arguments, complaint):
    monkeypatch.chdir(tmp_path)
    recorded([])
    result = run("calibrate", *[url if word == "URL" else word for word in arguments])
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert not (tmp_path / "calibration.json").exists()


def test_what_drift_refuses(run, recorded, url, tmp_path, jsonl, clean):
    assert run("drift", "--store", tmp_path / "typo.db").exit_code == 3
    recorded([])
    assert run("drift", "--store", url, "--alpha", "1").exit_code == 2
    out = tmp_path / "c.json"
    lines = [{**clean, "query": f"{clean['query']} {n}"} for n in range(9)]
    run("calibrate", jsonl("t.jsonl", *lines), "-o", out, "--alpha", "0.1")
    result = run("drift", "--store", url, "--calibration", out)
    assert result.exit_code == 2
    assert "at least 99 calibration queries" in result.stderr


def test_a_few_queries_are_said_to_be_too_few(run, recorded, url):
    recorded(record(-5.0) for _ in range(3))
    result = run("drift", "--store", url)
    assert result.exit_code == 0
    assert "too few to tell: of less than 100 queries" in result.stdout
    assert "covers this traffic" not in result.stdout
    recorded(record(-5.0) for _ in range(97))
    assert "no drift: the calibration covers this traffic" in run("drift", "--store", url).stdout
