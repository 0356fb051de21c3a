"""How often an address may offer a wrong token."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import deque
from collections.abc import Callable

__all__ = ["Attempts"]

_MOST_ADDRESSES = 10_000


class Attempts:
    """Counts the failures of each address; of IPv6 the /64 counts, which one user has.

    Args:
        most: Failures within `seconds` after which an address has to wait.
        seconds: How long a failure counts.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        most: int = 5,
        seconds: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._failed: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def wait(self, address: str) -> float:
        """Return how many seconds this address has to wait; 0: it may try."""
        with self._lock:
            failed = self._failed.get(_network(address))
            if failed is None or len(failed) < self._most:
                return 0.0
            return max(0.0, failed[0] + self._seconds - self._clock())

    def failed(self, address: str) -> None:
        """Count a failure of this address."""
        with self._lock:
            network = _network(address)
            failed = self._failed.pop(network, None) or deque(maxlen=self._most)
            failed.append(self._clock())
            self._failed[network] = failed  # the last one, so that the oldest go first
            while len(self._failed) > _MOST_ADDRESSES:
                del self._failed[next(iter(self._failed))]


def _network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if found.version == 4:
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found), 64), strict=False))
