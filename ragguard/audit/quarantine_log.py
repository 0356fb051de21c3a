"""Says in the log what came into quarantine, or out of it, in this process."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from ragguard.audit.quarantine import QuarantineEntry
from ragguard.quiet_log import QuietLog
from ragguard.text import printable

__all__ = ["tell"]

_lines = QuietLog(logging.getLogger(__name__))
_CHARS = 80  # of an id or a reason, which others write


def tell(entries: Iterable[QuarantineEntry], tenant: str = "") -> None:
    """Log a line for each entry that the filter drops from now on, or that a person decided on."""
    whose = f" of tenant {tenant}" if tenant else ""
    if not _lines.is_read:
        return
    for entry in entries:
        if entry.status == "proposed":
            continue
        who = "" if entry.actor is None else f" by {_cut(entry.actor)}"
        event = "" if entry.event_id is None else f", event {_cut(entry.event_id)}"
        _lines.info(
            "%s%s: %s, passage %s%s%s: %s",
            *(entry.status, who, entry.key[:12], _cut(entry.passage_id), whose, event),
            _cut(entry.reason),
        )


def _cut(text: str) -> str:
    return printable(text[: 2 * _CHARS])[:_CHARS]
