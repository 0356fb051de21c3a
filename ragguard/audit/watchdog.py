"""Ends waits for a server that says nothing any more, which neither end of a connection notices."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from ragguard.fork import follow_forks

__all__ = ["Answer", "Watchdog"]

logger = logging.getLogger(__name__)

_LOOK_S = 0.25


class Connection(Protocol):
    """What the watchdog needs of a connection."""

    def fileno(self) -> int:
        """Return the descriptor of its socket."""


@dataclass(eq=False)
class Answer:
    """What one call waits for.

    Attributes:
        connection: Where it must come from.
        due: When it must be there, on the monotonic clock, in seconds.
        overdue: Whether the connection was cut, since it was not.
    """

    connection: Connection
    due: float
    overdue: bool = False


class Watchdog:
    """Cuts connections whose answer is overdue, so that the call that waits for it fails.

    Keep-alive and the time-outs of the server cannot replace it: a router or a proxy that forgot
    a connection may go on acknowledging what is sent, and the server never hears of the statement
    that it should time. One thread looks four times a second while anything is waited for.
    """

    def __init__(self) -> None:
        self._forget()
        follow_forks(self)

    @contextmanager
    def limit(self, connection: Connection, seconds: float) -> Iterator[Answer]:
        """Cut `connection` if the block lasts longer than `seconds`, give or take a look."""
        answer = Answer(connection, time.monotonic() + seconds)
        with self._changed:
            self._awaited.add(answer)
            if self._thread is None or not self._thread.is_alive():
                self._start()
            elif self._asleep:
                self._changed.notify()
        try:
            yield answer
        finally:
            # Under the lock: from here on the descriptor may be closed and be another's.
            with self._changed:
                self._awaited.discard(answer)

    def _forget(self) -> None:
        self._changed = threading.Condition()
        self._awaited: set[Answer] = set()
        self._asleep = False
        self._thread: threading.Thread | None = None

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="ragguard-watchdog", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no more threads, or the interpreter goes down
            logger.warning("a server that hangs is waited for without limit: %s", error)
        else:
            self._thread = thread

    def _run(self) -> None:
        while True:
            time.sleep(_LOOK_S)
            with self._changed:
                while not self._awaited:
                    self._asleep = True
                    self._changed.wait()
                    self._asleep = False
                now = time.monotonic()
                for answer in self._awaited:
                    if answer.due < now and not answer.overdue:
                        answer.overdue = True
                        _cut(answer.connection)

    def _before_fork(self) -> None:
        """Nothing to do: the child waits for nothing yet."""

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._forget()


def _cut(connection: Connection) -> None:
    try:
        # Both names of one socket: the end of its traffic reaches whoever waits for the other.
        with socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as same:
            same.shutdown(socket.SHUT_RDWR)
    except Exception as error:  # it was closed just now, in whatever way the driver says so
        logger.debug("a connection that does not answer cannot be cut: %s", error)
