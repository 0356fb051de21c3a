"""What waits in memory for the store: bounded and fair to reporters, whose lanes take turns."""

from __future__ import annotations

import logging
import time
from collections import Counter, OrderedDict
from dataclasses import replace

from ragguard.audit.fair_queueing import Turns
from ragguard.audit.records import Event
from ragguard.audit.verdict_counter import VerdictCounter

logger = logging.getLogger(__name__)

_MAX_LANES = 100_000
_MAX_WHY = 10_000  # lost events of which the reason is known


class FairQueue:
    """Events on their way to the store. The fullest lane pays for lack of room.

    Neither this nor the other classes here can be shared between threads without a lock.
    `max_bytes` is of the events' texts.
    """

    def __init__(self, *, max_events: int, max_bytes: int) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._turns: Turns[str] = Turns()
        self._events: dict[str, Event] = {}  # by lane and id

    def __len__(self) -> int:
        return len(self._events)

    def put(self, event: Event) -> tuple[bool, list[Event]]:
        """Add an event at the end of its reporter's lane, or count it where it waits already.

        Returned is whether it is one more, and what found no room in the end: the newest events of
        the fullest lane, which may be this one.
        """
        lane = event.lane
        known = self._events.get(lane + event.id)
        if known is not None:
            self._events[lane + event.id] = replace(known, reports=known.reports + event.reports)
            return False, []
        self._add(event, lane, self._turns.next(lane))
        dropped = []
        while (key := self._turns.surplus(lane, self._max_events, self._max_bytes)) is not None:
            dropped.append(self._remove(key))
        return True, dropped

    def take(self, most: int, max_bytes: int) -> list[Event]:
        """Take events out, one of each lane in turn, until they are so many or so large."""
        taken: list[Event] = []
        before = self._turns.size
        while self._events and len(taken) < most and before - self._turns.size < max_bytes:
            taken.append(self._remove(next(iter(self._turns))))
        return taken

    def put_back(self, events: list[Event], *, last: bool) -> list[Event]:
        """Put events that were taken back to the front of their lanes, or to the end.

        They come in addition to what has found room meanwhile. Those that are returned were
        reported again meanwhile, and are one event with that now.
        """
        again = []
        for event in events if last else events[::-1]:
            lane = event.lane
            front, reports = self._turns.first(lane), event.reports
            if lane + event.id in self._events:
                reports += self._remove(lane + event.id).reports
                again.append(event)
            turn = self._turns.next(lane) if last or front is None else front - 1
            self._add(replace(event, reports=reports), lane, turn)
        return again

    def _add(self, event: Event, lane: str, turn: int) -> None:
        self._events[lane + event.id] = event
        self._turns.place(lane + event.id, lane, turn, event.nbytes)

    def _remove(self, key: str) -> Event:
        self._turns.remove(key)
        return self._events.pop(key)


class HourlyQuota:
    """What the store takes of each lane within an hour: events stay there, and fill the disk."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._taken: Counter[str] = Counter()
        self._hour = -1

    def covers(self, lane: str, size: int) -> bool:
        """Count so many bytes for a lane, and return whether they are not too many."""
        hour = int(time.monotonic() // 3600)
        if hour != self._hour or len(self._taken) > _MAX_LANES:
            self._hour, self._taken = hour, Counter()
        if self._taken[lane] + size > self._max_bytes:
            return False
        self._taken[lane] += size
        return True


class Losses:
    """Counts what was lost, as `reports_lost`, and says `why`, by tenant and id of the event."""

    def __init__(self, counter: VerdictCounter | None) -> None:
        self._counter = counter
        self._told_at = 1
        self.why: OrderedDict[tuple[str, str], str] = OrderedDict()
        self.reports = 0

    def add(self, event: Event, why: str) -> None:
        """Count an event's reports, and log it now and then."""
        self.reports += event.reports
        self.why[event.address] = why
        self.why.move_to_end(event.address)
        if len(self.why) > _MAX_WHY:
            self.why.popitem(last=False)
        if self._counter is not None:
            self._counter.add(reports_lost=event.reports)
        # The first, second, fourth, eighth ...: a flood must not flood the log as well.
        if self.reports >= self._told_at:
            self._told_at = 2 * self.reports
            logger.error("event %s is lost: %s (%d lost so far)", event.id, why, self.reports)
