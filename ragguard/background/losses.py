"""Reports that were lost: how many, which of the last ones, and why."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable

from ragguard.audit.records import Event

__all__ = ["Losses"]

logger = logging.getLogger(__name__)

_MAX_IDS = 10_000


class Losses:
    """Counts what was lost. Not safe to share between threads by itself.

    Args:
        on_lost: Called with the number of reports that were lost.

    Attributes:
        reports: How many reports were lost.
    """

    reports: int

    def __init__(self, on_lost: Callable[[int], None] | None) -> None:
        self._on_lost = on_lost
        self._why: OrderedDict[str, str] = OrderedDict()
        self._told_at = 1
        self.reports = 0

    def add(self, event: Event, why: str) -> None:
        """Count an event's reports, and log it now and then."""
        self.reports += event.reports
        self._why[event.id] = why
        self._why.move_to_end(event.id)
        if len(self._why) > _MAX_IDS:
            self._why.popitem(last=False)
        if self._on_lost is not None:
            self._on_lost(event.reports)
        # The first, second, fourth, eighth ...: a flood must not flood the log as well.
        if self.reports >= self._told_at:
            self._told_at = 2 * self.reports
            logger.error("event %s is lost: %s (%d lost so far)", event.id, why, self.reports)

    def forget(self, event_id: str) -> None:
        """Take back that the event is lost: it came again and was kept."""
        self._why.pop(event_id, None)

    def why(self, event_id: str) -> str | None:
        """Return why the event was lost, or None for one that was not, as far as is known."""
        return self._why.get(event_id)
