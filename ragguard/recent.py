"""What the generator saw last, for reports that do not say it."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence

from ragguard.lru import LRU
from ragguard.passage import Passage


class RecentPassages:
    """What the generator saw for the most recent queries. Safe to share between threads.

    Args:
        max_bytes: How many bytes queries and passages may take together. What is larger by itself
            is not remembered.
    """

    def __init__(self, max_bytes: int = 64_000_000) -> None:
        self._passages: LRU[tuple[str, str, str | None], tuple[Passage, ...]] = LRU(max_bytes)
        self._newest_s = -math.inf

    def remember(
        self,
        query: str,
        passages: Sequence[Passage],
        tenant: str = "",
        response: str | None = None,
    ) -> None:
        """Keep the passages under a tenant's query, in place of what was kept before.

        With a response they are kept under the two of them.
        """
        size = 800 + sys.getsizeof(query) + sys.getsizeof(response) + passages_bytes(passages)
        self._passages.put((tenant, query, response), tuple(passages), size)
        self._newest_s = time.monotonic()

    def is_fresh(self) -> bool:
        """Return whether the newest query came within the last second."""
        return time.monotonic() - self._newest_s < 1.0

    def recall(
        self, query: str, tenant: str = "", response: str | None = None
    ) -> tuple[Passage, ...]:
        """Return what was kept under query and response, else under the query, or nothing."""
        get = self._passages.get
        return get((tenant, query, response)) or get((tenant, query, None)) or ()


def passages_bytes(passages: Sequence[Passage]) -> int:
    """Return the bytes of texts, ids and vectors; metadata counts for what it shows.

    Of metadata only the values themselves are counted, not what they hold.
    """
    weigh = sys.getsizeof
    size = sum([weigh(passage.text) + weigh(passage.id) for passage in passages])
    for passage in passages:
        if passage.embedding is not None:
            size += passage.embedding.nbytes
        if passage.metadata:
            size += sum([sys.getsizeof(value, 100) for value in passage.metadata.values()])
    return size
