"""Lanes: each reporter's events wait in a lane of their own, and the lanes take turns.

Start-time fair queueing (Goyal, Vin and Cheng 1996) with events of equal cost: an event's turn is
one past the last of its lane, but not before the turn that is being served. Claimed in the order of
turns, one reporter's thousand events hold up another one's first by a single event. Nothing is
stored but the turn, so that the next event is found by an index.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable
from itertools import count

__all__ = ["MAX_REPORTERS", "NOBODY", "Turns", "lane_of", "next_turn"]

NOBODY = "0" * 16
"""The lane of reports that do not say who files them."""

MAX_REPORTERS = 64
"""How many reporters of one event are told apart."""


def lane_of(reporter: str | None) -> str:
    """Return the 16 characters that name a reporter's lane.

    >>> lane_of("ann") == lane_of("ann") != lane_of("bob")
    True
    """
    if reporter is None:
        return NOBODY
    named = reporter.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(named, digest_size=8).hexdigest()


def next_turn(served: int | None, last: int | None) -> int:
    """Return the turn of a new event.

    Args:
        served: The turn that is served next; None if no event waits.
        last: The last turn of the event's own lane; None if it has no open event.

    >>> next_turn(None, None), next_turn(7, None), next_turn(7, 9)
    (0, 7, 10)
    """
    return max(served or 0, 0 if last is None else last + 1)


# Turn, number and id of an event; the number is unique, so that ids are never compared.
_Place = tuple[int, int, str]


class Turns:
    """Open events in the order of their turns, and the leases of those that are running.

    What changed its place or is no longer open stays in the heaps until it comes up there.
    """

    def __init__(self) -> None:
        self._numbers = count()
        self._places: dict[str, _Place] = {}
        self._lane_of: dict[str, str] = {}
        self._leased: dict[str, float] = {}  # the end of the lease, on the caller's clock
        self._waiting: list[_Place] = []
        self._lanes: dict[str, list[_Place]] = {}  # the last turn first, so turns are negative
        self._sizes: Counter[str] = Counter()  # open events by lane

    def next(self, lane: str, now: float) -> int:
        """Return the turn of a new event of the lane."""
        last = self._last_of(lane)
        return next_turn(self._served(now), None if last is None else -last[0])

    def place(self, event_id: str, lane: str, turn: int) -> None:
        """Let an event wait for the turn, one that waits already for this one instead."""
        known = self._places.get(event_id)
        number = next(self._numbers) if known is None else known[1]
        self._places[event_id] = turn, number, event_id
        if known is not None:
            self._leave(event_id)
        self._lane_of[event_id] = lane
        self._sizes[lane] += 1
        heapq.heappush(self._lanes.setdefault(lane, []), (-turn, number, event_id))
        heapq.heappush(self._waiting, self._places[event_id])

    def turn(self, event_id: str) -> int | None:
        """Return the turn for which an open event waits, or None."""
        place = self._places.get(event_id)
        return None if place is None else place[0]

    def __len__(self) -> int:
        """How many events are open."""
        return len(self._places)

    def last_of_fullest(self, newest: str) -> str:
        """Return the open event that waits for the last turn of the lane with most of them.

        Of lanes that are equally full it is `newest`, the one that has just grown.
        """
        last = self._last_of(max(self._sizes, key=lambda one: (self._sizes[one], one == newest)))
        assert last is not None  # a lane without open events is not kept
        return last[2]

    def claim(self, now: float, until: float, allowed: Callable[[str], bool]) -> str | None:
        """Lease the event whose turn it is, of those that are allowed, and return its id."""
        passed_over = []
        claimed = None
        while claimed is None and self._served(now) is not None:
            place = heapq.heappop(self._waiting)
            if allowed(place[2]):
                claimed = place[2]
                self._leased[claimed] = until
            else:
                passed_over.append(place)
        for place in passed_over:
            heapq.heappush(self._waiting, place)
        return claimed

    def lease(self, event_id: str, until: float) -> None:
        """Let the lease of an open event end at another moment."""
        self._leased[event_id] = until

    def release(self, event_id: str) -> None:
        """Let an open event wait again, for the turn that it had."""
        if self._leased.pop(event_id, None) is not None:
            heapq.heappush(self._waiting, self._places[event_id])

    def remove(self, event_id: str) -> None:
        """Forget an event that is no longer open."""
        self._places.pop(event_id, None)
        self._leased.pop(event_id, None)
        if event_id in self._lane_of:
            self._leave(event_id)

    def _leave(self, event_id: str) -> None:
        lane = self._lane_of.pop(event_id)
        self._sizes[lane] -= 1
        if not self._sizes[lane]:
            del self._sizes[lane], self._lanes[lane]

    def _served(self, now: float) -> int | None:
        for event_id in [one for one, end in self._leased.items() if end <= now]:
            self.release(event_id)
        while self._waiting:
            turn, _, event_id = first = self._waiting[0]
            if self._places.get(event_id) == first and event_id not in self._leased:
                return turn
            heapq.heappop(self._waiting)
        return None

    def _last_of(self, lane: str) -> _Place | None:
        line = self._lanes.get(lane, [])
        while line:
            turn, number, event_id = line[0]
            waits = self._places.get(event_id) == (-turn, number, event_id)
            if waits and self._lane_of.get(event_id) == lane:
                return line[0]
            heapq.heappop(line)
        return None
