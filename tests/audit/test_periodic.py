"""What is written in the background, whatever it is."""

import gc
import os
import threading
import weakref

import pytest

from ragguard.audit.periodic import Writer

WAIT = 60.0


class Lines(Writer):
    def __init__(self, interval_s=0.01):
        self.written = []
        self.wrote = threading.Event()
        super().__init__("ragguard-lines", interval_s)

    def _begin(self):
        super()._begin()
        self._pending = []

    def add(self, line):
        with self._lock:
            self._pending.append(line)
            self._start()

    def flush(self):
        with self._stepping:
            with self._lock:
                pending, self._pending = self._pending, []
            self.written += pending
            if pending:
                self.wrote.set()


def test_a_thread_writes_what_was_added_and_starts_when_there_is_something():
    lines = Lines()
    assert lines.threads == []
    lines.add("one")
    assert lines.wrote.wait(WAIT)
    assert lines.written == ["one"]
    assert [thread.name for thread in lines.threads] == ["ragguard-lines"]
    lines.close()
    assert not lines.threads[0].is_alive()


@pytest.mark.parametrize("waits", [True, False])
def test_what_is_pending_is_written_when_it_is_closed(waits):
    lines = Lines(interval_s=3600)
    if waits:
        lines.add("one")
    else:
        lines._pending.append("one")  # no thread has begun
    lines.stop()
    lines.close()
    assert lines.written == ["one"]
    lines.add("late")
    lines.flush()
    assert lines.written == ["one", "late"]


def test_nothing_is_written_for_what_is_gone():
    lines = Lines()
    lines.add("one")
    thread, gone = lines.threads[0], weakref.ref(lines)
    del lines
    gc.collect()
    thread.join(WAIT)
    assert gone() is None
    assert not thread.is_alive()


def test_where_there_are_no_more_threads_it_is_written_when_closed(monkeypatch, caplog):
    lines = Lines()

    def none_left(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    lines.add("one")
    assert "ragguard-lines does not run for now" in caplog.text
    lines.close()
    assert lines.written == ["one"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("closed", [True, False])
def test_after_a_fork_the_child_writes_its_own_and_nothing_twice(closed):
    lines = Lines(interval_s=3600)
    lines.add("of the parent")
    if closed:
        lines._stop.set()
    child = os.fork()
    if child == 0:
        before = len(lines.written)  # the parent's thread may have been as fast as the fork
        lines.add("of the child")
        started = bool(lines.threads)
        lines.close()
        written = lines.written[before:]
        os._exit(0 if (written, started) == (["of the child"], not closed) else 1)
    assert os.waitpid(child, 0)[1] == 0
    lines.close()
    assert lines.written == ["of the parent"]
