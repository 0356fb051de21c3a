"""What waits in memory: bounded and fair to reporters, whose lanes take turns."""

from __future__ import annotations

import logging
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice

from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.records import Event
from ragguard.recent import passages_bytes

__all__ = ["FairIds", "FairQueue", "Losses", "event_bytes"]

logger = logging.getLogger(__name__)

_MAX_WHY = 10_000  # lost events of which the reason is known


def event_bytes(event: Event) -> int:
    """Return the bytes of an event's texts."""
    return (
        sys.getsizeof(event.query) + sys.getsizeof(event.response) + passages_bytes(event.passages)
    )


@dataclass
class _Lane:
    events: OrderedDict[str, tuple[Event, int]] = field(default_factory=OrderedDict)  # with bytes
    bytes: int = 0


class FairQueue:
    """Events on their way to the store. The fullest lane pays for lack of room.

    Not safe to share between threads by itself.

    Args:
        max_events: How many events it holds.
        max_bytes: How many bytes their texts may take.
    """

    def __init__(self, *, max_events: int, max_bytes: int) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._lanes: OrderedDict[str, _Lane] = OrderedDict()
        self._count = 0
        self._bytes = 0

    def __len__(self) -> int:
        return self._count

    def put(self, event: Event) -> tuple[bool, list[Event]]:
        """Add an event at the end of its reporter's lane.

        What the reporter has reported already, and still waits, is counted there.

        Returns:
            Whether the event is one more, and the events that found no room in the end: the newest
            of the fullest lane, which may be this one.
        """
        lane = lane_of(event.reporter)
        waiting = self._lanes[lane].events if lane in self._lanes else {}
        if event.id in waiting:
            known, size = waiting[event.id]
            waiting[event.id] = replace(known, reports=known.reports + event.reports), size
            return False, []
        self._add(lane, event, last=True)
        dropped = []
        while self._count > self._max_events or self._bytes > self._max_bytes:
            dropped.append(self._drop_newest(self._fullest(lane)))
        return True, dropped

    def take(self, most: int, max_bytes: int) -> list[Event]:
        """Take events out, one of each lane in turn, until they are so many or so large."""
        taken: list[Event] = []
        size = 0
        while self._lanes and len(taken) < most and size < max_bytes:
            name, lane = next(iter(self._lanes.items()))
            event, bytes_ = next(iter(lane.events.values()))
            self._remove(name, event)
            if name in self._lanes:
                self._lanes.move_to_end(name)
            taken.append(event)
            size += bytes_
        return taken

    def put_back(self, events: list[Event], *, last: bool) -> list[Event]:
        """Put events that were taken back to the front of their lanes, or to the end.

        They come in addition to what has found room meanwhile.

        Returns:
            Those of them that were reported again meanwhile, and are one event with that now.
        """
        in_order = events if last else events[::-1]
        return [one for one in in_order if not self._add(lane_of(one.reporter), one, last=last)]

    def _add(self, name: str, event: Event, *, last: bool) -> bool:
        lane = self._lanes.setdefault(name, _Lane())
        newer = lane.events.pop(event.id, None)  # came while this one was taken out
        if newer is not None:
            self._count -= 1
            self._grow(lane, -newer[1])
            event = replace(event, reports=event.reports + newer[0].reports)
        size = event_bytes(event)
        lane.events[event.id] = event, size
        if not last:
            lane.events.move_to_end(event.id, last=False)
        self._count += 1
        self._grow(lane, size)
        return newer is None

    def _remove(self, name: str, event: Event) -> None:
        lane = self._lanes[name]
        _, size = lane.events.pop(event.id)
        self._count -= 1
        self._grow(lane, -size)
        if not lane.events:
            del self._lanes[name]

    def _grow(self, lane: _Lane, size: int) -> None:
        lane.bytes += size
        self._bytes += size

    def _fullest(self, newest: str) -> str:
        by_bytes = self._bytes > self._max_bytes

        def fullness(name: str) -> tuple[int, bool]:
            lane = self._lanes[name]
            # Of lanes that are equally full the one that has just grown.
            return lane.bytes if by_bytes else len(lane.events), name == newest

        return max(self._lanes, key=fullness)

    def _drop_newest(self, name: str) -> Event:
        event, _ = next(reversed(self._lanes[name].events.values()))
        self._remove(name, event)
        return event


class FairIds:
    """Ids of events. Not safe to share between threads by itself.

    Args:
        max_ids: How many it holds; then the oldest of the fullest lane goes.
    """

    def __init__(self, *, max_ids: int) -> None:
        self._max_ids = max_ids
        self._lane_of: dict[str, str] = {}
        self._lanes: dict[str, dict[str, None]] = {}

    def add(self, event: Event) -> None:
        """Add the event's id to its reporter's lane, unless it is known."""
        if event.id in self._lane_of:
            return
        lane = self._lane_of[event.id] = lane_of(event.reporter)
        self._lanes.setdefault(lane, {})[event.id] = None
        if len(self._lane_of) > self._max_ids:
            fullest = max(self._lanes, key=lambda one: len(self._lanes[one]))
            self.discard(next(iter(self._lanes[fullest])))

    def discard(self, event_id: str) -> None:
        """Remove an id, if it is there."""
        lane = self._lane_of.pop(event_id, None)
        if lane is not None:
            del self._lanes[lane][event_id]
            if not self._lanes[lane]:
                del self._lanes[lane]

    def first(self, most: int) -> list[str]:
        """Return at most so many ids: the first of each lane, as many of one as of another."""
        share = max(1, most // max(1, len(self._lanes)))
        lanes = islice(self._lanes.values(), most)
        return [event_id for lane in lanes for event_id in islice(lane, share)]


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
        if len(self._why) > _MAX_WHY:
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
