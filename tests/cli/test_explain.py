"""`ragguard explain`: one query to a picture."""

from __future__ import annotations

import json
import sys

import pytest

from ragguard.audit import QuarantineEntry, open_store
from ragguard.content import content_key


@pytest.mark.slow
def test_draws_the_chosen_line(run, jsonl, tmp_path, clean, attacked):
    pytest.importorskip("matplotlib")
    out = tmp_path / "x.png"
    traffic = jsonl("t.jsonl", clean, attacked)
    result = run("explain", traffic, "--line", "2", "--out", out, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found["picture"] == str(out)
    assert (found["query"], found["attacked"], found["dropped"]) == (
        attacked["query"],
        True,
        ["x", "y"],
    )
    assert out.read_bytes().startswith(b"\x89PNG")
    result = run("explain", "-o", tmp_path / "y.svg", stdin=json.dumps(clean))
    assert result.stdout == f"wrote {tmp_path / 'y.svg'}: 0 of 3 dropped\n"


@pytest.mark.slow
def test_says_and_draws_what_is_marked(run, jsonl, tmp_path, clean):
    pytest.importorskip("matplotlib")
    said = f"Bakers' children, it is told, ask this first. {clean['query']} Few wait for the rest."
    unusual = {**clean, "passages": [said, *clean["passages"][1:]]}
    traffic, out = jsonl("t.jsonl", unusual), tmp_path / "x.svg"
    p_value = json.loads(run("filter", traffic, "--json").stdout)["p_value"]
    options = ("--alpha", p_value / 2, "--mark-alpha", 1.01 * p_value, "-o", out)
    found = json.loads(run("explain", traffic, *options, "--json").stdout)
    assert (found["attacked"], found["dropped"]) == (False, [])
    marked = len(found["marked"])
    assert marked > 0
    assert f"0 of 3 passages dropped, {marked} marked as unusual." in out.read_text("utf-8")
    assert (
        run("explain", traffic, *options).stdout
        == f"wrote {out}: 0 of 3 dropped, {marked} marked\n"
    )


@pytest.mark.slow
def test_says_what_is_in_reserve_and_what_is_not_drawn(run, jsonl, tmp_path, attacked):
    pytest.importorskip("matplotlib")
    passages = [*attacked["passages"], *(f"Barley is sown in row {n}." for n in range(60))]
    traffic = jsonl("t.jsonl", {"query": attacked["query"], "passages": passages})
    out = tmp_path / "x.svg"
    options = ("--k", "3", "-o", out)
    found = json.loads(run("explain", traffic, *options, "--json").stdout)
    assert found["dropped"] == ["x", "y"]
    assert found["drawn"] == 40
    assert found["reserve"] == len(passages) - 2 - 3
    assert f"one has {found['threshold']:+.1f} or more" in out.read_text(encoding="utf-8")
    result = run("explain", traffic, *options)
    marked = len(found["marked"])
    marks = f"{marked} marked, " if marked else ""
    said = f"2 of {len(passages)} dropped, {marks}{found['reserve']} in reserve; "
    assert f"{said}{len(passages) - 40} are" in result.stdout
    # Where nearly all is unusual, all that is kept is marked but what has no sign.
    result = run("explain", traffic, *options, "--mark-alpha", "0.99")
    assert f"2 of {len(passages)} dropped, 2 marked, " in result.stdout


def test_shows_the_quarantine_and_leaves_the_store_alone(run, jsonl, tmp_path, clean):
    pytest.importorskip("matplotlib")
    url, text = str(tmp_path / "a.db"), clean["passages"][0]
    store = open_store(url)
    store.add_quarantine([QuarantineEntry(content_key(text), "id", text, "bad")])
    store.close()
    out = tmp_path / "x.svg"
    result = run("explain", jsonl("t.jsonl", clean), "--store", url, "-o", out)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "it is in quarantine" in out.read_text(encoding="utf-8")
    store = open_store(url)
    assert (store.counts(), store.scores()) == ({}, [])
    store.close()


def test_what_is_refused(run, jsonl, tmp_path, clean, monkeypatch):
    traffic = jsonl("t.jsonl", clean)
    result = run("explain", traffic, "--line", "2")
    assert result.exit_code == 2
    assert "has no query number 2" in result.stderr
    assert run("explain", traffic, "-o", tmp_path / "x.pdf").exit_code == 2
    assert run("explain", jsonl("e.jsonl", {"query": "q", "passages": []})).exit_code == 2
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("explain", traffic, "-o", tmp_path / "x.svg")
    assert result.exit_code == 3
    assert "pip install '.[explain]'" in result.stderr


@pytest.mark.slow
def test_a_query_that_could_not_be_judged_is_drawn_named_and_fails(
    run, jsonl, tmp_path, clean, monkeypatch
):
    pytest.importorskip("matplotlib")

    def broken(*arguments):
        raise FloatingPointError("no such number; raise max_ms")

    monkeypatch.setattr("ragguard.filtering.screened", broken)
    result = run("explain", jsonl("t.jsonl", clean), "-o", tmp_path / "x.svg", "--json")
    assert result.exit_code == 3
    assert "no such number" in json.loads(result.stdout)["error"]
    assert "t.jsonl:1: could not be judged: " in result.stderr
    assert "raise --max-ms" in result.stderr
