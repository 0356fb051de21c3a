"""What is searched for an event, and in which order.

No passage taught the generator anything that it has not read, so what it read comes first. What the
filter drops comes last: texts planted above the one that it lets through would else be searched in
its place. Where that explains nothing, the order is the search's own: an answer may be older than
the filter, or come from a system without one.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from ragguard.attribution.result import Retrieve
from ragguard.audit.records import AuditStore, Event
from ragguard.content import content_keys
from ragguard.inline.marks import shows_one
from ragguard.passage import Passage, as_passages
from ragguard.recent_passages import RecentPassages

_RANKS = 50  # in which what was read is put first


@dataclass(eq=False)
class EventSearch:
    """The searches over a knowledge base, or without one over an event's own passages.

    What is in quarantine is left out, and as many more are asked for. Of what a report hands in
    only that counts as read which the search finds, and this guard has let through, if it knows.

    Attributes:
        met: The content keys of what was left out so far.
    """

    event: Event
    retrieve: Retrieve | None
    store: AuditStore
    seen: RecentPassages
    met: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._read = set[str]()
        if self.retrieve is not None:
            # Not above: a guard that only filters searches no knowledge base.
            from ragguard.attribution.search import of_tenant

            self.retrieve = of_tenant(self.retrieve, self.event.tenant)
            self._held = _held(self.store, self.event)
            self._read = _read(self.event, self.seen)

    def in_order(self, query: str, limit: int) -> list[Passage]:
        """Search as the retriever ranks."""
        if self.retrieve is None:
            return list(self.event.passages[:limit])
        held, asked, known = self._held, limit, -1
        while True:
            page = as_passages(self.retrieve(query, asked))[:asked]
            keys = content_keys([one.text for one in page]) if held else [""] * len(page)
            self.met.update(held & set(keys))
            free = [one for one, key in zip(page, keys, strict=True) if key not in held]
            if len(free) >= limit or len(page) < asked or len(page) <= known:
                return free[:limit]
            known = len(page)
            asked = limit + 2 * (len(page) - len(free))

    def read_first(self, query: str, limit: int) -> list[Passage]:
        """Search for what was read, and then for all else, last what the filter drops."""
        read = self._read
        page = self.in_order(query, max(limit, _RANKS) if read else limit)
        first = [one.text for one in page[:_RANKS]] if read else []
        keys = content_keys(first)
        if read.isdisjoint(keys):
            return page[:limit]
        places = [
            0 if key in read else 1 + shows_one(self.event.query, text)
            for key, text in zip(keys, first, strict=True)
        ]
        order = sorted(range(len(places)), key=places.__getitem__)
        return [*(page[at] for at in order), *page[_RANKS:]][:limit]

    def is_reordered(self, k: int) -> bool:
        """Return True if the filter drops one of the first k that the retriever ranks."""
        if not self._read:
            return False
        first = self.in_order(self.event.query, k)
        return any(shows_one(self.event.query, passage.text) for passage in first)


def _read(event: Event, seen: RecentPassages) -> set[str]:
    texts = [one.text for one in event.passages]
    passed = [one for one in texts if seen.has_passed(one, event.tenant) is not False]
    return set(content_keys(passed))


def _held(store: AuditStore, event: Event) -> Set[str]:
    store = store.of_tenant(event.tenant or None)
    held = store.quarantine_keys()
    if event.attempts > 1 and held:
        # An attempt that broke off may have quarantined what this one must find again.
        held -= {one.key for one in store.quarantine() if one.event_id == event.id}
    return held
