"""The allow-list in a SQL database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from ragguard.audit.allow_list import Allowance, as_allowed
from ragguard.audit.database import Database, insert_into, next_version, set_version
from ragguard.audit.decision_models import AllowanceRow, QuarantineRow
from ragguard.audit.quarantine import ALLOWED, utc_now
from ragguard.audit.sql_records import append
from ragguard.audit.trail import of_allowance
from ragguard.audit.watch import announce
from ragguard.inline.quarantined import Allowed


class SqlAllowing:
    """The allow-list of a `SqlStore`."""

    place: str
    tenant: str
    _database: Database

    def allow(self, allowance: Allowance, *, said: str | None = None) -> None:
        with self._database.write() as session:
            changed = next_version(session)
            shared = AllowanceRow.shared(allowance)
            values = {**shared, "tenant": self.tenant, "changed": changed}
            put = insert_into(session, AllowanceRow).values(values)
            named = ["tenant", "key", "source", "effect"]
            session.execute(put.on_conflict_do_update(index_elements=named, set_=values))
            set_version(session, changed)
            head = append(session, [of_allowance(allowance, self.tenant, said)])
        announce(self.place, self.tenant, head)

    def disallow(
        self, key: str, source: str, *, actor: str | None = None, said: str | None = None
    ) -> list[Allowance]:
        with self._database.write() as session:
            changed = next_version(session)
            named = (AllowanceRow.tenant == self.tenant, AllowanceRow.key == key)
            held = select(AllowanceRow).where(*named, AllowanceRow.source == source)
            rows = session.scalars(held.where(AllowanceRow.ended_at.is_(None))).all()
            for row in rows:
                row.ended_at, row.ended_by, row.changed = utc_now(), actor, changed
            if rows:
                set_version(session, changed)
            ended = [row.to_allowance() for row in rows]
            head = append(session, [of_allowance(one, self.tenant, said) for one in ended])
        announce(self.place, self.tenant, head)
        return ended

    def allowances(self) -> list[Allowance]:
        mine = select(AllowanceRow).where(AllowanceRow.tenant == self.tenant)
        newest = mine.order_by(AllowanceRow.created_at.desc(), AllowanceRow.seq.desc())
        with self._database.read() as session:
            return [row.to_allowance() for row in session.scalars(newest)]


def changes_of_the_list(session: Session, since: int) -> Sequence[Any]:
    """Return `tenant` and `changed` of what changed on an allow-list since then.

    The latter are the versions of the quarantine that such changes are marked with.
    """
    changed = select(AllowanceRow.tenant, AllowanceRow.changed)
    return session.execute(changed.where(AllowanceRow.changed > since)).all()


def allowed_now(session: Session, tenants: Collection[str] | None) -> dict[str, Allowed]:
    """Return what the filter lets through for some tenants; None: for all that have anything."""
    if tenants is not None and not tenants:
        return {}
    lists = select(AllowanceRow)
    entries = select(QuarantineRow.tenant, QuarantineRow.key).where(
        QuarantineRow.status.in_(ALLOWED)
    )
    if tenants is not None:
        lists = lists.where(AllowanceRow.tenant.in_(tenants))
        entries = entries.where(QuarantineRow.tenant.in_(tenants))
    found: defaultdict[str, tuple[list[Allowance], list[str]]] = defaultdict(lambda: ([], []))
    found.update({tenant: ([], []) for tenant in tenants or ()})
    for row in session.scalars(lists):
        found[row.tenant][0].append(row.to_allowance())
    for tenant, key in session.execute(entries):
        found[tenant][1].append(key)
    return {tenant: as_allowed(*lists) for tenant, lists in found.items()}
