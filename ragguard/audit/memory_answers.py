"""The answers that the store in memory holds."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from heapq import heapify, heapreplace

from ragguard.audit.quarantine import utc_now
from ragguard.audit.records import ANSWER_DAY, Answer


class MemoryAnswers:
    """Answers of two days by tenant: so many of all, and then fewer of whoever has most.

    Whoever shares it between threads locks it.
    """

    def __init__(self) -> None:
        self._given: dict[str, deque[Answer]] = {}  # of each tenant the oldest first
        self._count = 0

    def add(self, tenant: str, answer: Answer, most: int) -> None:
        """Keep a tenant's answer, of at most so many of all tenants."""
        mine = self._given.setdefault(tenant, deque())
        oldest = utc_now() - 2 * ANSWER_DAY
        while mine and mine[0].given_at < oldest:
            mine.popleft()
            self._count -= 1
        mine.append(answer)
        self._count += 1
        if self._count > most:
            held = {tenant: len(given) for tenant, given in self._given.items()}
            # Some more than must go, since it takes a look at every tenant.
            take_from_fullest(held, self._count - most + most // 16, self._forget)

    def newest_first(self, tenant: str) -> Iterator[Answer]:
        """Return a tenant's answers."""
        return reversed(self._given.get(tenant, ()))

    def _forget(self, tenant: str) -> int:
        self._given[tenant].popleft()
        self._count -= 1
        if not self._given[tenant]:
            del self._given[tenant]
        return 1


def take_from_fullest(held: Mapping[str, int], over: int, forget: Callable[[str], int]) -> None:
    """Have whoever holds most lose something until `over` is gone of what all hold.

    `forget` takes the oldest from a tenant, and returns how much that was.

    >>> take_from_fullest({"acme": 3, "bolt": 5}, 4, lambda tenant: print(tenant) or 1)
    bolt
    bolt
    acme
    bolt
    """
    fullest = [(-size, place, tenant) for place, (tenant, size) in enumerate(held.items())]
    heapify(fullest)
    while over > 0:
        size, place, tenant = fullest[0]
        gone = forget(tenant)
        over -= gone
        heapreplace(fullest, (size + gone, place, tenant))
