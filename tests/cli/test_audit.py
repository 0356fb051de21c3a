"""`ragguard audit`."""

import json
import sqlite3

import pytest

SECRET = "5" * 32


@pytest.fixture
def trail(run, store_url, monkeypatch):
    """A store with four rows, two of them by "ann", and the function that changes it behind."""
    monkeypatch.setenv("RAGGUARD_TRAIL_KEY", SECRET)
    with sqlite3.connect(store_url.removeprefix("sqlite:///")) as connection:
        connection.execute("DELETE FROM ragguard_trail")  # written without the key
        connection.execute("DELETE FROM ragguard_quarantine")
    run("allow", "--source", "handbook", "--why", "ours", "--store", store_url, "--actor", "ann")
    run("protect", "--source", "[b]x", "--why", "x", "--store", store_url, "--actor", "\x1b[2Jbo")
    run("disallow", "--source", "handbook", "--store", store_url, "--actor", "ann")

    def change(statement):
        with sqlite3.connect(store_url.removeprefix("sqlite:///")) as connection:
            connection.execute(statement)
        connection.close()

    connection.close()
    return change


def test_the_list_says_who_did_what(run, store_url, trail):
    done = run("audit", "--store", store_url)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["row", "3", "2", "1"]
    assert "ann" in lines[1]
    assert "allow-list.ended" in lines[1]
    assert "\\x1b[2Jbo" in lines[2]
    assert "effect protected" in lines[2]
    rows = json.loads(run("audit", "list", "--store", store_url, "--limit", "2", "--json").stdout)
    assert [row["seq"] for row in rows] == [3, 2]
    assert rows[0]["details"]["effect"] == "allowed"


def test_the_list_of_a_tenant(run, store_url, trail):
    args = ["--source", "x", "--why", "y", "--store", store_url, "--actor", "di"]
    assert run("allow", *args, "--tenant", "acme").exit_code == 0
    lines = run("audit", "--store", store_url, "--tenant", "acme").stdout.splitlines()
    assert len(lines) == 2
    assert lines[1].split()[3:5] == ["acme", "di"]
    assert run("audit", "verify", "--store", store_url).exit_code == 0


def test_a_list_with_details_that_are_no_json(run, store_url, trail):
    for junk in ("[", "[]", "[" * 200_000):
        trail(f"UPDATE ragguard_trail SET details = '{junk}' WHERE seq = 2")
        shown = run("audit", "list", "--store", store_url).stdout
        assert "unreadable" in shown
        assert junk[:9] in shown
        assert len(shown) < 100_000


def test_a_whole_trail(run, store_url, trail):
    done = run("audit", "verify", "--store", store_url)
    assert done.exit_code == 0
    first, whole, head = done.stdout.splitlines()
    assert first.startswith("3 rows, signed: rows 1 to 3 with ")
    assert whole == "the trail is whole, and the store is as it tells"
    told = json.loads(run("audit", "verify", "--store", store_url, "--json").stdout)
    assert head == f"head {told['head']}"
    assert (told["rows"], told["findings"], told["signed"]) == (3, [], True)


def test_a_changed_row_and_a_missing_tail_are_findings(run, store_url, trail):
    head = json.loads(run("audit", "verify", "--store", store_url, "--json").stdout)["head"]
    trail("UPDATE ragguard_trail SET actor = 'eve' WHERE seq = 2")
    done = run("audit", "verify", "--store", store_url)
    assert done.exit_code == 1
    assert "- row 2 is not what was written there" in done.stdout
    trail("UPDATE ragguard_trail SET actor = NULL WHERE seq = 2")
    trail("DELETE FROM ragguard_trail WHERE seq = 3")
    done = run("audit", "verify", "--store", store_url, "--head", head)
    assert done.exit_code == 1
    assert "the trail ends at row 2, and a given head tells of row 3" in done.stdout
    done = run("audit", "verify", "--store", store_url, "--head", head[:-1], "--json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "is no head of a trail" in done.stderr


def test_many_findings_are_counted(run, store_url, trail):
    columns = "at, tenant, actor, action, subject, details, key, mac"
    trail(
        "WITH RECURSIVE n(i) AS (SELECT 4 UNION ALL SELECT i + 1 FROM n WHERE i < 99) "
        f"INSERT INTO ragguard_trail SELECT i, {columns} FROM n, ragguard_trail WHERE seq = 1"
    )
    done = run("audit", "verify", "--store", store_url)
    assert done.exit_code == 1
    assert len(done.stdout.splitlines()) < 60
    assert " more\n" in done.stdout


def test_without_a_key(run, store_url, trail, monkeypatch):
    monkeypatch.delenv("RAGGUARD_TRAIL_KEY")
    done = run("audit", "verify", "--store", store_url)
    assert done.exit_code == 1
    assert "which is not here" in done.stdout
    assert "no key is given: only careless edits are found" in done.stdout
    done = run("allow", "--source", "x", "--why", "y", "--store", store_url)
    assert done.exit_code == 3
    assert "RAGGUARD_TRAIL_KEY" in done.stderr


def test_rows_from_before_there_was_a_key(run, store_url, monkeypatch):
    monkeypatch.setenv("RAGGUARD_TRAIL_KEY", SECRET)
    assert run("audit", "verify", "--store", store_url).exit_code == 1
    done = run("audit", "verify", "--store", store_url, "--unsigned", 2)
    assert done.exit_code == 0
    assert "rows 1 to 2 with no key" in done.stdout


@pytest.mark.parametrize("command", [["list"], ["verify"]])
def test_a_store_that_is_not_there(run, tmp_path, command):
    done = run("audit", *command, "--store", tmp_path / "audit.db")
    assert done.exit_code == 3
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_calibration_from_a_store_is_told(run, store_url, tmp_path):
    from ragguard import Guard

    with Guard(store=store_url) as guard:
        for n in range(120):
            guard.filter(f"Why is stone {n} grey?", [f"Stone {n} has mica.", f"Walls {n}."])
    out = tmp_path / "c.json"
    args = ["calibrate", "--from-store", store_url, "--out", out, "--force"]
    assert run(*args).exit_code == 0
    row = json.loads(run("audit", "--store", store_url, "--json").stdout)[0]
    assert row["action"] == "calibration.adopted"
    assert row["details"]["queries"] == 120
