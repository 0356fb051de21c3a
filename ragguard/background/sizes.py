"""How large things are that others have sent, and what fits into a given size."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ragguard.audit.records import Event
from ragguard.passage import Passage

__all__ = ["event_bytes", "fits", "passage_bytes"]


def fits(value: object, most: int) -> bool:
    """Return whether nested mappings, lists and texts take at most so many bytes of memory.

    The time is bounded by `most` as well: every part counts for something, and what is too large
    is not walked to its end.

    >>> fits({"page": 3, "tags": ["a", "b"]}, 1_000), fits({"raw": "x" * 2_000}, 1_000)
    (True, False)
    """
    left = most
    rest: list[Any] = [value]
    while rest:
        one = rest.pop()
        left -= sys.getsizeof(one, 100)
        if left < 0:
            return False
        if isinstance(one, Mapping):
            rest.extend(part for item in one.items() for part in item)
        elif isinstance(one, (list, tuple, set, frozenset)):
            rest.extend(one)
    return True


def passage_bytes(passage: Passage) -> int:
    """Return the bytes of a passage's text, id and vector; its metadata counts for what it shows.

    Of metadata only the values themselves are counted, not what they hold.
    """
    size = sys.getsizeof(passage.text) + sys.getsizeof(passage.id)
    if passage.embedding is not None:
        size += passage.embedding.nbytes
    if passage.metadata:
        size += sum([sys.getsizeof(value, 100) for value in passage.metadata.values()])
    return size


def event_bytes(event: Event) -> int:
    """Return the bytes of an event's texts."""
    return (
        sys.getsizeof(event.query)
        + sys.getsizeof(event.response)
        + sum(map(passage_bytes, event.passages))
    )
