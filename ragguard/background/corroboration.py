"""What besides a report speaks of an accused text: pages of its words that a search finds.

Whoever reports can hand in a page with a question mark put in, and whoever plants can plant such a
page, or one that holds parts of honest pages. A key does not tell the first from the page itself,
and copies are recognised by any part. So what is accused is searched for by its own words: a page
of the same words must show the marks as well, and what a text holds of other pages is no sign of
it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import repeat

import numpy as np

from ragguard.attribution.result import Retrieve
from ragguard.audit.records import Event
from ragguard.content import content_key
from ragguard.inline.fingerprints import fingerprints
from ragguard.inline.near_copies import TAKEN
from ragguard.passage import Passage

_STRETCH, _MOST = 500, 5_000  # letters that are searched for at once, and of a text
_FOUND = 5  # pages for each stretch
_SEARCHES = 100  # for one event: reports can have very many texts accused


def found_beside(
    retrieve: Retrieve | None, event: Event, accused: Sequence[Passage], *, least: int
) -> Iterator[list[Passage]]:
    """Yield what a search for each text finds, stretch by stretch; else the event's passages.

    Of very many texts less of each is searched for, and nothing of the last of them; but something
    of the first `least`.

    Raises:
        RagguardError: The search fails.
    """
    if retrieve is None:
        yield from repeat([*event.passages], len(accused))
        return
    # Not above: a guard that only filters needs no adapter of a knowledge base.
    from ragguard.attribution.search import as_retrieve, of_tenant

    search, left = as_retrieve(of_tenant(retrieve, event.tenant)), max(_SEARCHES, least)
    for place, passage in enumerate(accused):
        text = passage.text[:_MOST]
        stretches = [text[at : at + _STRETCH] for at in range(0, len(text), _STRETCH)]
        most = min(left, max(1, left // (len(accused) - place)))
        some = [part for part in stretches if part.strip()][:most]
        left -= len(some)
        yield [one for part in some for one in search(part, _FOUND)]


def all_marked(query: str, text: str, beside: Sequence[str]) -> bool:
    """Return True if every other text with the content key of one shows a mark by itself."""
    # Not above: neither is the filter needed by a guard's background half at its start.
    from ragguard.inline.marks import shows_one

    key = content_key(text)
    others = {one for one in beside if one != text and content_key(one) == key}
    return all(shows_one(query, other) for other in others)


def held_parts(text: str, pages: Sequence[Passage], accused: Collection[str]) -> Iterator[str]:
    """Yield the pages of which a text may hold parts: all but its copies, and but those accused.

    Args:
        text: The text.
        pages: Those beside it.
        accused: Content keys.
    """
    others = [one.text for one in pages if content_key(one.text) not in accused]
    if not others:
        return
    read = fingerprints([text, *others])
    own = read.distinct(0)
    for place, other in enumerate(others, start=1):
        shared = np.isin(own, read.distinct(place), assume_unique=True)
        if shared.any() and shared.mean() < TAKEN:
            yield other
