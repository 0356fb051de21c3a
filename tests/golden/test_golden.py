"""The answers of this code are frozen; `python -m tests.golden.frozen` compares bit for bit.

Here scores may differ in the last digits, which other processors and releases of numpy change.
"""

import json
import os
from pathlib import Path

import pytest
import typer

golden = pytest.importorskip("tests.golden.frozen", reason="benchmarks/ is not beside the tests")

DATA = os.environ.get("RAGGUARD_DATA")


def assert_same(rows, name):
    frozen = json.loads((golden.FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert len(rows) == len(frozen)
    for row, expected in zip(rows, frozen, strict=True):
        assert row.keys() == expected.keys()
        for key, value in expected.items():
            assert same(row[key], value), (next(iter(expected.values())), key, row[key], value)


def same(found, expected):
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[k], expected[k]) for k in found)
    if isinstance(expected, float):
        return found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    return found == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["verdicts", "attributions"])
def test_answers_over_the_own_corpus_are_the_frozen_ones(name, own):
    assert_same(own[name], name)


@pytest.fixture(scope="module")
def own():
    return golden.answers_of(None)


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="set RAGGUARD_DATA to the folder of real data")
@pytest.mark.parametrize("name", ["verdicts_data", "attributions_data"])
def test_answers_over_real_data_are_the_frozen_ones(name, real):
    assert_same(real[name], name)


@pytest.fixture(scope="module")
def real():
    return golden.answers_of(Path(DATA))


def test_a_difference_is_found(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(golden, "FOLDER", tmp_path)
    rows = [{"set": "a", "p_value": 0.5}]
    monkeypatch.setattr(golden, "answers_of", lambda data: {"verdicts": rows})
    with pytest.raises(typer.Exit) as same:
        golden.main(write=True)
    rows = [{"set": "a", "p_value": 0.25}]
    with pytest.raises(typer.Exit) as other:
        golden.main()
    assert (same.value.exit_code, other.value.exit_code) == (0, 1)
    assert "1 of 1 differ, the first of them a" in capsys.readouterr().out
