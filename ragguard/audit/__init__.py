"""Events, attributions, quarantine, counters and scores, kept where they can be audited."""

from __future__ import annotations

import os

from ragguard.audit.memory import MemoryStore
from ragguard.audit.quarantine import QuarantineChanges, QuarantineEntry, QuarantineStatus
from ragguard.audit.records import Access, AuditStore, Event, EventStatus, ScoredQuery
from ragguard.audit.watch import QuarantineWatch
from ragguard.errors import InvalidInputError

__all__ = [
    "AuditStore",
    "Event",
    "EventStatus",
    "MemoryStore",
    "QuarantineChanges",
    "QuarantineEntry",
    "QuarantineStatus",
    "QuarantineWatch",
    "ScoredQuery",
    "open_store",
]


def open_store(
    store: str | os.PathLike[str] | AuditStore | None, *, access: Access = "make"
) -> AuditStore:
    """Return the store that `store` names.

    Args:
        store: None for a new `MemoryStore`, a path or URL for a `SqlStore`, or a store, which is
            returned as it is.
        access: As `SqlStore` takes it, for a path or URL.

    Raises:
        InvalidInputError: `store` is blank, of another type or a tenant's view.
        RagguardError: As `SqlStore`.
    """
    if store is None:
        return MemoryStore()
    if isinstance(store, str) and not store.strip():
        raise InvalidInputError(
            "the store is blank; pass a path, sqlite:///path or postgresql://user@host/database; "
            "in Python store=None keeps everything in memory"
        )
    if isinstance(store, (str, os.PathLike)):
        # Here, not above: SQLAlchemy would triple the time that `import ragguard` takes.
        from ragguard.audit.sql import SqlStore

        return SqlStore(os.fspath(store), access=access)
    needed = ("claim_event", "quarantine_changes", "accuse", "allowances", "of_tenant")
    if not all(hasattr(store, name) for name in needed):
        raise InvalidInputError(
            f"store must be a path, a URL or an AuditStore, not {type(store).__name__}; "
            "try sqlite:///audit.db"
        )
    if isinstance(whose := getattr(store, "tenant", ""), str) and whose:
        raise InvalidInputError(
            f"{store!r} is a tenant's view of a store; pass the store that was opened, and tenant= "
            "to the calls"
        )
    return store
