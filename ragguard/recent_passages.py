"""What the generator saw last, for reports that do not say it."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping, Sequence, Set
from itertools import compress, islice
from typing import Any

from ragguard.content import content_letters
from ragguard.lru import FairLRU
from ragguard.passage import Passage

MAX_METADATA = 8_000
"""Bytes in memory of one passage's metadata; what is larger is left out."""

_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})  # what holds nothing else


class RecentPassages:
    """What the generator saw for the most recent queries. Safe to share between threads.

    All tenants' take `max_bytes` at most; whichever tenant has most loses its oldest.
    """

    def __init__(self, max_bytes: int = 64_000_000) -> None:
        self._passages: FairLRU[tuple[str, str | None], tuple[Passage, ...]] = FairLRU(max_bytes)
        self._texts: FairLRU[str, bool] = FairLRU(max_bytes // 2)
        self._newest_s = -math.inf

    def remember(
        self, query: str, passages: Sequence[Passage], tenant: str = "", response: str | None = None
    ) -> None:
        """Keep the passages under a tenant's query, in place of what was kept before.

        With a response they are kept under the two of them; of metadata what a report keeps.
        """
        views = _hold_nothing_else(passages)
        kept = tuple([light(one, views=views) for one in passages])
        size = 800 + sys.getsizeof(query) + sys.getsizeof(response) + passages_bytes(kept)
        self._passages.put((tenant, (query, response)), kept, size)
        # Not a str with methods of its own, which may do anything when it is compared.
        keys = [(tenant, one.text) for one in kept if type(one.text) is str]
        if fresh := [key for key in keys if not self._texts.get(key)]:
            self._texts.put_all([(key, True, 2 * len(key[1]) + 200) for key in fresh])
        self._newest_s = time.monotonic()

    def has_passed(self, text: str, tenant: str = "") -> bool | None:
        """Return whether this very text was let through lately; None if no query is remembered.

        What other tenants ask does not count: it would change what becomes of a tenant's reports.
        """
        return (tenant, text) in self._texts or (False if self._passages.holds_of(tenant) else None)

    def of_same_letters(self, text: str, tenant: str = "") -> list[str]:
        """Return the texts of the very same letters that were let through lately for a tenant."""
        (own,) = content_letters([text])
        here = self.texts(tenant)
        # By its letters and not by its length, which whoever writes it may pad with what is none.
        some = [one for one in here if len(own) <= 6 * len(one) and len(one) <= 4 * len(own)]
        return list(compress(some, map(own.__eq__, content_letters(some))))

    def texts(self, tenant: str = "") -> list[str]:
        """Return the texts that were let through lately for a tenant."""
        return [one for whose, one in self._texts.held() if whose == tenant]

    def is_fresh(self) -> bool:
        """Return whether the newest query came within the last second."""
        return time.monotonic() - self._newest_s < 1.0

    def recall(
        self, query: str, tenant: str = "", response: str | None = None
    ) -> tuple[Passage, ...]:
        """Return what was kept under query and response, else under the query, or nothing."""
        get = self._passages.get
        return get((tenant, (query, response))) or get((tenant, (query, None))) or ()


def passages_bytes(passages: Sequence[Passage]) -> int:
    """Return the bytes of texts, ids, vectors and metadata; of metadata those that `light` allows.

    >>> plain, rich = Passage("a", id="b"), Passage("a", id="b", metadata={"raw": ["x" * 99] * 9})
    >>> passages_bytes([rich]) - passages_bytes([plain]) > 9 * 99
    True
    """
    weigh = sys.getsizeof
    size = sum([weigh(passage.text) + weigh(passage.id) for passage in passages])
    for passage in passages:
        if passage.embedding is not None:
            size += passage.embedding.nbytes
        size += _bytes_of(passage.metadata)
    return size


def _hold_nothing_else(passages: Sequence[Passage]) -> bool:
    """Return whether the arrays that the passages' vectors are parts of hold these vectors alone.

    Then views of them take no more than copies, which cost a query of a hundred passages a tenth.
    """
    vectors = [one.embedding for one in passages if one.embedding is not None]
    whole = {id(one.base): getattr(one.base, "nbytes", math.inf) for one in vectors}
    return sum(whole.values()) <= sum([one.nbytes for one in vectors])


def light(passage: Passage, *, views: bool = False) -> Passage:
    """Return the passage, without its metadata if that is larger than `MAX_METADATA`.

    Whoever writes it may nest it, and what is kept of many queries or reports must be bounded. So
    of a vector that is part of a larger array a copy is kept, and not all of the array, unless
    `views` says that views take no more.
    """
    changes: dict[str, Any] = {}
    vector = passage.embedding
    if vector is not None and vector.base is not None and not views:
        changes["embedding"] = vector.copy()
    if _bytes_of(passage.metadata) > MAX_METADATA:
        changes["metadata"] = {}
    if not changes:
        return passage
    # Not by `dataclasses.replace`, which checks again: this is done for every passage of a query.
    kept = object.__new__(type(passage))
    kept.__dict__.update(passage.__dict__, **changes)
    return kept


def _bytes_of(metadata: Mapping[str, Any]) -> int:
    """Return what metadata takes, with all that it holds; counted until it is too large."""
    if type(metadata) is dict and not metadata:
        return 0
    try:
        size = sum([sys.getsizeof(key) + sys.getsizeof(one) for key, one in metadata.items()])
        held = [one for one in metadata.values() if type(one) not in _PLAIN]
        while held and size <= MAX_METADATA:
            one = held.pop()
            parts = one.items() if isinstance(one, Mapping) else one
            if isinstance(parts, (Set, list, tuple)):
                held += islice(parts, MAX_METADATA)  # each takes a byte at least
                size += sum([sys.getsizeof(part, 100) for part in islice(parts, MAX_METADATA)])
    except Exception:  # a mapping of the caller's may raise anything
        return MAX_METADATA + 1
    return size
