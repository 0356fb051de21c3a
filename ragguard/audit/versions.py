"""The version of what the filter is told: one number for quarantine and allow-list."""

from __future__ import annotations

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from ragguard.audit.models import MetaRow

__all__ = ["VERSION", "next_version", "set_version"]

VERSION = select(MetaRow.value).where(MetaRow.name == "quarantine_version")


def next_version(session: Session) -> int:
    """Return the version after this one, for the session that changes something.

    Such changes queue up here until the transaction ends: versions grow in the order of their
    commits.
    """
    return session.scalars(VERSION.with_for_update()).one() + 1


def set_version(session: Session, number: int) -> None:
    """Let everybody know that something has changed."""
    session.execute(
        update(MetaRow)
        .where(MetaRow.name == "quarantine_version")
        .values(value=number)
        .execution_options(synchronize_session=False)
    )
