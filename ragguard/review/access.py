"""Who may see the page: whoever has the token, and whom a trusted proxy vouches for.

The token is offered once and becomes a session, known by a cookie that no script reads and no other
site sends. Every form carries a token that belongs to the session (signed, so nothing is kept).
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragguard.errors import InvalidInputError
from ragguard.text import printable

LEAST_TOKEN = 16
"""Characters that a token must have."""

SESSION_S = 12 * 3600.0
_MOST_SESSIONS = 200
_MOST_FAILURES, _FAILURE_S = 5, 60.0  # wrong tokens within so many seconds
_MOST_ADDRESSES = 10_000
_LONGEST_NAME = 100


@dataclass(frozen=True)
class Person:
    """Somebody who may decide."""

    name: str  # what the audit says
    id: str  # what their forms are bound to: the session, or the name that the proxy gives
    session: bool  # whether they have one, and so may end it


@dataclass(frozen=True)
class TrustedProxy:
    """A reverse proxy that checks who somebody is, with OpenID Connect for example."""

    header: str  # in which it names them; it must strip it from what comes in
    # Its addresses: the header counts only from there.
    networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]

    @classmethod
    def of(cls, header: str, addresses: Sequence[str]) -> TrustedProxy:
        """Return the proxy at these addresses or networks.

        Raises:
            InvalidInputError: There are none, or one is neither; or the header has no name.
        """
        if not header.replace("-", "").isalnum() or not header.isascii():
            raise InvalidInputError(f"{header!r} is no name of a header; try X-Forwarded-User")
        if not addresses:
            raise InvalidInputError(
                "--user-header needs --trusted-proxy: a header can be sent by anybody, so name the "
                "addresses of the proxy that sets it"
            )
        try:
            networks = tuple(ipaddress.ip_network(one) for one in addresses)
        except ValueError as error:
            raise InvalidInputError(
                f"{error}; pass the proxy's address, as in 10.0.0.5 or 10.0.0.0/24"
            ) from error
        return cls(header.lower(), networks)

    def names(self, address: str, values: Sequence[str]) -> str | None:
        """Return whom the proxy names in its header's values, or None.

        More than one value is not what a proxy sends that replaces the header.
        """
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return None
        if len(values) != 1 or not any(found in network for network in self.networks):
            return None
        return named(values[0]) or None


def named(name: str) -> str:
    """Return a person's name as the audit keeps it: one printable line, not too long."""
    return printable(name[: 4 * _LONGEST_NAME])[:_LONGEST_NAME].strip()


class Access:
    """Lets people in, and knows them again.

    The token opens the page, and so does the proxy's header.

    Attributes:
        once: A code that opens it a single time, for an address to click on.

    Raises:
        InvalidInputError: The token is short enough to be guessed.
    """

    def __init__(self, token: str, *, proxy: TrustedProxy | None = None) -> None:
        if len(token) < LEAST_TOKEN:
            raise InvalidInputError(
                f"the token has {len(token)} characters; pass {LEAST_TOKEN} at least, or none "
                "to have one made"
            )
        self.once: str | None = secrets.token_urlsafe(24)
        self._token, self._proxy = token, proxy
        self._failures: dict[str, deque[float]] = {}  # when, by network
        self._signing_key = secrets.token_bytes(32)
        self._sessions: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    def wait(self, address: str) -> float:
        """Return how many seconds an address has to wait before it may try again, or 0.

        After five wrong tokens within a minute it has to; of IPv6 the /64 counts, which one user
        has.
        """
        with self._lock:
            failed = self._failures.get(_network(address))
            if failed is None or len(failed) < _MOST_FAILURES:
                return 0.0
            return max(0.0, failed[0] + _FAILURE_S - time.monotonic())

    def enter(self, token: str, name: str, address: str) -> str | None:
        """Return a new session of `name` for the right token, or None and count a failure."""
        return self._entered(bool(name) and _equal(token, self._token), name, address)

    def enter_once(self, code: str, name: str, address: str) -> str | None:
        """Return a new session for the right code, the first time, or None."""
        with self._lock:
            right = self.once is not None and _equal(code, self.once)
            if right:
                self.once = None
        return self._entered(right, name, address)

    def _entered(self, right: bool, name: str, address: str) -> str | None:
        session = secrets.token_urlsafe(32)
        with self._lock:
            if not right:
                network = _network(address)
                failed = self._failures.pop(network, None) or deque(maxlen=_MOST_FAILURES)
                failed.append(time.monotonic())
                self._failures[network] = failed  # the last one, so that the oldest go first
                while len(self._failures) > _MOST_ADDRESSES:
                    del self._failures[next(iter(self._failures))]
                return None
            while len(self._sessions) >= _MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[session] = (name, time.monotonic() + SESSION_S)
        return session

    def person(
        self, session: str, address: str, header: Callable[[str], Sequence[str]]
    ) -> Person | None:
        """Return who a request comes from, by its cookie `session` or its headers, or None."""
        if self._proxy is not None:
            name = self._proxy.names(address, header(self._proxy.header))
            if name is not None:
                return Person(name, f"proxy {name}", session=False)
        with self._lock:
            name, until = self._sessions.get(session, ("", 0.0))
            if name and until <= time.monotonic():
                del self._sessions[session]
                return None
        return Person(name, session, session=True) if name else None

    def leave(self, person: Person) -> None:
        """End a person's session."""
        with self._lock:
            self._sessions.pop(person.id, None)

    def form_token(self, person: Person) -> str:
        """Return what every form of a person carries."""
        signed = person.id.encode("utf-8", "surrogatepass")
        return hmac.new(self._signing_key, signed, hashlib.sha256).hexdigest()

    def form_holds(self, person: Person, token: str) -> bool:
        """Return whether a form came from a page of this person."""
        return _equal(token, self.form_token(person))


def _network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if found.version == 4:
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found), 64), strict=False))


def _equal(offered: str, right: str) -> bool:
    # Of digests: neither the length nor a common beginning shows in the time that it takes.
    digests = (
        hashlib.sha256(one.encode("utf-8", "surrogatepass")).digest() for one in (offered, right)
    )
    return hmac.compare_digest(*digests)
