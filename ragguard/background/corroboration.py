"""What besides a report speaks of an accused text: pages of its words that a search finds.

Whoever reports can hand in a page with a question mark put in, and whoever plants can plant such a
page, or one that holds parts of honest pages. A key does not tell the first from the page itself,
and copies are recognised by any part. So what is accused is searched for by its own words: a page
of the same words must show the marks as well, and what a text holds of other pages is no sign of
it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from ragguard.attribution.result import Retrieve
from ragguard.audit.records import Event
from ragguard.content import content_key
from ragguard.inline.fingerprints import fingerprints
from ragguard.inline.near_copies import TAKEN
from ragguard.passage import Passage

_STRETCH, _MOST = 500, 5_000  # letters that are searched for at once, and of a text
_FOUND = 5  # pages for each stretch


def found_beside(retrieve: Retrieve | None, event: Event, passage: Passage) -> list[Passage]:
    """Return what a search for a text finds, stretch by stretch; without one the event's passages.

    Raises:
        RagguardError: The search fails.
    """
    if retrieve is None:
        return list(event.passages)
    # Not above: a guard that only filters needs no adapter of a knowledge base.
    from ragguard.attribution.search import as_retrieve, of_tenant

    search, text = as_retrieve(of_tenant(retrieve, event.tenant)), passage.text
    stretches = [text[at : at + _STRETCH] for at in range(0, min(len(text), _MOST), _STRETCH)]
    return [one for part in stretches if part.strip() for one in search(part, _FOUND)]


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
