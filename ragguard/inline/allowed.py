"""What a person has allowed: it is never dropped, whatever the filter and the quarantine say."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from ragguard.content import content_key
from ragguard.passage import Passage
from ragguard.trust import source_of


@dataclass(frozen=True)
class Allowed:
    """Texts and sources, each until a moment in seconds since 1970. Immutable.

    Attributes:
        keys: By `content_key`.
        sources: By the name that `metadata["source"]` gives.
        protected: Those that are judged as any other, and that only a person drops; None for none.
    """

    keys: Mapping[str, float] = field(default_factory=dict)
    sources: Mapping[str, float] = field(default_factory=dict)
    protected: Allowed | None = None

    def __bool__(self) -> bool:
        return bool(self.keys or self.sources or self.protected)

    def holds(self, passage: Passage) -> bool:
        """Return whether a passage or its source is allowed now; costs a look-up or two.

        Raises:
            Exception: Its metadata or its text is of a type that cannot be read.
        """
        if self.sources and (source := source_of(passage)) is not None:
            until = self.sources.get(source)
            if until is not None and time.time() < until:
                return True
        until = self.keys.get(content_key(passage.text)) if self.keys else None
        return until is not None and time.time() < until

    def protects(self, passage: Passage) -> bool:
        """Return whether a passage or its source is protected now.

        Raises:
            Exception: As `holds`.
        """
        return self.protected is not None and self.protected.holds(passage)
