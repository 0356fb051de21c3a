"""The allow-list: what a person vouches for, with who, why and until when."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from ragguard.audit.quarantine import QuarantineEntry, as_utc, utc_now
from ragguard.content import content_key
from ragguard.errors import InvalidInputError
from ragguard.inline.quarantined import Allowed
from ragguard.passage import Passage

Effect = Literal["allowed", "protected"]

_KEY = re.compile(r"[0-9a-f]{32}")
_LONGEST_SOURCE = 1_000  # characters; what is longer is a text
SHOWN = 200
"""Characters of a text that the list keeps."""


@dataclass(frozen=True)
class Allowance:
    """A passage or a source that a person vouches for.

    Attributes:
        key: `content_key` of the passage, or of the source's name.
        source: The source's name, or "" for a passage.
        effect: "allowed": neither the filter nor the quarantine drops it. "protected": only a
            person drops it: the filter marks it, and what attributions accuse is proposed.
        text: How the passage begins, for a person.
        actor: Who vouches for it, or None.
        until: Until when, UTC as all moments; None: until somebody ends it.
        ended_at, ended_by: When somebody has ended it, and who.
    """

    key: str
    source: str
    effect: Effect
    why: str
    text: str = ""
    actor: str | None = None
    created_at: datetime = field(default_factory=utc_now)
    until: datetime | None = None
    ended_at: datetime | None = None
    ended_by: str | None = None

    @property
    def holds(self) -> bool:
        """Whether it is neither over nor ended."""
        return self.ended_at is None and (self.until is None or utc_now() < self.until)


Standing = QuarantineEntry | Allowance | str
"""Something in quarantine or on the allow-list; or, in words, what is wrong with a row of them."""


class AllowanceStore(Protocol):
    """The part of an `AuditStore` that keeps the allow-list; raises its errors."""

    def allow(self, allowance: Allowance, *, why: str | None = None) -> None:
        """Keep an allowance, in place of one with the same key, source and effect.

        `why` is for the trail, which has only a hash of `Allowance.why`.
        """

    def disallow(
        self, key: str, source: str, *, actor: str | None = None, why: str | None = None
    ) -> list[Allowance]:
        """End what holds under this key and source, and return it; `why` is for the trail."""

    def allowances(self) -> list[Allowance]:
        """Return all of them, ended ones as well, newest first."""

    def standing(self) -> Iterable[tuple[str, Standing]]:
        """Return all of allow-list and quarantine, whoever's, each with its tenant.

        A row that this package cannot have written comes as words about what is wrong with it.
        """


def allowance(
    target: Passage | str,
    *,
    why: str,
    effect: Effect = "allowed",
    until: datetime | None = None,
    actor: str | None = None,
) -> Allowance:
    """Return the allowance of a passage, or of what a string names.

    A string is the 32 hex digits of a `content_key`, or it is both the name of a source and a text.

    Raises:
        InvalidInputError: `target` is neither, `why` says nothing, or `until` is over.
    """
    if not isinstance(why, str) or not why.strip():
        raise InvalidInputError("say why: whoever looks at the allow-list later must understand it")
    if until is not None:
        if not isinstance(until, datetime):
            raise InvalidInputError(f"until must be a datetime, not {type(until).__name__}")
        until = as_utc(until)
        if until <= utc_now():
            raise InvalidInputError(f"until is over: {until.isoformat()}; pass a later moment")
    key, source, text = identity(target)
    return Allowance(key, source, effect, why, text[:SHOWN], actor, until=until)


def is_key(name: str) -> bool:
    """Return True for the 32 hex digits of a `content_key`."""
    return bool(_KEY.fullmatch(name))


def identity(target: Passage | str) -> tuple[str, str, str]:
    """Return the key and the source that a passage or a string names, and its text.

    Raises `InvalidInputError` for what is neither, and for an empty string.
    """
    if isinstance(target, Passage):
        return content_key(target.text), "", target.text
    if not isinstance(target, str) or not target.strip():
        raise InvalidInputError(
            f"pass a Passage, or the name of a source as a str, not {target!r:.80}"
        )
    if is_key(target):
        return target, "", ""
    return content_key(target), target if len(target) <= _LONGEST_SOURCE else "", target


def as_allowed(found: Iterable[Allowance], released: Iterable[str] = ()) -> Allowed:
    """Return allowances that are not ended, and keys released from quarantine, for the filter."""
    listed = [one for one in found if one.ended_at is None]
    allowed = [one for one in listed if one.effect == "allowed"]
    protected = [one for one in listed if one.effect == "protected"]
    return Allowed(*_ends(allowed, released), Allowed(*_ends(protected)) if protected else None)


def _ends(
    found: Iterable[Allowance], released: Iterable[str] = ()
) -> tuple[dict[str, float], dict[str, float]]:
    keys = dict.fromkeys(released, math.inf)
    sources: dict[str, float] = {}
    for one in found:
        end = math.inf if one.until is None else one.until.timestamp()
        keys[one.key] = max(end, keys.get(one.key, 0.0))
        if one.source:
            sources[one.source] = end
    return keys, sources
