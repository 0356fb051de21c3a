"""PostgreSQL behind a proxy that forgets connections, hangs or cuts: nothing waits without end."""

import logging
import math
import os
import threading
import time
from contextlib import closing

import pytest
from sqlalchemy import make_url, text

from ragguard import Guard
from ragguard.audit import open_store
from ragguard.errors import StoreError
from tests.audit.conftest import PASSAGES, QUESTION, dropped, entry, quarantine_elsewhere
from tests.audit.tcp_proxy import Proxy
from tests.processes import eventually, spawn

pytestmark = pytest.mark.postgres

LONG = 60.0


@pytest.fixture
def direct(new_url):
    return new_url("postgres")


@pytest.fixture
def proxy(direct):
    where = make_url(direct)
    with closing(Proxy(where.host or "127.0.0.1", where.port or 5432)) as made:
        yield made


@pytest.fixture
def proxied(direct, proxy):
    where = make_url(direct).set(host="127.0.0.1", port=proxy.port)
    return where.render_as_string(hide_password=False)


@pytest.fixture
def guard(proxied, proxy):
    made = Guard(store=proxied)
    yield made
    proxy.recover()
    made.close()


@pytest.fixture
def elsewhere(direct):
    with closing(open_store(direct)) as store:
        yield store


@pytest.mark.slow
def test_connections_that_died_in_silence_are_replaced(guard, proxy, direct, elsewhere):
    guard.store.counts()  # leaves an idle connection
    proxy.forget()
    quarantine_elsewhere(direct, PASSAGES[0])
    eventually(lambda: dropped(guard) == PASSAGES[:1], seconds=10.0)
    events = [guard.report(QUESTION, "at nine", passages=PASSAGES) for _ in range(3)]
    eventually(lambda: {event.id for event in elsewhere.events()} == set(events))


@pytest.mark.slow
def test_reports_on_a_dead_connection_are_stored_on_a_new_one(guard, proxy, elsewhere):
    guard.report(QUESTION, "at nine", passages=PASSAGES)
    eventually(lambda: len(elsewhere.events()) == 1)
    proxy.forget()
    guard.report(QUESTION, "at ten", passages=PASSAGES)
    eventually(lambda: len(elsewhere.events()) == 2)


@pytest.mark.slow
def test_reports_while_the_server_hangs_are_stored_once_when_it_answers(guard, proxy, elsewhere):
    first = guard.report(QUESTION, "at nine", passages=PASSAGES)
    eventually(lambda: len(elsewhere.events()) == 1)
    proxy.hang()
    started = time.monotonic()
    held = [guard.report(QUESTION, f"at {hour}", passages=PASSAGES) for hour in ("ten", "two")]
    assert time.monotonic() - started < LONG
    eventually(lambda: not guard.health().reachable)
    proxy.recover()
    eventually(lambda: len(elsewhere.events()) == 3)
    last = guard.report(QUESTION, "at one", passages=PASSAGES)
    eventually(lambda: len(elsewhere.events()) == 4)
    assert sorted(event.id for event in elsewhere.events()) == sorted([first, *held, last])


@pytest.mark.slow
def test_a_server_that_hangs_costs_queries_nothing_and_is_told(guard, proxy, caplog, monkeypatch):
    monkeypatch.setattr("ragguard.audit.watch._SILENT_S", 0.5)
    guard.store.add_quarantine([entry(PASSAGES[1])])
    with caplog.at_level(logging.WARNING, "ragguard.audit.watch"):
        proxy.hang()
        eventually(lambda: not guard.health().reachable)
        assert guard.health().store_age_s > 0.5
        for _ in range(50):
            assert dropped(guard) == PASSAGES[1:2]
        proxy.recover()
        eventually(lambda: guard.health().reachable)
    silent = [m for m in caplog.messages if "has not answered for" in m]
    assert len(silent) == 1
    assert "1 known keys stay in force" in silent[0]
    assert sum("answers again" in m for m in caplog.messages) == 1


@pytest.mark.slow
def test_what_hangs_is_cut(guard, proxy):
    proxy.hang()
    with pytest.raises(StoreError, match=r"did not answer|closed|timeout|expired"):
        guard.store.counts()


@pytest.mark.slow
def test_close_returns_while_the_server_hangs(proxied, proxy, caplog):
    guard = Guard(store=proxied)
    guard.filter(QUESTION, PASSAGES)
    proxy.hang()
    guard.filter(QUESTION, PASSAGES)
    guard.report(QUESTION, "at nine", passages=PASSAGES)
    closing = threading.Thread(target=guard.close)
    with caplog.at_level(logging.ERROR, "ragguard"):
        closing.start()
        closing.join(20.0)
    assert not closing.is_alive()
    assert "1 events are lost" in caplog.text
    assert "queries are not in the counters" in caplog.text


@pytest.mark.slow
def test_the_interpreter_ends_while_the_server_hangs(proxied, proxy):
    code = """
        import sys, threading
        from ragguard import Guard
        guard = Guard(store=sys.argv[1])
        guard.filter("When does the ferry leave?", ["The pier is of oak."])
        print("up", flush=True)
        sys.stdin.readline()
        guard.report("When does the ferry leave?", "at nine")
        """
    child = spawn(code, proxied)
    assert child.stdout.readline() == "up\n"
    proxy.hang()
    _, stderr = child.communicate("go\n", timeout=30.0)
    assert child.returncode == 0, stderr


@pytest.mark.slow
def test_a_server_that_cuts_is_found_again(guard, proxy, direct, elsewhere):
    proxy.cut()
    eventually(lambda: guard.health().store_error is not None)
    event = guard.report(QUESTION, "at nine", passages=PASSAGES)
    quarantine_elsewhere(direct, PASSAGES[2])
    assert dropped(guard) == []
    proxy.recover()
    eventually(lambda: dropped(guard) == PASSAGES[2:])
    eventually(lambda: [found.id for found in elsewhere.events()] == [event])


@pytest.mark.slow
def test_opening_a_store_that_hangs_fails(proxied, proxy):
    proxy.hang()
    failed = threading.Event()

    def open_it():
        with pytest.raises(StoreError, match="check that the server is up"):
            open_store(proxied)
        failed.set()

    threading.Thread(target=open_it, daemon=True).start()
    assert failed.wait(30.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_first_query_after_a_fork_asks_nobody(guard, proxy):
    guard.store.add_quarantine([entry(PASSAGES[0])])
    proxy.hang()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, b"1" if dropped(guard) == PASSAGES[:1] else b"0")
        finally:
            os._exit(0)
    os.close(write)
    answers = []
    reading = threading.Thread(target=lambda: answers.append(os.read(read, 1)), daemon=True)
    reading.start()
    reading.join(3.0)  # shorter than any time-out of the store
    os.waitpid(child, 0)
    os.close(read)
    assert answers == [b"1"]


@pytest.mark.parametrize(
    ("own", "statement", "seconds"),
    [("", "10s", 10.0), ("7s", "7s", 7.0), ("2h", "2h", 7200.0), ("0", "0", math.inf)],
)
def test_time_outs_of_the_server_are_set_and_the_url_overrides_them(
    direct, own, statement, seconds
):
    url = f"{direct}%20-c%20statement_timeout%3D{own}" if own else direct
    with closing(open_store(url)) as store, store._database.read() as session:
        connection = session.connection()
        found = tuple(
            connection.exec_driver_sql(f"SHOW {name}").scalar()
            for name in ("statement_timeout", "lock_timeout")
        )
        limit = connection.connection.dbapi_connection.limit_s
    assert found == (statement, "5s")
    assert limit == seconds + 1.0


def test_a_statement_that_takes_too_long_is_an_error(direct):
    store = open_store(f"{direct}%20-c%20statement_timeout%3D200ms")
    with pytest.raises(StoreError, match="statement timeout"), store._database.read() as session:
        session.execute(text("SELECT pg_sleep(30)"))
    assert store.counts() == {}
    store.close()


def test_a_lock_that_somebody_keeps_is_an_error(direct):
    first = open_store(direct)
    second = open_store(f"{direct}%20-c%20lock_timeout%3D200ms")
    with first._database.write() as session:
        session.execute(text("LOCK TABLE ragguard_counters"))
        with pytest.raises(StoreError, match="lock timeout"):
            second.add_counts({"queries": 1})
    second.add_counts({"queries": 1})
    assert first.counts() == {"queries": 1}
    first.close()
    second.close()


@pytest.mark.parametrize(
    "secret",
    ["postgresql://u:s3cret@127.0.0.1:1/d", "postgresql://u@127.0.0.1:1/d?password=s3cret"]
    + [
        f"postgresql://u@127.0.0.1:1/d?{name}=s3cret"
        for name in ("passfile", "sslpassword", "sslkey", "pasword")
    ],
)
def test_no_secret_of_the_url_is_told(secret, caplog):
    pytest.importorskip("psycopg")
    with caplog.at_level(logging.DEBUG), pytest.raises(StoreError) as caught:
        open_store(secret)
    told = [str(caught.value), repr(caught.value), caplog.text]
    assert not any("s3cret" in text for text in told)
    assert "127.0.0.1" in told[0]
