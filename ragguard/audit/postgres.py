"""Connections to PostgreSQL: none waits without limit, and none that is dead is used.

psycopg, an extra, is imported when a store in PostgreSQL is opened.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Generator
from functools import cache
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.exc import DisconnectionError

Steps = Generator[Any, Any, Any]

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
_OWN_LIMIT = re.compile(r"\bstatement_timeout\s*=\s*(\d+)\s*(ms|s|min)?")
_UNIT_S = {"ms": 1e-3, "s": 1.0, "min": 60.0}


@cache
def _bounded_connection() -> Any:
    """Return the class of a connection that fails when a call has no answer for `limit_s`.

    Keep-alive and the time-outs of the server cannot replace it: a router or a proxy that forgot
    a connection may go on acknowledging what is sent, and the server never hears of the statement
    that it should time.
    """
    import psycopg

    class BoundedConnection(psycopg.Connection):  # type: ignore[misc]
        limit_s = _FIRST_ANSWER_S

        def wait(self, steps: Any, *args: Any, **options: Any) -> Any:
            try:
                return super().wait(in_time(steps, self.limit_s), *args, **options)
            except OverdueError:
                self.close()
                raise psycopg.OperationalError(
                    f"the server did not answer within {self.limit_s:g} s"
                ) from None

    return BoundedConnection


class OverdueError(Exception):
    """An answer has not come in time."""


def in_time(steps: Steps, seconds: float) -> Steps:
    """Do what a generator of psycopg does, which waits for a socket whenever it yields.

    psycopg resumes it ten times a second, whether there is anything to read or not.

    Raises:
        OverdueError: It has not come to its end after so many seconds.
    """
    due = time.monotonic() + seconds
    try:
        wanted = next(steps)
        while True:
            wanted = steps.send((yield wanted))
            if time.monotonic() > due:
                raise OverdueError
    except StopIteration as end:
        return end.value


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
