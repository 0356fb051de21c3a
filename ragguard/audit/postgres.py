"""Connections to PostgreSQL: none waits without limit, and none that is dead is used.

psycopg, an extra, is imported when a store in PostgreSQL is opened.
"""

from __future__ import annotations

import logging
import math
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.exc import DisconnectionError

from ragguard.fork import follow_forks

logger = logging.getLogger(__name__)

# libpq's names. A server that is gone is noticed after 25 s at most where the network says so.
_CONNECT: dict[str, int] = {
    "connect_timeout": 5,  # s
    "keepalives_idle": 10,  # s
    "keepalives_interval": 5,  # s
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,  # ms
}
_LOCK_S = 5.0
_FIRST_ANSWER_S = 3.0
_GRACE_S = 1.0
_POOL_S = 10.0
_LOOK_S = 0.25
_OWN_LIMIT = re.compile(r"\bstatement_timeout\s*=\s*(\d+)\s*(ms|s|min)?")
_UNIT_S = {"ms": 1e-3, "s": 1.0, "min": 60.0}


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


_watchdog = Watchdog()


@cache
def _bounded_connection() -> Any:
    """Return the class of a connection that is cut when a call has no answer for `limit_s`."""
    import psycopg

    class BoundedConnection(psycopg.Connection):  # type: ignore[misc]
        limit_s = _FIRST_ANSWER_S

        def wait(self, *args: Any, **options: Any) -> Any:
            with _watchdog.limit(self, self.limit_s) as answer:
                try:
                    return super().wait(*args, **options)
                except psycopg.Error as error:
                    if answer.overdue:
                        raise psycopg.OperationalError(
                            f"the server did not answer within {self.limit_s:g} s"
                        ) from error
                    raise

    return BoundedConnection


def postgres_engine(where: URL, *, statement_s: float) -> Engine:
    """Return an engine whose every wait has an end.

    A connection is tried whenever it is taken from the pool; if no answer comes within 3 s, it and
    all older ones are replaced. Parameters that the URL names itself, and time-outs in its
    `options`, take the place of the defaults.

    Args:
        where: The URL, with "psycopg" for its driver.
        statement_s: Seconds that a statement may take.

    Raises:
        ImportError: psycopg is not installed.
    """
    defaults = {name: value for name, value in _CONNECT.items() if name not in where.query}
    engine = create_engine(where, connect_args=defaults, pool_timeout=_POOL_S)
    driver: Any = engine.dialect.dbapi
    options = str(where.query.get("options", ""))
    greeting = _greeting(options, statement_s)
    limit_s = _statement_limit(options, statement_s) + _GRACE_S

    def connect(dialect: object, record: object, args: Any, named: Any) -> Any:  # noqa: ARG001
        return _bounded_connection().connect(*args, **named)

    def check_out(connection: Any, record: object, proxy: object) -> None:  # noqa: ARG001
        connection.limit_s = _FIRST_ANSWER_S
        try:
            connection.execute(greeting)
        except driver.Error as error:
            replaced = DisconnectionError(str(error))
            replaced.invalidate_pool = True
            raise replaced from error
        connection.limit_s = limit_s

    event.listen(engine, "do_connect", connect)
    event.listen(engine, "checkout", check_out)
    return engine


def _greeting(options: str, statement_s: float) -> str:
    """Return the first statement of each transaction, which shows that the server answers.

    The time-outs hold for the transaction only, so that a pooler between the two, which refuses
    them when it connects and may share a session, is no obstacle.
    """
    limits = {"statement_timeout": statement_s, "lock_timeout": _LOCK_S}
    return "SELECT 1" + "".join(
        f", set_config('{name}', '{seconds * 1000:.0f}', true)"
        for name, seconds in limits.items()
        if name not in options
    )


def _statement_limit(options: str, default_s: float) -> float:
    own = _OWN_LIMIT.search(options)
    if own is None:
        return default_s
    # PostgreSQL's own reading: milliseconds, and 0 for no limit.
    return int(own[1]) * _UNIT_S[own[2] or "ms"] or math.inf
