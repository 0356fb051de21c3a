"""An audit store that holds the poison in quarantine, so that a real guard surely drops it."""

from __future__ import annotations

from lighthouse import POISON
from ragguard.audit import QuarantineEntry
from ragguard.audit.memory import MemoryStore
from ragguard.content import content_key


def quarantine() -> MemoryStore:
    store = MemoryStore()
    store.add_quarantine(
        [
            QuarantineEntry(content_key(text), f"doc-{number}", text, "found by attribution")
            for number, text in enumerate(POISON)
        ]
    )
    return store
