"""False reports that aim at a page, and a desk that takes them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

from benchmarks.misgeneration import TOP_K
from ragguard.attribution import Attribution, RAGOrigin
from ragguard.audit import Event, MemoryStore
from ragguard.background import Policy
from ragguard.background.attribute_event import EventAttributor
from ragguard.content import content_key
from ragguard.inline.pipeline import ConformalFilter
from ragguard.passage import Passage
from ragguard.stems import tokenize
from ragguard.text import sentences
from ragguard.trust import Trust

_OPENINGS = (5, 8, 12)  # words
_FREE = Policy("auto", top_k=TOP_K, per_reporter=10**6, per_hour=10**6)
_SOURCE = {"source": "statutes"}


def aimed(page: str, draw: Random) -> list[tuple[str, str]]:
    """Return questions and responses that trace to a page.

    Its questions and what follows; its beginning and what follows; and of three sentences the
    halves, as they are and made into questions.
    """
    parts = [part for part in sentences(page) if tokenize(part)]
    words = page.split()
    found = [(asked, told) for asked, told in pairwise(parts) if "?" in asked[-3:]]
    openings = [*parts[:1], *[" ".join(words[:size]) for size in _OPENINGS]]
    found += [(opening, rest) for opening in openings for rest in parts[1:4]]
    for part in draw.sample(parts, min(3, len(parts))):
        told = part.split()
        begun, rest = " ".join(told[: len(told) // 2]), " ".join(told[len(told) // 2 :])
        found += [(begun, rest), (f"What {begun}?", rest), (f"Is {part.rstrip('.')}?", part)]
    return [
        (query, response) for query, response in found if tokenize(query) and tokenize(response)
    ]


class Desk:
    """Takes reports about a knowledge base, and attributes each at once.

    Args:
        policy: What an attribution may do.
        protected: Whether all passages are of a source that is protected.
        judge: Says who shows marks of an attack; None: by the shipped calibration.
    """

    def __init__(
        self,
        policy: Policy = _FREE,
        *,
        protected: bool = False,
        judge: ConformalFilter | None = None,
    ) -> None:
        self.store = MemoryStore()
        self._metadata = _SOURCE if protected else {}
        self._ranked: Sequence[Passage] = ()
        self._events = EventAttributor(
            self.store,
            lambda _, limit: self._ranked[:limit],
            attributor=RAGOrigin(top_k=TOP_K),
            policy=policy,
            trust=Trust(protected=[*_SOURCE.values()]) if protected else None,
            judge=None if judge is None else lambda: judge,
        )
        self._reports = 0

    def report(
        self, query: str, response: str, ranked: Sequence[Passage], reporter: str = "mallory"
    ) -> Attribution:
        """Attribute a report over a ranking, act on it, and return the attribution."""
        self._reports += 1
        self._ranked = [
            Passage(one.text, id=one.id, metadata=self._metadata) if self._metadata else one
            for one in ranked
        ]
        event = Event(f"{self._reports}", query, response, reporter=reporter)
        found = self._events.attribute(event)
        self._events.quarantine(event, found)
        return found

    def holds(self, text: str) -> bool:
        """Return whether a text is in quarantine."""
        return content_key(text) in self.store.quarantine_keys()
