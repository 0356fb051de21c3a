import subprocess
import sys

import pytest

from benchmarks.__main__ import main
from benchmarks.defences.contenders import package_version, packaged
from benchmarks.report.result import read, write
from benchmarks.report.table import Table, as_markdown
from benchmarks.retrieval import RetrievedSet
from benchmarks.tables import README, tables

QUICK = ["--limit", "2", "--sections", "clean,attack", "--embedders", "built-in", "--no-package"]

RUN_KEYS = {
    "format",
    "ragguard",
    "scorer",
    "date",
    "command",
    "seed",
    "limit",
    "machine",
    "versions",
    "records",
    "sections",
}
DEFENCES = ["none", "ragguard", "ragguard 3x", "paper clustering", "paper concentration"]


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    file = tmp_path_factory.mktemp("benchmark") / "result.json"
    assert main([*QUICK, "--json", str(file)]) == 0
    return read(file)


@pytest.mark.slow
def test_the_result_says_how_to_make_it_again(result):
    assert set(result) == RUN_KEYS
    assert result["format"] == 1
    assert result["records"] == {"skerrin": 2}
    assert result["command"].startswith("python -m benchmarks --limit 2 --sections clean,attack")
    assert set(result["machine"]) == {"cpu", "cores", "threads", "system"}
    assert "numpy" in result["versions"]


@pytest.mark.slow
def test_clean_rows(result):
    rows = result["sections"]["clean"]
    assert [row["defence"] for row in rows if row["k"] == 5] == DEFENCES
    for row in rows:
        assert row["queries"] == 2
        assert 0 <= row["removed"] <= row["passages"] == 2 * row["k"]
        assert 0 <= row["golden_removed"] <= row["golden"] <= row["queries"]
    assert all(row["removed"] == 0 for row in rows if row["defence"] == "none")


def test_attack_rows(result):
    rows = result["sections"]["attack"]
    strata = {(r["kind"], r["form"], r["planted"], r["k"], r["defence"]) for r in rows}
    assert len(strata) == len(rows) == 5 * 2 * 2 * 2 * len(DEFENCES)
    for row in rows:
        assert row["poison"] + row["benign"] == row["sets"] * row["k"]
        assert row["poison_removed"] <= row["poison"]
        assert row["benign_removed"] <= row["benign"]
        if row["defence"] == "none":
            assert row["poison_left"] == row["sets"]


@pytest.mark.slow
def test_the_same_command_gives_the_same_rows(result, tmp_path):
    again = tmp_path / "again.json"
    assert main([*QUICK, "--json", str(again)]) == 0
    assert read(again)["sections"] == result["sections"]


def test_every_section_has_tables(result):
    titles = [table.title for table in tables(result["sections"])]
    assert any(title.startswith("Clean traffic") for title in titles)
    assert any(title.startswith("Attacks") for title in titles)


def test_rows_are_pooled_before_they_are_divided():
    row = {"embedder": "e", "k": 5, "defence": "d", "golden": 0, "golden_removed": 0}
    rows = [
        {
            **row,
            "dataset": "a",
            "queries": 1,
            "touched": 1,
            "noticed": 1,
            "passages": 5,
            "removed": 1,
        },
        {
            **row,
            "dataset": "b",
            "queries": 3,
            "touched": 0,
            "noticed": 1,
            "passages": 15,
            "removed": 1,
        },
    ]
    pooled, per_dataset = tables({"clean": rows})
    assert pooled.rows == (("5", "d", "4", "25.0 %", "50.0 %", "10.0 %", "-"),)
    assert per_dataset.rows == (("5", "d", "100.0 % / 20.0 %", "0.0 % / 6.7 %"),)


def test_a_result_is_read_as_it_was_written(tmp_path):
    sections = {
        "cost": [{"k": 5, "median_ms": 0.1}, {"k": 10, "median_ms": 0.2}],
        "attribution": {"summary": [{"causes": {"poisoning": 2}}], "ms_per_event": {}, "empty": []},
    }
    write(tmp_path / "new" / "result.json", {"seed": 0, "missing": {}}, sections)
    assert read(tmp_path / "new" / "result.json") == {
        "seed": 0,
        "missing": {},
        "sections": sections,
    }


def test_own_data_is_never_pooled_with_public_data(result):
    row = next(row for row in result["sections"]["clean"] if row["defence"] == "ragguard")
    pooled = tables({"clean": [row, {**row, "dataset": "nq"}]})
    assert [table.rows[0][2] for table in pooled[:2]] == [str(row["queries"])] * 2


def test_markdown():
    assert as_markdown(Table("T", ("a", "b"), (("1", "2"),))) == (
        "**T**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )


def test_what_was_measured_is_told_in_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize(
    "arguments", [["--sections", "clean,nonsense"], ["--limit", "0"], ["--forms", "sideways"]]
)
def test_bad_arguments_are_refused(arguments, capsys):
    assert main(arguments) == 2
    assert arguments[0] in capsys.readouterr().err


def test_a_folder_without_data_is_refused(tmp_path, capsys):
    assert main(["--data", str(tmp_path), *QUICK]) == 2
    assert "holds none of nq.jsonl" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_a_quick_run_needs_no_torch():
    code = (
        "import sys; from benchmarks.__main__ import main; "
        f"status = main({[*QUICK[2:], '--limit', '1']!r}); "
        "sys.exit(status or 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.peer
def test_the_published_package_answers_which_positions_it_removed():
    if package_version() is None:
        pytest.skip("needs the ragdefender package and torch")
    import numpy as np

    texts = ("red pier", "red pier tower", "old mill", "green field", "a boat")
    rows = np.eye(5, dtype=np.float32)
    rows[1] = rows[0]
    ones = np.zeros(5, dtype=bool)
    defence = packaged("single_hop")
    answer = defence.bind(RetrievedSet("Who?", texts, rows, ones, ones), 5)()
    outcome = defence.outcome(answer, 5)
    assert outcome.fired
    assert outcome.dropped[:2].all()
    assert set(outcome.kept) == set(np.flatnonzero(~outcome.dropped).tolist())
