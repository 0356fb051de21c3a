"""What a command writes is nothing that it reads, nor what else it writes."""

import os

import pytest

_READ = ("t.jsonl", "c.json", "b.json", "audit.db")


@pytest.fixture
def folder(tmp_path, store_url, monkeypatch):
    """Files that are never read to their end, and other names of theirs."""
    for name in _READ[:3]:
        (tmp_path / name).write_text("{}\n")
    for name in _READ:
        (tmp_path / f"soft-{name}.svg").symlink_to(name)
        os.link(tmp_path / name, tmp_path / f"hard-{name}.svg")
    (tmp_path / "soft-new.html").symlink_to("new.html")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "name", "told"),
    [
        ("filter t.jsonl --output", "t.jsonl", "input"),
        ("filter t.jsonl --calibration c.json --output", "c.json", "calibration"),
        ("filter t.jsonl --store audit.db --output", "audit.db", "audit store"),
        ("explain t.jsonl --output", "t.jsonl", "input"),
        ("explain t.jsonl --calibration c.json -o", "c.json", "calibration"),
        ("explain t.jsonl --store sqlite:///audit.db -o", "audit.db", "audit store"),
        ("calibrate t.jsonl --output", "t.jsonl", "input"),
        ("calibrate t.jsonl --store audit.db --output", "audit.db", "audit store"),
        ("calibrate --from-store sqlite:///audit.db --force --out", "audit.db", "audit store"),
        ("scan t.jsonl --html", "t.jsonl", "input"),
        ("scan t.jsonl --save-base", "t.jsonl", "input"),
        ("scan t.jsonl --base b.json --html", "b.json", "base"),
        ("scan t.jsonl --base b.json --save-base", "b.json", "base"),
        ("scan t.jsonl --store audit.db --html", "audit.db", "audit store"),
    ],
)
def test_what_is_read_is_not_written(run, folder, command, name, told):
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.exists()}
    for written in (name, f"./{name}", f"soft-{name}.svg", f"hard-{name}.svg"):
        done = run(*command.split(), written)
        assert (done.exit_code, done.stdout) == (2, "")
        assert f"{os.path.normpath(written)} is the {told}; pass another file" in done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.exists()} == before


@pytest.mark.parametrize("html", ["new.html", "soft-new.html"])
def test_nothing_is_written_twice_nor_over_a_store_to_come(run, folder, html):
    there = {*folder.iterdir()}
    for other in ("--save-base", "--store"):
        done = run("scan", "t.jsonl", other, "new.html", "--html", html)
        assert done.exit_code == 2
        assert done.stderr.endswith(
            (
                "is the file of --save-base; pass another file\n",
                "is the audit store; pass another file\n",
            )
        )
    assert {*folder.iterdir()} == there


@pytest.mark.slow
def test_what_comes_from_stdin_is_not_overwritten(spawn, folder, clean, jsonl):
    path = jsonl("t.jsonl", clean)
    before = path.read_bytes()
    with path.open() as stdin:
        process = spawn("filter", "--output", "hard-t.jsonl.svg", stdin=stdin)
        assert "is the input; pass another file" in process.communicate()[1]
    assert (process.returncode, path.read_bytes()) == (2, before)


def test_what_keeps_nothing_may_be_read_and_written(run, folder):
    assert run("filter", os.devnull, "--output", os.devnull).exit_code == 0


def test_a_calibration_may_take_the_place_of_the_one_in_force(run, jsonl, clean):
    asked = [{**clean, "query": f"{clean['query']} ({number})"} for number in range(20)]
    traffic, path = jsonl("t.jsonl", *asked), jsonl("c.json")
    path.unlink()
    for in_force in ([], ["--calibration", path]):
        done = run("calibrate", traffic, "--alpha", "0.2", "--force", "--out", path, *in_force)
        assert done.exit_code == 0
