"""What is searched for an event: nothing that is held already, and first what was read."""

from __future__ import annotations

from collections.abc import Sequence, Set

from ragguard.attribution.result import Retrieve
from ragguard.audit.records import Event
from ragguard.content import content_key, content_keys
from ragguard.inline.marks import shows_one
from ragguard.passage import Passage, as_passages
from ragguard.recent_passages import RecentPassages

_RANKS = 50  # in which what was read is put first


def unquarantined(retrieve: Retrieve, held: Set[str], met: set[str]) -> Retrieve:
    """Return a search for what is not held, which asks for as many more as it left out.

    The keys of what it meets and leaves out are put into `met`.
    """

    def search(query: str, limit: int) -> list[Passage]:
        asked, known = limit, -1
        while True:
            page = as_passages(retrieve(query, asked))[:asked]
            keys = content_keys([one.text for one in page]) if held else [""] * len(page)
            met.update(held & set(keys))
            free = [one for one, key in zip(page, keys, strict=True) if key not in held]
            if len(free) >= limit or len(page) < asked or len(page) <= known:
                return free[:limit]
            known = len(page)
            asked = limit + 2 * (len(page) - len(free))

    return search


def read_first(search: Retrieve, event: Event, seen: RecentPassages | None) -> Retrieve:
    """Return a search for what the generator has read, and last for what the filter drops.

    No passage taught it anything that it has not read. Texts that the filter drops, planted above
    the one that it lets through, would otherwise be searched in its place. Of what a report hands
    in only that counts which the search finds, and this guard has let through, if it knows.
    """
    passed = [
        one.text
        for one in event.passages
        if seen is None or seen.has_passed(one.text, event.tenant) is not False
    ]
    read = set(content_keys(passed))

    def place(passage: Passage) -> int:
        return 0 if content_key(passage.text) in read else 1 + shows_one(event.query, passage.text)

    def search_read_first(query: str, limit: int) -> Sequence[Passage]:
        page = search(query, max(limit, _RANKS) if read else limit)
        places = [place(one) for one in page[:_RANKS]] if read else []
        if 0 not in places:
            return page[:limit]
        order = sorted(range(len(places)), key=places.__getitem__)
        return [*(page[at] for at in order), *page[_RANKS:]][:limit]

    return search_read_first
