import os
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from ragguard import Passage
from ragguard.audit import Event, QuarantineChanges, QuarantineEntry, open_store
from ragguard.audit.sql import SqlStore
from ragguard.errors import InvalidInputError, MissingExtraError, StoreError
from tests.audit.conftest import tamper
from tests.processes import begin, output, python, spawn


@pytest.fixture
def store(tmp_path):
    """A store in `audit.db`."""
    with closing(SqlStore(str(tmp_path / "audit.db"))) as made:
        yield made


def test_a_path_and_its_url_are_the_same_store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for url in ("audit.db", "sqlite:///audit.db", f"sqlite:///{tmp_path}/audit.db"):
        store = SqlStore(url)
        store.add_counts({"opened": 1})
        assert store.path == tmp_path / "audit.db"
        store.close()
    store = open_store(tmp_path / "audit.db")
    assert store.counts() == {"opened": 3}
    store.close()


def test_a_number_that_no_database_holds_is_said(store):
    with pytest.raises(InvalidInputError, match="no number is too large"):
        store.events(limit=10**20)


@pytest.mark.parametrize("host", ["a..b", "x" * 64, "h\ud800"])
def test_no_host_has_such_a_name(host):
    with pytest.raises(InvalidInputError, match="check its spelling"):
        open_store(f"postgresql://root@{host}/test")


def test_a_path_is_no_url(tmp_path):
    SqlStore(str(tmp_path / "100%?x=1#.db")).close()
    assert (tmp_path / "100%?x=1#.db").exists()


def test_the_path_stays_when_the_working_directory_changes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = SqlStore("audit.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    store._database._before_fork()  # closes the connection: the next use opens the file again
    store._database._after_fork(in_child=False)
    store.add_counts({"x": 1})
    store.close()
    assert not list((tmp_path / "elsewhere").iterdir())


def test_sqlite_runs_in_wal_mode(store):
    with store._database.read() as session:
        pragmas = {
            name: session.connection().exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 1, "busy_timeout": 10_000}


def test_an_idle_claim_writes_nothing(store, tmp_path):
    log = tmp_path / "audit.db-wal"
    before = log.stat()
    assert store.claim_event(lease_s=1.0) is None
    assert (log.stat().st_mtime_ns, log.stat().st_size) == (before.st_mtime_ns, before.st_size)


NEXT = "seq FROM ragguard_events WHERE claimable_at <= 5.0{} ORDER BY turn, seq LIMIT 1"
LAST = "max(turn) FROM ragguard_events WHERE lane = 'x' AND claimable_at IS NOT NULL"


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (NEXT.format(""), "by_turn"),
        (NEXT.format(" AND bare IS 0"), "with_passages_by_turn"),
        (LAST, "by_lane"),
    ],
)
def test_claims_and_turns_read_an_index(store, query, index):
    find = text("SELECT sql FROM sqlite_master WHERE name = 'ragguard_events_by_turn'")
    with store._database.write() as session:
        connection = session.connection()
        # Indexes are created in any order, and of two that cost the same SQLite takes the last.
        create = connection.scalar(find)
        connection.execute(text("DROP INDEX ragguard_events_by_turn"))
        connection.execute(text(create))
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN SELECT {query}").all()
    assert f"INDEX ragguard_events_{index}" in plan[0][-1]
    assert "TEMP B-TREE" not in str(plan)
    assert len([step for step in plan if "ragguard_events" in step[-1]]) == 1


@pytest.mark.parametrize("where", ["missing/audit.db", "file/audit.db", "."])
def test_a_path_that_cannot_be_written(tmp_path, where):
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="unable to open database file; check that the path"):
        SqlStore(str(tmp_path / where))


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "audit.db").write_text("no database, but quite a few words of text" * 100)
    with pytest.raises(StoreError, match="not a database"):
        SqlStore(str(tmp_path / "audit.db"))


def test_an_unreachable_server_and_a_hidden_password():
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError, match="check that the server is up") as caught:
        SqlStore("postgresql://me:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)


def test_a_missing_driver(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for url in ("postgresql://h/d", "postgres://h/d", "postgresql+psycopg://h/d"):
        with pytest.raises(MissingExtraError, match=r"\[postgres\]"):
            SqlStore(url)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://h/d",
        "postgresql+asyncpg://h/d",
        "sqlite://",
        "sqlite:///:memory:",
        ":memory:",
        "://",
    ],
)
def test_urls_that_name_no_store(url):
    with pytest.raises(InvalidInputError, match=r"pass|store=None"):
        SqlStore(url)


def test_a_url_with_an_at_in_its_password_is_not_told():
    with pytest.raises(InvalidInputError, match="%40") as caught:
        SqlStore("postgresql://me:s3@cret@host/d")
    assert "cret" not in str(caught.value)


def test_a_closed_store(open_sql):
    store = open_sql()
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.counts()


def test_a_store_whose_tables_are_gone(open_sql):
    store = open_sql()
    tamper(store, "DROP TABLE ragguard_counters")
    with pytest.raises(StoreError, match="ragguard_counters"):
        store.counts()


def test_a_failure_inside_sqlalchemy_is_no_fault_of_the_record(open_sql):
    store = open_sql()
    tamper(store, "DELETE FROM ragguard_meta")
    with pytest.raises(StoreError, match="No row was found"):
        store.quarantine_version()


def test_a_record_of_the_wrong_type(open_sql):
    store = open_sql()
    with pytest.raises(InvalidInputError, match="check the types"):
        store.add_event(Event(7, "q", "r"))
    with pytest.raises(InvalidInputError, match="check the types"):
        store.add_event(Event("e", "q", "r", created_at="yesterday"))
    assert store.events() == []


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE ragguard_quarantine RENAME COLUMN reporters TO reporters_json",
        "ALTER TABLE ragguard_quarantine RENAME TO quarantine",
    ],
)
def test_tables_of_another_ragguard_are_said_to_be_that(open_sql, change):
    store = open_sql()
    tamper(store, change)
    with pytest.raises(StoreError, match="not those of this ragguard; use another store"):
        store.quarantine()


def test_a_change_that_fails_halfway_leaves_nothing(open_sql):
    store = open_sql()
    bad = Passage("bad")
    object.__setattr__(bad, "text", 7)
    with pytest.raises(InvalidInputError):
        store.add_event(Event("e", "q", "r", (Passage("ok"), bad)))
    assert store.events() == []
    version = store.quarantine_version()
    with pytest.raises(InvalidInputError):
        store.add_quarantine(
            [QuarantineEntry("k", "p", "t", "r"), QuarantineEntry(7, "p", "t", "r")]
        )
    assert store.quarantine() == []
    assert store.quarantine_version() == version


@pytest.mark.slow
def test_rows_go_to_tables_without_a_class_that_two_threads_may_make_at_once(sql_url):
    told = """
        import sys
        from sqlalchemy.sql.annotation import annotated_classes
        from sqlalchemy.sql.dml import Insert
        from ragguard import Passage
        from ragguard.audit import Event, QuarantineEntry
        from ragguard.audit.records import Answer
        from ragguard.audit.sql import SqlStore
        store = SqlStore(sys.argv[1])
        store.add_event(Event("e", "q", "r", (Passage("t"),)))
        store.add_quarantine([QuarantineEntry("k" * 32, "p", "t", "r")])
        store.add_counts({"queries": 1})
        store.add_answer(Answer("d" * 32))
        store.close()
        print([one.__name__ for one in annotated_classes if issubclass(one, Insert)])
    """
    assert python(told, sql_url).strip() == "[]"


def test_scores_that_are_no_number(open_sql):
    store = open_sql()
    scores = [float("nan"), float("inf"), float("-inf"), 0.1]
    store.add_event(Event("e", "q", "r", tuple(Passage("t", score=s) for s in scores)))
    found = [passage.score for passage in store.event("e").passages]
    assert found == [None, float("inf"), float("-inf"), 0.1]


@pytest.mark.slow
def test_many_entries_at_once(open_sql):
    store = open_sql()
    entries = [QuarantineEntry(f"{i}", "p", "t", "r") for i in range(5000)]
    assert store.add_quarantine(entries) == 5000
    assert store.add_quarantine(entries) == 0
    assert len(store.quarantine_keys()) == 5000


@pytest.mark.slow
def test_changes_of_the_quarantine_are_read_by_themselves(open_sql):
    store = open_sql()
    store.add_quarantine([QuarantineEntry(f"{i}", "p", "t", "r") for i in range(1000)])
    since = store.quarantine_version()
    assert store.quarantine_changes(since) == QuarantineChanges(since, frozenset())
    store.add_quarantine([QuarantineEntry("new", "p", "t", "r")])
    store.set_quarantine_status("7", "released")
    store.set_quarantine_status("8", "confirmed")
    changes = store.quarantine_changes(since)
    told = QuarantineChanges(since + 3, frozenset({"new", "8"}), frozenset({"7"}))
    assert changes == replace(told, spared=frozenset({"7"}), allowed=changes.allowed)


@pytest.mark.parametrize(
    "written",
    [
        "UPDATE ragguard_quarantine SET status = 'released' WHERE key = 'a'",
        "INSERT INTO ragguard_quarantine"
        " (key, passage_id, text, reason, status, created_at, updated_at) VALUES"
        " ('c', 'p', 't', 'r', 'quarantined', '2024-05-01', '2024-05-01')",
    ],
)
def test_changes_by_an_older_version_are_not_missed(open_sql, written):
    store = open_sql()
    store.add_quarantine([QuarantineEntry(key, "p", "t", "r") for key in ("a", "b")])
    since = store.quarantine_version()
    store.add_quarantine([QuarantineEntry("z", "p", "t", "r")])
    newer = "UPDATE ragguard_meta SET value = value + 1 WHERE name = 'quarantine_version'"
    tamper(store, written, newer)
    changes = store.quarantine_changes(since)
    assert changes.complete
    assert changes.held == store.quarantine_keys() != {"a", "b"}


@pytest.mark.slow
def test_other_processes_see_each_write(sql_url, open_sql):
    store = open_sql()
    store.add_event(Event("e", "q", "r"))
    printed = python(
        """
        import sys
        from ragguard.audit import QuarantineEntry, open_store
        store = open_store(sys.argv[1])
        print(store.claim_event(lease_s=3600).id)
        store.add_quarantine([QuarantineEntry("k", "p", "t", "r")])
        store.close()
        """,
        sql_url,
    )
    assert printed == "e\n"
    assert store.event("e").status == "running"
    assert store.claim_event(lease_s=1) is None
    assert store.quarantine_keys() == {"k"}


@pytest.mark.slow
def test_processes_that_open_a_new_store_together(sql_url, open_sql):
    code = """
        import sys
        from ragguard.audit import open_store
        print("ready", flush=True)
        sys.stdin.readline()
        store = open_store(sys.argv[1])
        for _ in range(20):
            store.add_counts({"a": 1, "b": 1})
            store.add_counts({"b": 1, "a": 1})
        store.close()
        """
    children = [spawn(code, sql_url) for _ in range(4)]
    begin(*children)
    for child in children:
        output(child)
    assert open_sql().counts() == {"a": 160, "b": 160}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_both_sides_of_a_fork_go_on(sql_url, open_sql):
    printed = python(
        """
        import os, sys, threading, warnings
        from ragguard.audit import open_store
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of threads before a fork
        store = open_store(sys.argv[1])
        stop = threading.Event()

        def write():
            while not stop.is_set():
                store.add_counts({"parent": 1})

        writers = [threading.Thread(target=write) for _ in range(2)]
        for thread in writers:
            thread.start()
        children = []
        for _ in range(5):
            store.counts()  # leaves an idle connection in the pool
            pid = os.fork()
            if pid == 0:
                try:
                    for _ in range(20):
                        store.add_counts({"child": 1})
                    store.close()
                except BaseException as error:
                    print(error, flush=True)
                    os._exit(1)
                os._exit(0)
            children.append(pid)
        print([os.waitpid(pid, 0)[1] for pid in children])
        stop.set()
        for thread in writers:
            thread.join()
        print(store.counts()["child"])
        store.close()
        """,
        sql_url,
    )
    assert printed.splitlines() == ["[0, 0, 0, 0, 0]", "100"]
    assert open_sql().counts()["child"] == 100


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_no_sqlite_connection_is_open_during_a_fork(tmp_path):
    printed = python(
        """
        import os, sys
        from pathlib import Path
        from ragguard.audit import open_store
        store = open_store(sys.argv[1])
        store.counts()

        def held():
            links = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
                     if Path(f"/proc/self/fd/{fd}").is_symlink()]
            return any("audit.db" in link for link in links)

        print(held(), flush=True)
        if os.fork() == 0:
            print(held(), flush=True)
            os._exit(0)
        os.wait()
        store.close()
        """,
        tmp_path / "audit.db",
    )
    assert printed.split() == ["True", "False"]


def test_sqlalchemy_is_imported_for_a_url_only():
    printed = python(
        """
        import sys
        from ragguard.audit import MemoryStore, open_store
        store = open_store(None)
        print(type(store).__name__, open_store(store) is store, "sqlalchemy" in sys.modules)
        """
    )
    assert printed.split() == ["MemoryStore", "True", "False"]
