"""Lanes: each reporter's events wait in a lane of their own, and the lanes take turns.

Start-time fair queueing (Goyal, Vin and Cheng 1996) with events of equal cost: an event's turn is
one past the last of its lane, but not before the turn that is being served. Claimed in the order of
turns, one reporter's thousand events hold up another one's first by a single event. Nothing is
stored but the turn, so that the next event is found by an index.

Served is the first turn of the events that nobody attributes, also of those that wait after a
failure; where there is none, the last turn of the others. One that comes back from its worker takes
no earlier turn. So what is served does not fall while an event waits, and no lane goes before that
event with more than one.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Hashable, Iterator
from itertools import count
from typing import Generic, TypeVar

NOBODY = "0" * 16
"""The lane of reports that do not say who files them."""

MAX_REPORTERS = 64
"""How many reporters of one event, or of one entry in quarantine, are told apart."""


def lane_of(reporter: str | None, tenant: str = "") -> str:
    """Return the 16 characters that name the lane of a tenant's reporter.

    >>> lane_of("ann") == lane_of("ann") != lane_of("bob")
    True
    >>> lane_of("ann") != lane_of("ann", "acme") != lane_of(None, "acme")
    True
    """
    if reporter is None and not tenant:
        return NOBODY
    named = b"" if reporter is None else reporter.encode("utf-8", "surrogatepass")
    key = hashlib.blake2b(tenant.encode()).digest() if tenant else b""
    person = b"nobody" if reporter is None else b""
    return hashlib.blake2b(named, digest_size=8, key=key, person=person).hexdigest()


def next_turn(served: int | None, last: int | None) -> int:
    """Return the turn of a new event.

    `served` is the turn being served, `last` the last one of the event's own lane; None: no such.

    >>> next_turn(None, None), next_turn(7, None), next_turn(7, 9)
    (0, 7, 10)
    """
    return max(served or 0, 0 if last is None else last + 1)


N = TypeVar("N", bound=Hashable)


class Turns(Generic[N]):
    """Names in lanes, in memory, in the order of their turns; of equal turns the older is first.

    Attributes:
        size: How much all names together take, as whoever places them counts it.

    >>> turns = Turns()
    >>> for name in ("a1", "a2", "a3", "b1"):
    ...     turns.place(name, name[0], turns.next(name[0]))
    >>> list(turns), turns.surplus("b", 3), turns.surplus("b", 4)
    (['a1', 'b1', 'a2', 'a3'], 'a3', None)
    """

    def __init__(self) -> None:
        self._numbers = count()
        # A place is a turn, a number and a name; numbers differ.
        self._places: dict[N, tuple[str, int, tuple[int, int, N]]] = {}  # with lane and size
        self._line: list[tuple[int, int, N]] = []
        self._lanes: dict[str, list[tuple[int, int, N]]] = {}
        self._sizes: Counter[str] = Counter()  # by lane
        self.size = 0

    def __len__(self) -> int:
        return len(self._line)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[N]:
        return (name for _, _, name in self._line)

    def turn(self, name: N) -> int:
        """Return the turn that a name has."""
        return self._places[name][2][0]

    def first(self, lane: str | None = None) -> int | None:
        """Return the first turn of a lane, or of all; None if there is none."""
        line = self._line if lane is None else self._lanes.get(lane)
        return line[0][0] if line else None

    def last(self) -> int | None:
        """Return the last turn of all; None if there is none."""
        return self._line[-1][0] if self._line else None

    def next(self, lane: str, served: int | None = None) -> int:
        """Return the turn of what is new in the lane; `served` as in `next_turn`."""
        line = self._lanes.get(lane)
        return next_turn(self.first() if served is None else served, line[-1][0] if line else None)

    def postpone(self, name: N, turn: int) -> None:
        """Let a name have no earlier turn than this."""
        lane, size, place = self._places[name]
        if place[0] < turn:
            self.place(name, lane, turn, size)

    def place(self, name: N, lane: str, turn: int, size: int = 0) -> None:
        """Give a name a turn; one that has another keeps its age."""
        if name in self._places:
            number = self._places[name][2][1]
            self.remove(name)
        else:
            number = next(self._numbers)
        place = turn, number, name
        self._places[name] = lane, size, place
        self._sizes[lane] += size
        self.size += size
        insort(self._line, place)
        insort(self._lanes.setdefault(lane, []), place)

    def remove(self, name: N) -> None:
        """Forget a name, if it is known."""
        if name not in self._places:
            return
        lane, size, place = self._places.pop(name)
        for line in (self._line, self._lanes[lane]):
            del line[bisect_left(line, place)]
        self._sizes[lane] -= size
        self.size -= size
        if not self._lanes[lane]:
            del self._lanes[lane], self._sizes[lane]

    def surplus(self, newest: str, most: int, most_size: float = math.inf) -> N | None:
        """Return which name has to go while there are too many, or they are too large; else None.

        It is the last one of the fullest lane; of equally full ones of `newest`, which has grown.
        """
        too_large = self.size > most_size
        if not too_large and len(self) <= most:
            return None

        def fullness(lane: str) -> tuple[int, bool]:
            return self._sizes[lane] if too_large else len(self._lanes[lane]), lane == newest

        return self._lanes[max(self._lanes, key=fullness)][-1][2]
