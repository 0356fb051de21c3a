"""The trail: who did what to quarantine, allow-list, policy and calibration.

Rows are only ever added, in the transaction of the change that they tell, and each is signed
together with the signature of the one before (Schneier and Kelsey 1999): a row that is changed,
removed, moved or slipped in is found by `ragguard.audit.trail_check`. A missing end is found by a
head that somebody kept elsewhere. Of texts there are hashes only.
"""

from __future__ import annotations

import getpass
import hmac
import json
import logging
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from ragguard.audit.allow_list import Allowance
from ragguard.audit.encoding import escape
from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.quarantine import QuarantineEntry, as_utc, utc_now
from ragguard.errors import InvalidInputError, StoreError
from ragguard.passage import text_digest
from ragguard.quiet_log import QuietLog

_logger = logging.getLogger(__name__)
_lines = QuietLog(_logger)

KEY = "RAGGUARD_TRAIL_KEY"
KEY_FILE = "RAGGUARD_TRAIL_KEY_FILE"
UNSIGNED = ""
"""The id of no key: what it signs, anybody can."""

_SHORTEST = 32  # characters; of hexadecimal ones 128 bits


@dataclass(frozen=True)
class Change:
    """Something that was done.

    Attributes:
        action: What: "quarantine.confirmed", "allow-list.ended", "policy.set" ...
        subject: To what: a `content_key`, or the name or hash of a policy or a calibration.
        actor: Who did it; None for the worker.
        details: What else is to be kept, as JSON; no texts.
        tenant: In whose quarantine or allow-list; "" for the default one, and for all together.
    """

    action: str
    subject: str
    actor: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    tenant: str = ""


@dataclass(frozen=True)
class TrailRow:
    """A change as it was written down; texts as `ragguard.audit.encoding.escape` leaves them.

    Attributes:
        seq: Its place: 1, 2, 3 ...
        at: When, UTC, in ISO 8601.
        tenant, actor, action, subject, details: As in `Change`; the last as JSON.
        key: The id of the key that signed it, or "" for none.
        mac: The signature of all of these and of the `mac` of the row before.
    """

    seq: int
    at: str
    tenant: str
    actor: str | None
    action: str
    subject: str
    details: str
    key: str
    mac: str

    @property
    def told(self) -> dict[str, Any]:
        """Its details as they are read: who can write to the database can write anything there."""
        try:
            found = json.loads(self.details)
        except (TypeError, ValueError, RecursionError):
            found = None
        return found if isinstance(found, dict) else {"unreadable": self.details}


class TrailStore(Protocol):
    """The part of an `AuditStore` that keeps the trail; raises its errors.

    Whatever changes something adds its rows itself. A store as it was opened returns the rows of
    all tenants, that of a tenant its own.
    """

    def trail(self, *, after: int = 0, limit: int = 10_000) -> list[TrailRow]:
        """Return the first rows whose `seq` is greater than `after`, as they lie in the store."""

    def newest_trail(self, limit: int) -> list[TrailRow]:
        """Return the last rows, the oldest of them first."""

    def note(self, change: Change) -> bool:
        """Add a row, unless the last one of this action says the same; return whether it did."""


class Keys:
    """Secrets by their ids, the oldest first; before all of them comes that of no key.

    They come from the environment, never from the store: RAGGUARD_TRAIL_KEY holds them, or
    RAGGUARD_TRAIL_KEY_FILE names the file that does, one a line, the newest last. The newest one
    signs; the others verify what was signed before it came. Raises `InvalidInputError` for one that
    is too short.
    """

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        named = b"the id of a key of ragguard's trail"
        self._secrets = {UNSIGNED: b""}
        for secret in secrets:
            if len(secret) < _SHORTEST:
                raise InvalidInputError(
                    f"a key of the trail has {len(secret)} characters, and needs {_SHORTEST} at "
                    "least; make one with: openssl rand -hex 32"
                )
            encoded = secret.encode("utf-8", "surrogateescape")
            self._secrets[hmac.digest(encoded, named, "sha256").hex()[:8]] = encoded
        self.newest = next(reversed(self._secrets))  # the id of the key that signs

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Keys:
        """Read them anew: a key that was added to the file is used from then on.

        Raises:
            InvalidInputError: A key is too short, or both variables are set.
            StoreError: The file cannot be read, or is empty.
        """
        given, path = environment.get(KEY, ""), environment.get(KEY_FILE, "")
        if given and path:
            raise InvalidInputError(f"{KEY} and {KEY_FILE} are both set; unset one of them")
        if not path:
            return cls(given.split())
        try:
            secrets = Path(path).read_text(encoding="utf-8", errors="surrogateescape").split()
        except OSError as error:
            raise StoreError(
                f"the trail's key cannot be read from {path}: {error.strerror}; make the file of "
                f"{KEY_FILE} readable for this process"
            ) from error
        if not secrets:
            raise StoreError(f"{path}, the file of {KEY_FILE}, is empty; put the trail's key there")
        return cls(secrets)

    def rank(self, name: str | None) -> int | None:
        """Return 0 for no key, 1 for the oldest, 2 for the next; None for one that is not here."""
        return next((rank for rank, known in enumerate(self._secrets) if known == name), None)

    def sign(self, name: str, message: bytes) -> str:
        """Return the 64 hex digits of an HMAC-SHA256 with a key that is here."""
        return hmac.digest(self._secrets[name], message, "sha256").hex()


def next_rows(last: TrailRow | None, changes: Iterable[Change], keys: Keys) -> list[TrailRow]:
    """Return the rows that tell of `changes` after `last`; `StoreError` if its key is not here."""
    if last is not None and keys.rank(last.key) is None:
        raise StoreError(
            f"the trail's last row is signed with key {last.key!r}, which this process does not "
            f"have, so it may not go on with it; give it the key by {KEY} or {KEY_FILE}"
        )
    made: list[TrailRow] = []
    before, mac = (0, "") if last is None else (last.seq, last.mac)
    at = utc_now().isoformat(timespec="microseconds")
    for seq, one in enumerate(changes, before + 1):
        row = TrailRow(seq, at, *_stored(one), key=keys.newest, mac="")
        mac = signature_of(row, mac, keys)
        made.append(replace(row, mac=mac))
    return made


def says(row: TrailRow, change: Change) -> bool:
    """Return whether a row tells of such a change, whoever made it."""
    tenant, _, *told = _stored(change)
    return [row.tenant, row.action, row.subject, row.details] == [tenant, *told]


def _stored(change: Change) -> tuple[str, str | None, str, str, str]:
    actor = None if change.actor is None else escape(change.actor)
    details = json.dumps(change.details, sort_keys=True, default=str)
    return escape(change.tenant), actor, escape(change.action), escape(change.subject), details


def signature_of(row: TrailRow, before: str, keys: Keys) -> str:
    """Return what the `mac` of a row must be, after a row whose `mac` is `before`."""
    told = {**vars(row)}  # asdict() would copy each value, for five times the time
    del told["mac"]
    return keys.sign(row.key, json.dumps([before, told], sort_keys=True).encode())


def head_of(last: TrailRow, keys: Keys) -> str:
    """Return `seq:key:mac:signature` of all rows: kept elsewhere, it tells if any are gone."""
    told = f"{last.seq}:{last.key}:{last.mac}"
    return f"{told}:{keys.sign(last.key, f'head {told}'.encode())}"


def tell_head(head: str | None) -> None:
    """Log the head, once the rows are in the store."""
    if head is not None:
        _lines.info("trail head %s", head)


def of_entry(
    entry: QuarantineEntry, tenant: str, why: str | None = None, was: str | None = None
) -> Change:
    """Return the change that gave an entry its status; it `was` another, or None."""
    details = {
        **_given(said=why),
        "was": was,
        "event": entry.event_id,
        "text": text_digest(entry.text).hex(),
        "until": _moment(entry.until),
        "reporters": [lane_of(name) for name in entry.reporters],
        "rest": _digest(entry.passage_id, entry.reason, (entry.signature or b"").hex()),
        "lapsed_at": _moment(entry.lapsed_at),
    }
    return Change(f"quarantine.{entry.status}", entry.key, entry.actor, details, tenant)


def of_allowance(
    one: Allowance, tenant: str, why: str | None = None, was: str | None = None
) -> Change:
    """Return the change that put something on the allow-list, or ended what it `was`."""
    ended = one.ended_at is not None
    details = {
        **_given(said=why, was=was),
        "effect": one.effect,
        "source": bool(one.source),
        "until": _moment(one.until),
        "why": text_digest(one.why).hex(),
        "rest": _digest(one.source, one.text),
    }
    who, done = (one.ended_by, "ended") if ended else (one.actor, one.effect)
    return Change(f"allow-list.{done}", one.key, who, details, tenant)


def note_quietly(store: TrailStore, change: Change) -> None:
    """Add a row where the store takes it; one that does not keeps nobody from working."""
    try:
        if hasattr(store, "note"):  # a store of somebody else's may have no trail
            store.note(change)
    except Exception as error:  # a role that may only read, or whatever else a store raises
        _logger.warning("the trail does not tell of %s: %s", change.action, error)


def this_process() -> str:
    """Return who this process is, for what nobody in particular has done."""
    try:
        who = getpass.getuser()
    except (KeyError, OSError, ImportError):
        who = "unknown"
    return f"{who}@{platform.node()}"


def _digest(*texts: str) -> str:
    return text_digest(json.dumps(texts)).hex()


def _given(**told: str | None) -> dict[str, str]:
    return {name: text for name, text in told.items() if text is not None}


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else as_utc(moment).isoformat()
