"""What a person has allowed: it is never dropped, whatever the filter and the quarantine say."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from ragguard.content import content_key
from ragguard.passage import Passage

__all__ = ["Allowed", "source_of"]


def source_of(passage: Passage) -> str | None:
    """Return what a passage's metadata names as its source, or None.

    That is a text, a number or a path: what is nested is no name, and may be long.
    """
    source = passage.metadata.get("source") if passage.metadata else None
    if isinstance(source, (int, os.PathLike)):
        return str(source)
    return source if isinstance(source, str) else None


@dataclass(frozen=True)
class Allowed:
    """Texts and sources, each until a moment in seconds since 1970. Immutable.

    Attributes:
        keys: By `content_key`.
        sources: By the name that `metadata["source"]` gives.
    """

    keys: Mapping[str, float] = field(default_factory=dict)
    sources: Mapping[str, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.keys or self.sources)

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
