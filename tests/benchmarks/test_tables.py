"""Tables of results, every share by hand."""

import json

import pytest
import typer

from benchmarks.report.result import write
from benchmarks.report.table import Table
from benchmarks.tables import PAGES, filled, main, tables


def titles(sections):
    return [table.title for table in tables(sections)]


def attack_row(form, defence="ragguard"):
    counts = {"sets": 4, "fired": 3, "noticed": 3, "poison": 8, "poison_removed": 4}
    counts |= {"benign": 10, "benign_removed": 1, "poison_left": 2}
    place = {"embedder": "e", "dataset": "nq", "kind": "a", "planted": 1, "k": 5}
    return {**place, "form": form, "defence": defence, **counts}


def test_held_out_forms_stand_apart():
    found = {
        t.title.partition(",")[0]: t
        for t in tables(
            {
                "attack": [
                    attack_row("prepend"),
                    attack_row("quoted"),
                    attack_row("plain"),
                ]
            }
        )
    }
    cell = "75.0 % / 50.0 % / 10.0 %"
    assert found["Attacks by form"].rows == (
        ("prepend", "ragguard", cell),
        ("plain", "ragguard", cell),
    )
    assert found["Attacks by held-out form"].rows == (("quoted", "ragguard", cell),)


def test_without_held_out_forms_there_is_no_table_of_them():
    assert not any("held-out" in title for title in titles({"attack": [attack_row("prepend")]}))


def cell(ratio, kind, ours, lost, package=None, **place):
    found = {"dataset": "nq", "form": "prepend", "embedder": "e", "ratio": ratio, "kind": kind}
    for name, share in (("ragguard", ours), ("ragguard 3x", ours), ("package", package)):
        found |= {f"{name}: detected": share, f"{name}: benign lost": share and lost}
    found |= {"paper: detected": 0.5, "paper: benign lost": 0.25}
    margin = min(ours - 0.5, 0.25 - lost)
    return {**found, "ragguard: margin": margin, "ragguard: no_worse": margin >= 0, **place}


def test_the_protocol_in_means_and_its_worst_cell():
    cells = [cell(1, "a", 1.0, 0.0), cell(1, "b", 0.4, 0.5, package=0.75), cell(2, "a", 0.5, 0.0)]
    by_ratio, by_kind, worst = tables({"defences": [], "cells": cells})
    paper = "50.0 % / 25.0 %"
    assert by_ratio.rows == (
        ("1", *["70.0 % / 25.0 %"] * 2, paper, "75.0 % / 50.0 %", "1 of 2"),
        ("2", *["50.0 % / 0.0 %"] * 2, paper, "-", "1 of 1"),
    )
    assert [row[0] for row in by_kind.rows] == ["a", "b"]
    assert by_kind.rows[0][1] == "75.0 % / 0.0 %"
    assert worst.rows[0][:2] == ("nq, b, 1, e", "40.0 % / 50.0 %")


def timed(k, defence, cpu, fired=0):
    times = {"median_ms": cpu, "p99_ms": cpu, "median_cpu_ms": cpu, "p99_cpu_ms": cpu}
    ratios = {"cpu_over_ragguard_cold": 1.0, "cpu_over_ragguard_warm": 2.0}
    place = {"traffic": "clean", "k": k, "defence": defence, "caches": "warm"}
    return {**place, "samples": 4, "fired": fired, **times, **ratios}


def test_cost_and_its_growth():
    rows = [timed(k, "ragguard", 0.01 * k) for k in (10, 20, 40)]
    assert len(tables({"cost": rows})) == 2
    rows += [timed(k, "gram matrix", 0.001 * k * k) for k in (10, 20, 40)]
    clean, _, growth = tables({"cost": rows})
    assert clean.rows[0][:6] == ("10", "ragguard", "warm", "0.0 %", "0.1", "0.1")
    assert growth.columns[-2:] == ("10 to 20", "20 to 40")
    # Time in proportion to k; the gate did not fire, so no similarity is taken away.
    assert growth.rows[0] == ("clean", "ragguard", "warm", "1.00", "1.00", "2.00", "2.00")
    assert growth.rows[1][2:4] == ("none", "2.00")


def test_a_table_replaces_what_stands_between_its_marks(tmp_path):
    write(tmp_path / "r.json", {}, {"attack": [attack_row("prepend")]})
    (title,) = [name for name in titles({"attack": [attack_row("prepend")]}) if "by kind" in name]
    page = f"before\n<!-- r.json: {title} -->\nold\n<!-- end -->\nafter"
    new, problems = filled(page, tmp_path)
    assert not problems
    assert "old" not in new
    assert "| a | prepend | 1 | 75.0 % / 50.0 % (4) |" in new
    assert filled(new, tmp_path) == (new, [])


def test_a_result_that_is_not_there_is_named(tmp_path):
    page = "<!-- results/none.json: A title -->\n<!-- end -->"
    new, (problem,) = filled(page, tmp_path)
    assert new == page
    assert problem.startswith("results/none.json: not there")


def test_a_title_that_no_table_has_is_named(tmp_path):
    write(tmp_path / "r.json", {}, {"attack": [attack_row("prepend")]})
    _, (problem,) = filled("<!-- r.json: A title -->\n<!-- end -->", tmp_path)
    assert problem.startswith("r.json: no table 'A title'; it has Attacks")


OTHER = {"defence": "ragguard", "auc": 0.5}  # rows as another script once wrote them


@pytest.mark.parametrize(
    "result",
    [{"sections": {"attack": [OTHER]}}, {"sections": {"other": [OTHER]}}, {"rows": [OTHER]}],
    ids=["other columns", "another section", "no sections"],
)
def test_a_result_that_makes_no_tables_is_told_in_one_line(tmp_path, capsys, result):
    path = tmp_path / "r.json"
    path.write_text(json.dumps(result), encoding="utf-8")
    with pytest.raises(typer.Exit) as left:
        main(path)
    assert left.value.exit_code == 2
    assert capsys.readouterr() == ("", f"{path}: its tables cannot be made from its rows\n")
    _, (problem,) = filled("<!-- r.json: A title -->\n<!-- end -->", tmp_path)
    assert problem == "r.json: its tables cannot be made from its rows"


def test_the_tables_of_a_result_are_printed(tmp_path, capsys):
    write(tmp_path / "r.json", {}, {"attack": [attack_row("prepend")]})
    with pytest.raises(typer.Exit) as left:
        main(tmp_path / "r.json")
    assert left.value.exit_code == 0
    printed = capsys.readouterr().out
    assert all(f"**{title}**" in printed for title in titles({"attack": [attack_row("prepend")]}))


def test_tables_are_made_of_strings():
    for table in tables({"attack": [attack_row("prepend")]}):
        assert isinstance(table, Table)
        assert all(isinstance(cell, str) for row in table.rows for cell in row)


def test_an_archived_table_stays_as_it_was_made(tmp_path):
    kept = {"title": "Once", "columns": ["a", "b"], "rows": [["1", "2"], ["3", "4"]]}
    write(tmp_path / "r.json", {}, {"gone": [{"n": 1}], "tables": [kept]})
    new, _ = filled("<!-- r.json: Once -->\n<!-- end -->", tmp_path)
    assert "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |" in new


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_hold_the_tables_of_the_results(page):
    text = page.read_text(encoding="utf-8")
    assert "<!-- end -->" in text
    assert filled(text) == (text, [])
