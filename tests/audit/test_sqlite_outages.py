"""A SQLite file that is deleted, replaced, damaged, full or held by others."""

import contextlib
import logging
import os
import shutil
import sqlite3
import stat
import threading

import pytest

from ragguard import Guard
from ragguard.audit import Event, open_store
from ragguard.audit.database import Database
from ragguard.audit.quarantine import Limits
from ragguard.background import Policy
from ragguard.errors import StoreError
from tests.audit.conftest import PASSAGES, QUESTION, dropped, entry, quarantine_elsewhere
from tests.processes import eventually, spawn

LONG = 60.0


def remove(path):
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit.db"


@pytest.fixture
def guard(path):
    with Guard(store=path) as made:
        yield made


def events_of(path):
    """Return the ids of the events in the file, read by somebody else."""
    connection = sqlite3.connect(path)
    found = [row[0] for row in connection.execute("SELECT id FROM ragguard_events ORDER BY seq")]
    connection.close()
    return found


def test_a_deleted_file_is_not_made_anew_and_all_waits_for_a_backup(guard, path, tmp_path, caplog):
    guard.store.add_quarantine([entry(PASSAGES[0])])
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM INTO ?", [str(tmp_path / "backup.db")])
    with caplog.at_level(logging.ERROR, "ragguard"):
        remove(path)
        eventually(lambda: guard.health().store_error is not None)
        assert "is gone; restore a backup of it, or restart" in guard.health().store_error
        assert dropped(guard) == PASSAGES[:1]
        event = guard.report(QUESTION, "at nine", passages=PASSAGES)
        guard._parts.counter.flush()
        guard._parts.log.flush()
        with pytest.raises(StoreError, match="is gone"):
            guard.quarantine(PASSAGES[1], why="it lies")
        assert not path.exists()
        assert dropped(guard) == PASSAGES[:1]
        assert not guard.health().reachable
        assert guard.health().quarantined == 1
        shutil.move(tmp_path / "backup.db", path)
        eventually(lambda: events_of(path) == [event])
        eventually(lambda: guard.health().reachable)
    assert dropped(guard) == PASSAGES[:1]
    guard._parts.counter.flush()
    assert guard.store.counts()["queries"] == 3
    gone, replaced = caplog.messages
    assert gone.startswith("the quarantine cannot be read, 1 known keys stay in force: the file")
    assert "was replaced" in replaced


def test_an_empty_store_in_place_of_a_deleted_file_takes_nothing_out(guard, path, tmp_path, caplog):
    guard.store.add_quarantine([entry(PASSAGES[0])])
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM INTO ?", [str(tmp_path / "backup.db")])
    with caplog.at_level(logging.ERROR, "ragguard"), Guard(store=path) as other:
        remove(path)
        event = guard.report(QUESTION, "at nine", passages=PASSAGES)
        for one in (guard, other):
            eventually(lambda one=one: one.health().store_error is not None)
        # What programs write by themselves is no history.
        with contextlib.closing(open_store(path)) as made:
            made.note(Policy("review").change)
            made.accuse([entry(PASSAGES[2], event_id="e")], Limits(quorum=2))
        eventually(lambda: events_of(path) == [event])
        for one in (guard, other):
            eventually(lambda one=one: one.health().reachable)
        assert dropped(guard) == dropped(other) == PASSAGES[:1]
        # From here on what people decide is added to that.
        for passage in PASSAGES[:2]:
            other.quarantine(passage, why="it lies")
        assert dropped(guard) == dropped(other) == PASSAGES[:2]
        other.release(PASSAGES[0], why="it does not")
        assert dropped(guard) == dropped(other) == PASSAGES[1:2]
    assert sum("was replaced" in message for message in caplog.messages) == 1
    kept = [one for one in caplog.messages if one.startswith("a new, empty audit store")]
    assert len(kept) == 2
    assert "1 known keys stay in force here; restore a backup of the old one, or restart" in kept[0]
    remove(path)
    shutil.move(tmp_path / "backup.db", path)
    eventually(lambda: dropped(guard) == PASSAGES[:1])
    quarantine_elsewhere(path, PASSAGES[2])
    eventually(lambda: dropped(guard) == [PASSAGES[0], PASSAGES[2]])


def test_a_guard_that_starts_on_an_empty_store_begins_with_it(guard, path):
    guard.store.add_quarantine([entry(PASSAGES[0])])
    guard.close()
    remove(path)
    with Guard(store=path) as anew:
        assert dropped(anew) == []


def test_a_file_that_goes_while_it_is_opened_is_not_made_anew(path, monkeypatch):
    with contextlib.closing(open_store(path)) as store:
        store._database._engine.dispose()
        looked = Database._follow_the_file

        def goes(database):
            looked(database)
            remove(path)

        monkeypatch.setattr(Database, "_follow_the_file", goes)
        with pytest.raises(StoreError, match="unable to open database file"):
            store.quarantine()
        assert not path.exists()


def test_the_quarantine_of_a_file_that_takes_its_place_is_seen(guard, path, tmp_path, caplog):
    guard.store.add_quarantine([entry(PASSAGES[0])])
    guard.store.add_event(Event("before", "q", "r"))
    other = open_store(tmp_path / "other.db")
    other.add_quarantine([entry(PASSAGES[1])])  # the first version there too
    other.close()
    with caplog.at_level(logging.ERROR, "ragguard"):
        remove(path)
        (tmp_path / "other.db").rename(path)
        eventually(lambda: dropped(guard) == PASSAGES[1:2])
    assert "was replaced" in caplog.text
    event = guard.report(QUESTION, "at nine", passages=PASSAGES)
    eventually(lambda: events_of(path) == [event])


def test_a_new_file_without_tables_is_left_to_whoever_opens_it(guard, path, caplog):
    guard.store.add_quarantine([entry(PASSAGES[0])])
    remove(path)
    path.touch()
    for _ in range(2):
        with pytest.raises(StoreError, match=r"there is no audit store at .*; restore a backup of"):
            guard.store.add_counts({"queries": 1})
    assert dropped(guard) == PASSAGES[:1]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
    assert "was replaced" not in caplog.text
    open_store(path).close()
    guard.store.add_counts({"queries": 1})
    quarantine_elsewhere(path, PASSAGES[1])
    eventually(lambda: dropped(guard) == PASSAGES[:2])


def test_an_older_backup_takes_the_place_of_the_file(guard, path, tmp_path):
    guard.store.add_quarantine([entry(PASSAGES[0])])
    connection = sqlite3.connect(path)
    connection.execute("VACUUM INTO ?", [str(tmp_path / "backup.db")])
    connection.close()
    guard.store.add_quarantine([entry(PASSAGES[1])])
    assert dropped(guard) == PASSAGES[:2]
    remove(path)
    shutil.move(tmp_path / "backup.db", path)
    eventually(lambda: dropped(guard) == PASSAGES[:1])


def test_a_file_in_its_place_that_is_no_store_is_an_error_until_it_goes(guard, path):
    guard.store.add_quarantine([entry(PASSAGES[0])])
    remove(path)
    path.write_text("no database, but quite a few words of text" * 100)
    for _ in range(2):
        with pytest.raises(StoreError, match="not a database"):
            guard.store.counts()
    assert dropped(guard) == PASSAGES[:1]
    path.unlink()
    open_store(path).close()
    guard.store.add_counts({"mended": 1})
    assert guard.store.counts()["mended"] == 1


def test_a_damaged_file_is_an_error(path):
    store = open_store(path)
    store.add_quarantine([entry(f"{i} {PASSAGES[0] * 100}") for i in range(200)])
    store.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 8192))

    def read():
        with contextlib.closing(open_store(path)) as store:
            store.quarantine()

    with pytest.raises(StoreError, match=r"malformed|not a database|disk image"):
        read()


def make_foreign(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE ragguard_meta (a)")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(os.urandom(8192)),
        make_foreign,
    ],
    ids=["damaged", "foreign"],
)
def test_a_store_that_cannot_be_opened_leaves_nothing_open(path, spoil, monkeypatch):
    spoil(path)
    connect, made = sqlite3.dbapi2.connect, []

    def remembered(*args, **options):
        made.append(connect(*args, **options))
        return made[-1]

    monkeypatch.setattr(sqlite3.dbapi2, "connect", remembered)
    with pytest.raises(StoreError):
        open_store(path)
    assert made
    for connection in made:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_a_file_that_must_not_be_written_is_an_error(path):
    open_store(path).close()
    store = open_store(f"sqlite:///file:{path}?mode=ro&uri=true")
    assert store.counts() == {}
    with pytest.raises(StoreError, match="readonly database; check that the path"):
        store.add_counts({"queries": 1})
    store.close()


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs RLIMIT_FSIZE")
def test_a_full_disk_is_an_error_and_nothing_is_lost_once_there_is_room(tmp_path):
    # A limit on the size of files fails writes as a full disk does.
    code = """
        import resource, signal, sys, time
        from ragguard import Guard
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        guard = Guard(store=sys.argv[1])
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
        ids = [guard.report(f"q{i}", "r", passages=["a passage " * 100]) for i in range(50)]
        while not guard.health().events_waiting:
            time.sleep(0.01)
        time.sleep(0.5)
        waiting = guard.health().events_waiting
        verdict = guard.filter("When does the ferry leave?", ["The pier is of oak."])
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        while guard.health().events_waiting:
            time.sleep(0.01)
        found = {event.id for event in guard.store.events(limit=100)}
        print(waiting > 0, verdict.error, found == set(ids), guard.health().reports_lost)
        guard.close()
        """
    stdout, stderr = spawn(code, tmp_path / "audit.db").communicate(timeout=120)
    assert stdout == "True None True 0\n", stderr
    assert "the store fails" in stderr


@pytest.mark.slow
def test_a_lock_that_somebody_keeps_does_not_hold_up_queries_or_close(guard, path):
    guard.store.add_quarantine([entry(PASSAGES[0])])
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    guard.report(QUESTION, "at nine", passages=PASSAGES)
    for _ in range(50):
        assert dropped(guard) == PASSAGES[:1]
    closing = threading.Thread(target=guard.close)
    closing.start()
    closing.join(20.0)  # SQLite itself waits for 10 s
    holder.rollback()
    holder.close()
    assert not closing.is_alive()
    closing.join()


@pytest.mark.slow
def test_a_long_read_stops_neither_queries_nor_the_quarantine(guard, path):
    reading, done = threading.Event(), threading.Event()

    def read():
        with guard.store._database.read() as session:
            session.connection()
            reading.set()
            assert done.wait(LONG)

    reader = threading.Thread(target=read)
    reader.start()
    assert reading.wait(LONG)
    other = threading.Thread(target=guard.store.events)  # stands in line behind the long read
    other.start()
    quarantine_elsewhere(path, PASSAGES[0])
    eventually(lambda: dropped(guard) == PASSAGES[:1])
    assert reader.is_alive()
    assert other.is_alive()
    done.set()
    reader.join(LONG)
    other.join(LONG)


def test_queries_ask_the_store_nothing(guard, monkeypatch):
    guard.store.add_quarantine([entry(PASSAGES[0])])
    main = threading.get_ident()
    asked = []

    def watched(name, method):
        def call(*arguments):
            if threading.get_ident() == main:
                asked.append(name)
            return method(*arguments)

        return call

    for name in ("quarantine_version", "quarantine_changes", "quarantine_keys", "counts"):
        monkeypatch.setattr(guard.store, name, watched(name, getattr(guard.store, name)))
    monkeypatch.setattr(os, "stat", watched("stat", os.stat))
    for _ in range(20):
        assert dropped(guard) == PASSAGES[:1]
    assert asked == []


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_a_new_store_is_for_its_owner_alone(path):
    before = os.umask(0o022)
    try:
        store = open_store(path)
        store.add_counts({"queries": 1})
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert modes == {f"audit.db{end}": 0o600 for end in ("", "-wal", "-shm")}


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions")
def test_the_permissions_of_a_file_that_is_there_stay(path):
    open_store(path).close()
    path.chmod(0o660)
    store = open_store(path)
    store.add_counts({"queries": 1})
    modes = {stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
    store.close()
    assert modes == {0o660}
