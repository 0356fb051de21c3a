"""The schema of the SQL audit store: made whole where there is none, else moved on by Alembic.

A new database gets today's tables at once. One of an earlier release is moved on by the scripts in
`ragguard/audit/migrations`, and only when somebody asks for it (`ragguard store upgrade`): not
while processes of the earlier release may still write to it.
"""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Column, MetaData, String, Table, insert, inspect, select
from sqlalchemy.orm import Session
from sqlalchemy.schema import CreateTable

from ragguard.audit.decision_models import AnswerKeyRow
from ragguard.audit.models import VERSION, Base, MetaRow
from ragguard.errors import StoreError

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0.1.0"
"""The schema that this ragguard reads and writes, named after the release that brought it."""

VERSION_TABLE = "ragguard_schema"
"""Alembic's record of the schema; under a name of its own, as the database may be shared."""

_VERSIONS = [Path(__file__).with_name("migrations") / "versions"]
_version = Table(VERSION_TABLE, MetaData(), Column("version_num", String(32), primary_key=True))


def schema_version(session: Session) -> str | None:
    """Return the schema of the tables that are there, None if there are none, "" if none says so.

    Those of the last kind were made by ragguard before its first release.
    """
    there = inspect(session.connection())
    # This one first: another process may make all of them between the two looks.
    made = there.has_table(MetaRow.__tablename__)
    if there.has_table(VERSION_TABLE):
        return session.scalar(select(_version.c.version_num)) or ""
    return "" if made else None


def create_tables(session: Session) -> str:
    """Make all tables in a database that has none, and return their schema."""
    connection = session.connection()
    for table in Base.metadata.sorted_tables:
        session.execute(CreateTable(table))
        # In one order: of two indexes that serve equally well SQLite takes the last one made.
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            index.create(connection)
    _version.create(connection)
    session.execute(insert(_version).values(version_num=HEAD))
    # The time and not 0: versions of two stores that take each other's place at one address are
    # not mistaken for each other.
    session.add(MetaRow(name=VERSION, value=time.time_ns() // 1_000_000))
    session.add(AnswerKeyRow(id=1, value=secrets.token_bytes(32)))
    return HEAD


def require_head(found: str, store: str) -> None:
    """Raise `StoreError` unless a `schema_version` is the one that this ragguard works with."""
    if found == HEAD:
        return
    if not found:
        raise StoreError(
            f"the tables of the audit store {store} were made before the first release of "
            "ragguard, and `ragguard store upgrade` cannot move them on; use another store"
        )
    if found in _known():
        raise StoreError(
            f"the audit store {store} has schema {found}, and this ragguard needs {HEAD}; stop "
            "what writes to it, make a backup, and run `ragguard store upgrade`"
        )
    raise StoreError(
        f"the audit store {store} has schema {found}, and this ragguard knows none after {HEAD}; "
        "upgrade ragguard-middleware, then run `ragguard store upgrade`, or use another store"
    )


def upgrade(session: Session, store: str) -> str:
    """Move the tables on, in the transaction of a session that writes; return their schema before.

    Raises:
        StoreError: The schema is none that this ragguard can move on.
    """
    from alembic import command

    found = schema_version(session) or ""
    if found not in _known():
        require_head(found, store)
    config = alembic_config()
    config.attributes["connection"] = session.connection()
    command.upgrade(config, "head")
    return found


def _known() -> set[str]:
    from alembic.script import ScriptDirectory

    return {one.revision for one in ScriptDirectory.from_config(alembic_config()).walk_revisions()}


def alembic_config() -> Config:
    """Return what Alembic must know to find the scripts."""
    # Here, not above: a store whose schema is today's needs no Alembic.
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_VERSIONS[0].parent).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    found = "\n".join(map(str, _VERSIONS))
    config.set_main_option("version_locations", found.replace("%", "%%"))
    return config
