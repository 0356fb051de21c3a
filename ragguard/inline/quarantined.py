"""What is in quarantine, as a query meets it: the very same text again, or an edited copy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ragguard.content import content_keys
from ragguard.inline.allowed import Allowed
from ragguard.inline.fingerprints import signature
from ragguard.inline.near_copies import NearCopies

__all__ = ["Quarantined"]


@dataclass(frozen=True)
class Quarantined:
    """The texts in quarantine. Immutable: a query works with those of one moment.

    Attributes:
        keys: `content_key`s of the texts.
        copies: Finds edited copies of them.
        spared: `content_key`s of texts that are not taken for copies: a person let them through.
        allowed: What is let through all the same.
    """

    keys: frozenset[str] = frozenset()
    copies: NearCopies = field(default_factory=NearCopies)
    spared: frozenset[str] = frozenset()
    allowed: Allowed = field(default_factory=Allowed)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Quarantined:
        """Return a quarantine that holds these texts."""
        texts = list(texts)
        keys = content_keys(texts)
        signatures = dict(zip(keys, map(signature, texts), strict=True))
        return cls().changed(frozenset(keys), signatures, frozenset())

    def changed(
        self,
        keys: frozenset[str],
        signatures: Mapping[str, bytes],
        spared: frozenset[str],
        allowed: Allowed | None = None,
    ) -> Quarantined:
        """Return the quarantine that holds `keys`; `signatures` are of those that are new.

        With None what is allowed stays as it is.
        """
        copies = self.copies
        if keys != self.keys:
            copies = copies.changed(signatures, self.keys - keys)
        return Quarantined(keys, copies, spared, self.allowed if allowed is None else allowed)
