"""The audit store in a SQL database: SQLite in a file, PostgreSQL by URL, through the same code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    LargeBinary,
    Text,
    case,
    cast,
    func,
    select,
    type_coerce,
    union,
)
from sqlalchemy.orm import Session
from sqlalchemy.types import NullType

from ragguard.arguments import require_tenant
from ragguard.audit.allow_list import Allowance, Standing, as_allowed
from ragguard.audit.database import VERSION, Database, on_sqlite
from ragguard.audit.decision_models import AllowanceRow, QuarantineRow, VerdictRow
from ragguard.audit.encoding import is_escaped
from ragguard.audit.engines import Access
from ragguard.audit.models import AnyText, EventRow, UtcDateTime
from ragguard.audit.quarantine import HELD, SPARED, QuarantineChanges
from ragguard.audit.sql_events import SqlEvents
from ragguard.audit.sql_quarantine import SqlQuarantine
from ragguard.audit.sql_records import SqlRecords
from ragguard.audit.trail import Keys
from ragguard.errors import InvalidInputError, StoreError
from ragguard.inline.fingerprints import is_current, signature
from ragguard.inline.quarantined import Allowed

_TOLD = (
    *(QuarantineRow.seq, QuarantineRow.tenant, QuarantineRow.key),
    *(QuarantineRow.status, QuarantineRow.changed, QuarantineRow.signature),
    QuarantineRow.event_id,
)
_NOT_READ = ("seq", "changed", "lanes")  # of what stands in a table
_AT_ONCE = 500  # rows in a statement
_POLL_S = 5.0  # for a statement that asks what the filter drops


class SqlStore(SqlEvents, SqlQuarantine, SqlRecords):
    """The audit store in SQLite or PostgreSQL; safe to share between threads and across forks.

    Texts come back exactly as they were given, on both databases. Of a passage the text, id,
    score and metadata are kept, not the embedding. Metadata is kept as JSON: a value that JSON
    cannot hold comes back as its `str()`, a tuple as a list, and keys come back as strings.

    SQLite runs in WAL mode with `synchronous=NORMAL`: a killed process loses nothing, a power
    failure at most the last moments. Leases are measured on the database's own clock.

    Attributes:
        path: Absolute path of the SQLite file, or None for PostgreSQL.
        tenant: Whose store it is; "" for the default tenant.
        place: The URL without secrets: the same for all stores of a process on one database.
    """

    def __init__(self, url: str, *, access: Access = "make") -> None:
        """Open the store.

        Args:
            url: A path, `sqlite:///path`, `postgresql://...` or `postgresql+psycopg://...`.
            access: "make" creates the file and the tables where they are missing; "keep" and "look"
                refuse a database that has none, and "look" also reads a SQLite file that may not be
                written, as it is when it is opened.

        Raises:
            InvalidInputError: `url` names neither a SQLite file nor a PostgreSQL database, or a key
                of the trail is too short.
            MissingExtraError: The driver for PostgreSQL is not installed.
            StoreError: The server cannot be reached, the file cannot be written, there are no
                tables, or those of another release of ragguard, or the trail's keys cannot be read.
        """
        Keys.from_environment()  # now, and not with the first decision
        self._database = Database(url, access=access)
        self.path = self._database.path
        self.place = self._database.name
        # What the filter drops is asked for ten times a second, on a connection of its own: no
        # other read stands in the way, however long.
        try:
            self._polls = Database(url, access=access, statement_s=_POLL_S)
        except StoreError:
            self._database.close()
            raise

    def tenants(self) -> list[str]:
        rows = (EventRow, QuarantineRow, AllowanceRow, VerdictRow)
        named = [select(row.tenant).where(row.tenant != "") for row in rows]
        with self._database.read() as session:
            return sorted(filter(_is_name, session.scalars(union(*named))))

    def __repr__(self) -> str:
        whose = f", tenant={self.tenant!r}" if self.tenant else ""
        return f"{type(self).__name__}({self._database.name!r}{whose})"

    def close(self) -> None:
        self._database.close()
        self._polls.close()

    def standing(self) -> list[tuple[str, Standing]]:
        with self._database.read() as session:
            return [*_standing(session, QuarantineRow), *_standing(session, AllowanceRow)]

    def quarantine_version(self) -> int:
        with self._polls.read() as session:
            return session.scalars(VERSION).one()

    def quarantine_changes(self, since: int) -> QuarantineChanges:
        newer = select(*_TOLD)
        if self.tenant:
            newer = newer.where(QuarantineRow.tenant == self.tenant)
        with self._polls.read() as session:
            # The version first: what is committed between the reads is found again next time.
            now = session.scalars(VERSION).one()
            rows = session.execute(newer.where(QuarantineRow.changed > since)).all()
            end = session.scalar(select(func.min(QuarantineRow.until)))
            changed = select(AllowanceRow.tenant, AllowanceRow.changed)
            listed = session.execute(changed.where(AllowanceRow.changed > since)).all()
            told = {row.changed for row in (*rows, *listed) if row.changed <= now}
            # Each version is the mark of some row, unless that changed twice, or ragguard of a
            # version without such marks, or a backup, has written to the store.
            complete = since < 0 or len(told) != now - since
            if complete:
                rows = session.execute(newer.where(QuarantineRow.status.in_(HELD + SPARED))).all()
            signed = _signed(session, [row for row in rows if row.status in HELD])
            decided = {row.tenant for row in rows if row.status != "quarantined"}
            decided.update(row.tenant for row in listed)
            allowed = _allowed_now(session, None if complete else decided)
        due = None if end is None else end.timestamp()
        base = QuarantineChanges(now, frozenset(), complete=complete, due=due)
        unchanged = Allowed() if complete else None
        by_tenant: defaultdict[str, list[Any]] = defaultdict(list)
        for row in rows:
            by_tenant[row.tenant].append(row)
        found = {}
        for tenant in {self.tenant} if self.tenant else {"", *by_tenant, *allowed}:
            some = by_tenant[tenant]
            signatures = {row.key: signed[row.seq] for row in some if row.status in HELD}
            found[tenant] = base.with_entries(some, signatures, allowed.get(tenant, unchanged))
        own = found.pop(self.tenant)
        return replace(own, tenants=found)


def _is_name(tenant: str) -> bool:
    """Return whether a tenant may have this name: another one is there by SQL alone."""
    try:
        return require_tenant(tenant) == tenant
    except InvalidInputError:
        return False


def _signed(session: Session, rows: Sequence[Any]) -> dict[int, bytes]:
    """Return the signatures; those that another version wrote, or none, are made from the texts."""
    written = {row.seq: row.signature for row in rows}
    signed = {seq: one for seq, one in written.items() if one and is_current(one)}
    unsigned = [seq for seq in written if seq not in signed]
    texts = select(QuarantineRow.seq, QuarantineRow.text)
    for start in range(0, len(unsigned), _AT_ONCE):
        some = QuarantineRow.seq.in_(unsigned[start : start + _AT_ONCE])
        for seq, text in session.execute(texts.where(some)):
            signed[seq] = signature(text)
    return signed


def _allowed_now(session: Session, tenants: Collection[str] | None) -> dict[str, Allowed]:
    """Return what the filter lets through for some tenants; None: for all that have anything."""
    if tenants is not None and not tenants:
        return {}
    lists = select(AllowanceRow)
    is_released = QuarantineRow.status == "released"
    entries = select(QuarantineRow.tenant, QuarantineRow.key).where(is_released)
    if tenants is not None:
        lists = lists.where(AllowanceRow.tenant.in_(tenants))
        entries = entries.where(QuarantineRow.tenant.in_(tenants))
    found: defaultdict[str, tuple[list[Allowance], list[str]]] = defaultdict(lambda: ([], []))
    found.update({tenant: ([], []) for tenant in tenants or ()})
    for row in session.scalars(lists):
        found[row.tenant][0].append(row.to_record())
    for tenant, key in session.execute(entries):
        found[tenant][1].append(key)
    return {tenant: as_allowed(*lists) for tenant, lists in found.items()}


def _standing(
    session: Session, table: type[QuarantineRow] | type[AllowanceRow]
) -> Iterator[tuple[str, Standing]]:
    """Yield each row as `AllowanceStore.standing` does, or what is wrong with it.

    Whoever can write to the database can write anything there. No objects of the session: without
    constraints, two rows with one number would be one.
    """
    columns = [one for one in table.__table__.columns if one.name not in _NOT_READ]
    readers = [_reader(session, column) for column in columns]
    seq: ColumnElement[Any] = table.__table__.columns["seq"]
    for number, *raw in session.execute(select(_as_bytes(session, seq), *_raw(session, columns))):
        values: dict[str, Any] = {}
        for column, read, value in zip(columns, readers, raw, strict=True):
            try:
                values[column.key] = read(value)
            except Exception:  # whatever it is that somebody wrote there
                name = "NULL" if number is None else number.decode("utf-8", "backslashreplace")
                yield (
                    "",
                    f"row {name[:20]} of {table.__tablename__}: its {column.name} is not as "
                    "ragguard writes it",
                )
                break
        else:
            row = table(**values)
            yield row.tenant, row.to_record()


def _raw(session: Session, columns: list[Any]) -> Iterator[ColumnElement[Any]]:
    """Yield what gives a column's bytes, or the name of its type where that is another one."""
    for column in columns:
        is_binary = isinstance(column.type, LargeBinary)
        if not on_sqlite(session):
            yield column if is_binary else _as_bytes(session, column)
            continue
        found = func.typeof(column)
        right = found == ("blob" if is_binary else "text")
        yield type_coerce(case((right, cast(column, LargeBinary)), else_=found), NullType())


def _as_bytes(session: Session, column: ColumnElement[Any]) -> ColumnElement[Any]:
    if on_sqlite(session):
        return cast(column, LargeBinary)
    return func.convert_to(cast(column, Text), "UTF8", type_=LargeBinary)


def _reader(session: Session, column: Any) -> Callable[[bytes | str | None], Any]:
    """Return what reads a column's bytes as the store does, and raises where it is not so."""
    dialect, kind = session.get_bind().dialect, column.type
    convert = kind.dialect_impl(dialect).result_processor(dialect, None) or (lambda text: text)

    def read(raw: bytes | str | None) -> Any:
        if raw in (None, "null") and column.nullable:
            return None
        if not isinstance(raw, bytes):
            raise TypeError(raw)
        if isinstance(kind, LargeBinary):
            return raw
        text: Any = raw.decode()
        if isinstance(kind, AnyText) and not is_escaped(text):
            raise ValueError(text)
        if isinstance(kind, UtcDateTime) and not on_sqlite(session):
            text = datetime.fromisoformat(text)
        return convert(text)

    return read
