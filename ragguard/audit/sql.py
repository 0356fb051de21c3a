"""The audit store in a SQL database, SQLite or PostgreSQL: how it is opened, and its quarantine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from itertools import product
from typing import Any

from sqlalchemy import Select, false, func, or_, select, union
from sqlalchemy.orm import Session

from ragguard.arguments import require_tenant
from ragguard.audit.allow_list import Allowance, as_allowed
from ragguard.audit.database import Database, insert_into
from ragguard.audit.decision_models import AllowanceRow, QuarantineRow, VerdictRow
from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.holdings import HOUR, Changing, Holdings, Load
from ragguard.audit.models import VERSION, EventRow, MetaRow
from ragguard.audit.quarantine import (
    HELD,
    SPARED,
    QuarantineChanges,
    QuarantineEntry,
    QuarantineStatus,
    Reporters,
    utc_now,
)
from ragguard.audit.records import Access
from ragguard.audit.sql_events import SqlEvents
from ragguard.audit.sql_records import SqlRecords, append
from ragguard.audit.trail import Keys
from ragguard.errors import InvalidInputError, StoreError
from ragguard.inline.fingerprints import is_current, signature
from ragguard.inline.quarantined import Allowed

_TOLD = (
    *(QuarantineRow.seq, QuarantineRow.tenant, QuarantineRow.key),
    *(QuarantineRow.status, QuarantineRow.changed, QuarantineRow.signature),
    QuarantineRow.event_id,
)
_AT_ONCE = 500  # keys or rows in a statement
_POLL_S = 5.0  # for a statement that asks what the filter drops


class _Changing(Changing):
    def __init__(self, session: Session, tenant: str) -> None:
        super().__init__(tenant)
        self._session = session
        # Before the first look: changes queue up here until the transaction ends, and versions grow
        # in the order of their commits.
        self._told = session.get_one(MetaRow, VERSION, with_for_update=True)
        self._version = self._told.value + 1

    def entries(self, keys: Collection[str]) -> dict[str, QuarantineEntry]:
        mine = select(QuarantineRow).where(QuarantineRow.tenant == self.tenant)
        found = _with(self._session, mine, QuarantineRow.key, keys)
        return {row.key: row.to_record() for (row,) in found}

    def load(self, new: QuarantineEntry, now: datetime) -> Load:
        unseen, event = QuarantineRow.status == "quarantined", QuarantineRow.event_id
        lanes = [QuarantineRow.lanes.contains(lane_of(reporter)) for reporter in new.reporters]
        theirs = or_(false(), *lanes)
        counted = select(
            func.count(event.distinct()).filter(unseen, theirs, event != new.event_id),
            func.count().filter(unseen, QuarantineRow.updated_at > now - HOUR),
            func.count().filter(QuarantineRow.status == "proposed", theirs),
        ).where(
            QuarantineRow.tenant == self.tenant,
            QuarantineRow.status.in_(("quarantined", "proposed")),
            event.isnot(None),
        )
        return Load(*self._session.execute(counted).one())

    def over(self, now: datetime) -> list[tuple[str, QuarantineEntry]]:
        rows = self._session.scalars(select(QuarantineRow).where(QuarantineRow.until <= now))
        return [(row.tenant, row.to_record()) for row in rows]

    def allowances(self) -> list[Allowance]:
        return _listed(self._session, self.tenant)

    def keep(self) -> str | None:
        tables: tuple[type[QuarantineRow | AllowanceRow], ...] = (QuarantineRow, AllowanceRow)
        for table, is_news in product(tables, (False, True)):
            rows = [
                table.values(one, told.tenant, self._version if is_news else 0)
                for told, one, news in self.kept
                if news == is_news and isinstance(one, table.record)
            ]
            if rows:
                put = insert_into(self._session, table)
                anew = {name: put.excluded[name] for name in rows[0]}
                if not is_news:
                    del anew["changed"]
                put = put.on_conflict_do_update(index_elements=table.unique, set_=anew)
                self._session.execute(put, rows)
        if any(is_news for _, _, is_news in self.kept):
            self._told.value = self._version
        return append(self._session, [told for told, _, _ in self.kept])


class SqlStore(SqlEvents, SqlRecords, Holdings):
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
        tables = (EventRow, QuarantineRow, AllowanceRow, VerdictRow)
        named = union(*[select(table.tenant).where(table.tenant != "") for table in tables])
        return sorted(name for (name,) in self._database.rows(named) if _is_name(name))

    def __repr__(self) -> str:
        whose = f", tenant={self.tenant!r}" if self.tenant else ""
        return f"{type(self).__name__}({self._database.name!r}{whose})"

    def close(self) -> None:
        self._database.close()
        self._polls.close()

    @contextmanager
    def _begin(self) -> Iterator[Changing]:
        with self._database.write() as session:
            yield _Changing(session, self.tenant)

    def lapse(self) -> int:
        over = select(QuarantineRow.seq).where(QuarantineRow.until <= utc_now())
        # The write lock is not taken for nothing.
        return super().lapse() if self._database.rows(over.limit(1)) else 0

    def quarantine(
        self,
        *,
        status: QuarantineStatus | None = None,
        keys: Collection[str] | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[QuarantineEntry]:
        of_status = self._mine
        if status is not None:
            of_status = of_status.where(QuarantineRow.status == status)
        first, count = max(offset, 0), None if limit is None else max(limit, 0)
        if keys is None:
            newest = of_status.order_by(QuarantineRow.created_at.desc(), QuarantineRow.seq.desc())
            return self._database.records(newest.limit(count).offset(first))
        with self._database.read() as session:
            rows = [row for (row,) in _with(session, of_status, QuarantineRow.key, keys)]
            rows.sort(key=lambda row: (row.created_at, row.seq), reverse=True)
            last = None if count is None else first + count
            return [row.to_record() for row in rows[first:last]]

    def quarantine_counts(self) -> dict[QuarantineStatus, int]:
        status = QuarantineRow.status
        rows = self._mine.with_only_columns(status, func.count()).group_by(status)
        return dict(self._database.rows(rows))

    def quarantine_tally(self) -> dict[tuple[QuarantineStatus, Reporters], int]:
        kinds = (QuarantineRow.status, QuarantineRow.reporters)
        rows = self._mine.with_only_columns(*kinds, func.count()).group_by(*kinds)
        return {(status, names): count for status, names, count in self._database.rows(rows)}

    def quarantine_keys(self) -> frozenset[str]:
        keys = self._mine.with_only_columns(QuarantineRow.key)
        held = self._database.rows(keys.where(QuarantineRow.status.in_(HELD)))
        return frozenset(row.key for row in held)

    def allowances(self) -> list[Allowance]:
        with self._database.read() as session:
            return _listed(session, self.tenant)[::-1]

    def quarantine_version(self) -> int:
        with self._polls.read() as session:
            return session.get_one(MetaRow, VERSION).value

    def quarantine_changes(self, since: int) -> QuarantineChanges:
        newer = select(*_TOLD)
        if self.tenant:
            newer = newer.where(QuarantineRow.tenant == self.tenant)
        with self._polls.read() as session:
            # The version first: what is committed between the reads is found again next time.
            now = session.get_one(MetaRow, VERSION).value
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

    @property
    def _mine(self) -> Select[QuarantineRow]:
        return select(QuarantineRow).where(QuarantineRow.tenant == self.tenant)


def _with(session: Session, rows: Any, column: Any, values: Iterable[Any]) -> Iterator[Any]:
    """Yield the rows whose column has one of these values: a statement takes so many at most."""
    wanted = list(dict.fromkeys(values))
    for first in range(0, len(wanted), _AT_ONCE):
        yield from session.execute(rows.where(column.in_(wanted[first : first + _AT_ONCE])))


def _listed(session: Session, tenant: str) -> list[Allowance]:
    mine = select(AllowanceRow).where(AllowanceRow.tenant == tenant)
    oldest_first = mine.order_by(AllowanceRow.created_at, AllowanceRow.seq)
    return [row.to_record() for row in session.scalars(oldest_first)]


def _signed(session: Session, rows: Sequence[Any]) -> dict[int, bytes]:
    """Return the signatures; those that another version wrote, or none, are made from the texts."""
    signed = {one.seq: one.signature for one in rows if is_current(one.signature)}
    unsigned = [one.seq for one in rows if one.seq not in signed]
    texts = select(QuarantineRow.seq, QuarantineRow.text)
    for seq, text in _with(session, texts, QuarantineRow.seq, unsigned):
        signed[seq] = signature(text)
    return signed


def _allowed_now(session: Session, tenants: Collection[str] | None) -> dict[str, Allowed]:
    """Return what the filter lets through for some tenants; None: for all that have anything."""
    lists, is_released = select(AllowanceRow), QuarantineRow.status == "released"
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


def _is_name(tenant: str) -> bool:
    """Return whether a tenant may have this name: another one is there by SQL alone."""
    try:
        return require_tenant(tenant) == tenant
    except InvalidInputError:
        return False
