import gc
import logging
import os
from datetime import timedelta

import pytest

from ragguard.audit import MemoryStore, QuarantineEntry, QuarantineWatch, open_store
from ragguard.audit.quarantine import utc_now
from ragguard.content import content_key
from ragguard.errors import InvalidInputError, StoreError
from tests.audit.conftest import quarantine_elsewhere
from tests.processes import eventually, output, spawn


def entry(key):
    return QuarantineEntry(key, "p", "t", "r")


class PolledStore(MemoryStore):
    """A store that a watch can only poll, and that fails when told to."""

    path = None

    def __init__(self):
        super().__init__()
        self.down = False
        self.asked = 0

    def quarantine_version(self):
        self.asked += 1
        if self.down:
            raise StoreError("down")
        return super().quarantine_version()


@pytest.fixture
def polled(monkeypatch):
    # A subclass of MemoryStore would be asked directly; the watch must take it for another store.
    monkeypatch.setattr(MemoryStore, "shared", True)
    return PolledStore()


def test_the_keys_of_an_empty_store(store, watch_of):
    assert watch_of(store).held().keys == frozenset()


def test_the_keys_that_were_there_before(store, watch_of):
    store.add_quarantine([entry("k")])
    assert watch_of(store).held().keys == {"k"}


def test_a_refresh_loads_at_once(store, watch_of):
    watch = watch_of(store)
    store.add_quarantine([entry("k")])
    assert watch.refresh() == {"k"}
    assert watch.held().keys == {"k"}


def test_the_thread_notices_every_change(store, watch_of):
    watch = watch_of(store, 0.01)
    store.add_quarantine([entry("k")])
    eventually(lambda: watch.held().keys == {"k"})
    store.set_quarantine_status("k", "released")
    eventually(lambda: watch.held().keys == frozenset())


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def test_the_next_call_sees_a_change_by_the_same_process(kind, new_url, watch_of):
    url = new_url(kind)
    store = open_store(url)
    other = store if url is None else open_store(url)
    watch = watch_of(store)
    for i in range(50):
        other.add_quarantine([entry(f"{i}")])
        assert watch.held().keys == {f"{i}"}
        other.set_quarantine_status(f"{i}", "released")
        assert watch.held().keys == frozenset()
    store.close()
    other.close()


@pytest.mark.slow
def test_the_thread_sees_another_process(sql_url, open_sql, watch_of):
    watch = watch_of(open_sql(), 0.01)
    for text in ("k", "l"):
        quarantine_elsewhere(sql_url, text)
        eventually(lambda text=text: {content_key(text)} <= watch.held().keys)


def test_a_polled_store_is_never_asked_by_a_query(polled, watch_of):
    watch = watch_of(polled)
    polled.place = "elsewhere"  # as if another process had changed it: nobody here is told
    asked = polled.asked
    polled.add_quarantine([entry("k")])
    assert watch.held().keys == frozenset()
    assert polled.asked == asked


def test_a_store_that_fails_keeps_its_last_keys(polled, watch_of, caplog):
    polled.add_quarantine([entry("k")])
    watch = watch_of(polled, 0.001)
    streaks = 2
    with caplog.at_level(logging.ERROR, "ragguard.audit.watch"):
        for i in range(streaks):
            polled.down = True
            failed = polled.asked + 5
            eventually(lambda failed=failed: polled.asked > failed)
            assert watch.held().keys >= {"k"}
            polled.down = False
            polled.add_quarantine([entry(f"new {i}")])
            eventually(lambda i=i: watch.held().keys >= {f"new {i}"})
    assert len(caplog.records) == streaks
    assert "1 known keys stay in force: down" in caplog.messages[0]


def test_a_refresh_says_when_the_store_fails(polled, watch_of):
    watch = watch_of(polled)
    polled.down = True
    with pytest.raises(StoreError, match="down"):
        watch.refresh()
    assert watch.held().keys == frozenset()
    with pytest.raises(StoreError, match="down"):
        QuarantineWatch(polled)


@pytest.mark.slow
def test_the_thread_ends_with_the_watch(polled):
    watch = QuarantineWatch(polled, 0.001)
    thread = watch._thread
    assert thread.is_alive()
    assert thread.daemon
    del watch
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()


def test_a_closed_watch_keeps_its_keys(polled):
    polled.add_quarantine([entry("k")])
    watch = QuarantineWatch(polled, 0.001)
    watch.close()
    watch._thread.join(30)
    assert not watch._thread.is_alive()
    polled.set_quarantine_status("k", "released")
    assert watch.held().keys == {"k"}


def test_a_memory_store_needs_no_thread(watch_of):
    watch = watch_of(MemoryStore(), 0.001)
    watch.held()
    assert watch._thread is None


@pytest.mark.parametrize("interval_s", [0, -1, float("nan")])
def test_an_interval_that_is_none(interval_s):
    with pytest.raises(InvalidInputError, match="interval_s"):
        QuarantineWatch(MemoryStore(), interval_s)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_keeps_watching_and_no_thread_keeps_a_process(sql_url, open_sql):
    open_sql()
    code = """
        import os, sys, time, warnings
        from ragguard.audit import QuarantineEntry, QuarantineWatch, open_store
        warnings.simplefilter("ignore", DeprecationWarning)
        store = open_store(sys.argv[1])
        watch = QuarantineWatch(store, 0.01)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.read(read, 1)
            deadline = time.monotonic() + 30
            while "k" not in watch.held().keys and time.monotonic() < deadline:
                time.sleep(0.005)
            os._exit(0 if watch.held().keys == {"k"} else 1)
        store.add_quarantine([QuarantineEntry("k", "p", "t", "r")])
        os.write(write, b"x")
        print(os.waitpid(pid, 0)[1], watch.refresh())
        """
    assert output(spawn(code, sql_url)) == "0 frozenset({'k'})\n"


def test_what_lapses_by_itself_is_logged_with_whose_it_was(store, caplog):
    over = QuarantineEntry("k" * 32, "p", "t", "r", until=utc_now() - timedelta(seconds=1))
    store.of_tenant("acme").add_quarantine([over])
    with caplog.at_level(logging.INFO, "ragguard.audit.watch"):
        assert store.lapse() == 1
    assert caplog.messages[0] == "lapsed: kkkkkkkkkkkk, passage p of tenant acme: r"


def test_what_an_empty_store_took_the_place_of_stays_in_force(store, new_store, watch_of, caplog):
    store.add_quarantine([entry("old"), entry("older")])
    store.of_tenant("t").add_quarantine([entry("theirs")])
    watch = watch_of(store)
    watch.place = "elsewhere"  # nobody here is told of changes
    watch._store = other = new_store()
    watch.version = -1  # as if the store could not tell the changes apart
    assert watch.refresh() == {"old", "older"}
    assert watch.held("t").keys == {"theirs"}
    assert "is in the place of elsewhere: 3 known keys stay in force here" in caplog.text
    other.add_quarantine([entry("new"), entry("older")])
    other.set_quarantine_status("older", "released")
    watch.version = -1
    assert watch.refresh() == {"old", "new"}
    assert watch.held("t").keys == {"theirs"}
    assert len(caplog.records) == 1


def test_a_store_with_a_history_of_which_nothing_is_in_force_empties_the_quarantine(
    store, new_store, watch_of
):
    store.add_quarantine([entry("k")])
    watch = watch_of(store)
    watch._store = other = new_store()
    other.add_quarantine([entry("l")])
    other.set_quarantine_status("l", "lapsed")
    watch.version = -1
    assert watch.refresh() == frozenset()


def test_what_cannot_lapse_is_told_once_until_it_can(polled, watch_of, monkeypatch, caplog):
    def fails():
        raise StoreError("read only")

    past = utc_now() - timedelta(seconds=1)
    polled.add_quarantine([QuarantineEntry("k", "p", "t", "r", until=past)])
    watch = watch_of(polled)
    lapse = polled.lapse
    for expected in (1, 2):
        monkeypatch.setattr(polled, "lapse", fails)
        for _ in range(3):
            watch._due = 0.0
            watch.reload()
        assert sum("stays in force for now" in one for one in caplog.messages) == expected
        monkeypatch.setattr(polled, "lapse", lapse)
        watch._due = 0.0
        watch.reload()
    assert watch.held().keys == frozenset()
