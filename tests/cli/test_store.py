"""`ragguard store`."""

import json
import os
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect
from sqlalchemy.pool import NullPool

from ragguard.audit import Event, open_store
from ragguard.audit.engines import sqlite_file, store_url
from ragguard.audit.schema import HEAD


def test_a_store_of_today_stays_as_it_is(run, store_url):
    done = run("store", "upgrade", "--store", store_url)
    assert (done.exit_code, done.stdout) == (
        0,
        f"the tables have schema {HEAD} already; nothing to do\n",
    )
    done = run("store", "upgrade", "--store", store_url, "--json")
    assert json.loads(done.stdout) == {"before": HEAD, "schema": HEAD}


def test_tables_of_an_earlier_release_are_moved_on(run, store_url, tmp_path, monkeypatch):
    from ragguard.audit import schema

    (tmp_path / "v9_0_0.py").write_text(
        "from alembic import op\n"
        f"revision, down_revision = '9.0.0', '{HEAD}'\n"
        "def upgrade():\n"
        "    op.execute('CREATE TABLE ragguard_new (x INTEGER)')\n"
    )
    monkeypatch.setattr(schema, "_VERSIONS", [*schema._VERSIONS, tmp_path])
    monkeypatch.setattr(schema, "HEAD", "9.0.0")
    refused = run("events", "--store", store_url)
    assert refused.exit_code == 3
    assert "make a backup, and run `ragguard store upgrade`" in refused.stderr
    done = run("store", "upgrade", "--store", store_url)
    assert done.stdout == f"moved the tables on from schema {HEAD} to 9.0.0\n"
    assert run("events", "--store", store_url).exit_code == 0


def test_other_schemas_are_refused_with_the_command_that_helps(run, store_url):
    with sqlite3.connect(store_url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE ragguard_schema SET version_num = '9.0.0'")
    connection.close()
    for command in (["events"], ["store", "upgrade"]):
        done = run(*command, "--store", store_url)
        assert done.exit_code == 3
        assert "`ragguard store upgrade`" in done.stderr


def test_a_store_that_is_not_there_is_not_made(run, tmp_path):
    done = run("store", "upgrade", "--store", tmp_path / "audit.db")
    assert done.exit_code == 3
    assert "there is no audit store" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["", "x", '{"query": "When?"}\n', "no database\n" * 99])
def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(run, tmp_path, content):
    file = tmp_path / "empty.jsonl"
    file.write_text(content)
    for command in ("events", "quarantine", "verdicts", "audit"):
        done = run(command, "list", "--store", file)
        assert (done.exit_code, done.stdout) == (3, "")
        assert "check th" in done.stderr
    assert file.read_text() == content
    assert list(tmp_path.iterdir()) == [file]


_READING = (
    *("events", "events show e", "quarantine", "verdicts", "audit", "audit verify", "allowed"),
    *("drift", "info", "quarantine confirm e", "allow wiki --source --why ours", "store upgrade"),
)


def test_the_database_of_another_application_is_left_as_it_is(run, sql_url):
    engine = create_engine(store_url(sql_url), poolclass=NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE orders (id INTEGER)")
    file = sqlite_file(store_url(sql_url))
    before = file and file.read_bytes()
    for command in _READING:
        done = run(*command.split(), "--store", sql_url)
        assert done.exit_code == 3
        assert "there is no audit store at" in done.stderr + done.stdout
        assert "check the path, or file a first event" in done.stderr + done.stdout
    assert inspect(engine).get_table_names() == ["orders"]
    assert file is None or (file.read_bytes(), [*file.parent.iterdir()]) == (before, [file])
    assert run("report", "--store", sql_url, "--query", "q", "--response", "r").exit_code == 0
    assert run("events", "--store", sql_url).exit_code == 0


@pytest.fixture
def unwritable(store_url, tmp_path, monkeypatch):
    """The folder of a store that must not be written, as seen by root as well."""
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and allowed(path, mode))
    return tmp_path


def test_what_cannot_be_written_is_read_without_a_file_beside_it(run, store_url, unwritable):
    (unwritable / "link.db").symlink_to("audit.db")
    there = set(unwritable.iterdir())
    for name in ("audit.db", "link.db"):
        for command in ("events list", "quarantine list", "verdicts list", "audit verify"):
            done = run(*command.split(), "--store", unwritable / name)
            assert (done.exit_code, done.stderr) == (0, "")
            assert "e-done" in done.stdout or command in ("verdicts list", "audit verify")
    done = run("quarantine", "undo", "--event", "e-done", "--store", unwritable / "audit.db")
    assert done.exit_code == 3
    assert "readonly database; check that the path" in done.stderr
    assert f"the audit store {store_url} failed" in done.stderr
    assert set(unwritable.iterdir()) == there


def test_what_cannot_be_written_is_read_with_what_another_writes(run, store_url, unwritable):
    writer = open_store(store_url)
    writer.add_event(Event("e-new", "Where?", "There."))
    assert Path(f"{unwritable / 'audit.db'}-wal").exists()
    assert "e-new" in run("events", "list", "--store", store_url).stdout
    writer.close()
