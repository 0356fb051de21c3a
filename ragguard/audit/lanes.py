"""Lanes: each reporter's events wait in a lane of their own, and the lanes take turns.

Start-time fair queueing (Goyal, Vin and Cheng 1996) with events of equal cost: an event's turn is
one past the last of its lane, but not before the turn that is being served. Claimed in the order of
turns, one reporter's thousand events hold up another one's first by a single event. Nothing is
stored but the turn, so that the next event is found by an index.
"""

from __future__ import annotations

import hashlib

__all__ = ["MAX_REPORTERS", "NOBODY", "lane_of", "next_turn"]

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
