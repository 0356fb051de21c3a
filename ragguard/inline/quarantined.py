"""Blocklist and allowlist, as a query meets them: quarantined texts, their copies, allowances."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from ragguard.content import HEAD, content_heads, content_key, content_letters
from ragguard.inline.near_copies import NearCopies, NearCopy
from ragguard.lru import LRU, on_forget
from ragguard.passage import Passage, text_digest
from ragguard.trust import source_of

_MAX_BYTES = 16 * 2**20  # of the answers remembered, with their texts
_ENTRY_BYTES = 400
_LONG = 16_000  # characters; the cache would keep no longer text

# One cache, so that many tenants take no more than one; by number, so that none is held for it.
_answers: LRU[tuple[int, str | bytes], NearCopy | None] = LRU(_MAX_BYTES)
_numbers = count()
on_forget(_answers.clear)


@dataclass(frozen=True)
class Allowed:
    """Texts and sources that a person lets through, each until a moment. Immutable.

    They are never dropped, whatever filter and quarantine say. Moments are seconds since 1970.
    """

    keys: Mapping[str, float] = field(default_factory=dict)  # by `content_key`
    sources: Mapping[str, float] = field(default_factory=dict)  # by name, as metadata gives it
    protected: Allowed | None = None  # judged as any other; only a person drops them

    def __bool__(self) -> bool:
        return bool(self.keys or self.sources or self.protected)

    def holds(self, passage: Passage) -> bool:
        """Return whether a passage or its source is allowed now; raises what reading it raises."""
        source = source_of(passage) if self.sources else None
        if source is not None and time.time() < self.sources.get(source, 0.0):
            return True
        return bool(self.keys) and time.time() < self.keys.get(content_key(passage.text), 0.0)

    def protects(self, passage: Passage) -> bool:
        """Return whether a passage or its source is protected now; raises as `holds`."""
        return self.protected is not None and self.protected.holds(passage)


@dataclass(frozen=True)
class Quarantined:
    """The texts in quarantine. Immutable: a query works with those of one moment."""

    keys: frozenset[str] = frozenset()  # `content_key`s
    copies: NearCopies = field(default_factory=NearCopies)
    spared: frozenset[str] = frozenset()  # keys of no copies: a person let them through
    allowed: Allowed = field(default_factory=Allowed)  # let through all the same
    unconfirmed: frozenset[str] = frozenset()  # by any person: of these what is protected stays
    heads: frozenset[str] = field(init=False, repr=False, compare=False)
    _number: int = field(default_factory=lambda: next(_numbers), init=False, compare=False)

    def __post_init__(self) -> None:
        """Collect with what the keys begin."""
        object.__setattr__(self, "heads", frozenset([key[:HEAD] for key in self.keys]))

    def changed(
        self,
        keys: frozenset[str],
        signatures: Mapping[str, bytes],
        spared: frozenset[str],
        allowed: Allowed | None = None,
        unconfirmed: frozenset[str] = frozenset(),
    ) -> Quarantined:
        """Return the quarantine that holds `keys`; `signatures` are of those that are new.

        With None what is allowed stays as it is.
        """
        same = keys == self.keys
        copies = self.copies if same else self.copies.changed(signatures, self.keys - keys)
        now_allowed = self.allowed if allowed is None else allowed
        return Quarantined(keys, copies, spared, now_allowed, unconfirmed)

    def find(self, texts: Sequence[str]) -> list[NearCopy | None]:
        """Return for each text what it is, or is a copy of, or None; recent answers are remembered.

        A text that is a str with methods of its own may raise anything.
        """
        if not self.keys:
            return [None] * len(texts)
        named = [text if len(text) <= _LONG else text_digest(text) for text in texts]
        numbered = [(self._number, name) for name in named]

        def worked_out(new: Sequence[tuple[int, str | bytes]]) -> list[NearCopy | None]:
            text_of = dict(zip(named, texts, strict=True))
            return self._worked_out([text_of[name] for _, name in new])

        return _answers.answers(numbered, worked_out, _bytes)

    def _worked_out(self, texts: Sequence[str]) -> list[NearCopy | None]:
        letters = content_letters(texts)
        found = self.copies.find(texts, letters)
        heads = content_heads(letters)
        for place, text in enumerate(texts):
            if found[place] is not None or heads[place] in self.heads:
                key = content_key(text)
                if key in self.keys:
                    found[place] = NearCopy(key, 1.0, exact=True)
                elif key in self.spared:
                    found[place] = None
        return found


def _bytes(key: tuple[int, str | bytes], _: NearCopy | None) -> int:
    return 4 * len(key[1]) + _ENTRY_BYTES
