"""Events in memory, on their way to the store: a bounded queue that is fair to reporters."""

from __future__ import annotations

import sys
from collections import OrderedDict
from dataclasses import dataclass, field, replace

from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.records import Event
from ragguard.recent import passages_bytes

__all__ = ["FairQueue", "event_bytes"]


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
    """A lane for each reporter. The lanes take turns, and the fullest one pays for lack of room.

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
