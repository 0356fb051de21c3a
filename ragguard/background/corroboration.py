"""What besides a report speaks of an accused text: pages of its words that a search finds.

Whoever reports can hand in a page with a question mark put in, and whoever plants can plant such a
page, or one that holds parts of honest pages. A key does not tell the first from the page itself,
and copies are recognised by any part. So what is accused is searched for by its own words: a page
of the same words must show the marks as well, and what a text holds of other pages is no sign of
it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.result import Retrieve
from ragguard.audit.records import Event
from ragguard.content import content_key
from ragguard.inline.fingerprints import NONE, fingerprints, said_elsewhere, signed_part
from ragguard.inline.near_copies import TAKEN
from ragguard.passage import Passage
from ragguard.recent_passages import RecentPassages

_STRETCH, _MOST = 500, 10  # letters that are searched for at once, and how many stretches of a text
_NEW = 0.25  # of a stretch's fingerprints, that one is searched for
_FOUND = 20  # pages for each stretch, beside those accused
_SEARCHES = 100  # for one event: reports can have very many texts accused
# What a search may take for an order, or refuse; a planted text is asked for by its words.
_NO_WORDS = re.compile(r"[\x00-\x1f!-/:-@\[-`{-\x7f\ud800-\udfff]+")


def found_beside(
    retrieve: Retrieve | None, event: Event, accused: Sequence[Passage], *, least: int
) -> Iterator[tuple[str, list[Passage]]]:
    """Yield what was searched for of each text, and what was found; else the event's passages.

    Of a long text stretches are searched for that are spread over all of it. Of very many texts it
    is less of each, and nothing of the last of them; but something of the first `least`. What was
    not searched for may be any page's, so copies are not to be known by it.

    Raises:
        RagguardError: The search fails.
    """
    if retrieve is None:
        yield from ((one.text, [*event.passages]) for one in accused)
        return
    # Not above: a guard that only filters needs no adapter of a knowledge base.
    from ragguard.attribution.search import as_retrieve, of_tenant

    search, left = as_retrieve(of_tenant(retrieve, event.tenant)), max(_SEARCHES, least)
    for place, passage in enumerate(accused):
        most = min(left, _MOST, max(1, left // (len(accused) - place)))
        stretches = _stretches(passage.text) if most else []
        count = min(most, len(stretches))
        last = (len(stretches) - 1) / max(1, count - 1)
        some = [stretches[round(at * last)] for at in range(count)]
        left -= count
        # Those accused are found first: they must not take the places of the others.
        limit = _FOUND + min(len(accused), _SEARCHES)
        found = [one for part in some for one in search(_NO_WORDS.sub(" ", part).strip(), limit)]
        yield "".join(some), found


def _stretches(text: str) -> list[str]:
    """Return the stretches of what a signature reads of a text, without those that repeat others.

    What is said again and again has no more fingerprints than what is said once, so that it must
    not take more of the search either.
    """
    read = signed_part(text)
    parts = [read[at : at + _STRETCH] for at in range(0, len(read), _STRETCH)]
    parts = [part for part in parts if part.strip()]
    marks, kept = fingerprints(parts), []
    said = NONE
    for place, part in enumerate(parts):
        own = marks.distinct(place)
        new = np.setdiff1d(own, said, assume_unique=True)
        if not said.size or len(new) > _NEW * len(own):
            kept.append(part)
            said = np.union1d(said, new)
    return kept


def all_marked(query: str, text: str, beside: Sequence[str]) -> bool:
    """Return True if every other text with the content key of one shows a mark by itself."""
    # Not above: neither is the filter needed by a guard's background half at its start.
    from ragguard.inline.marks import shows_one

    key = content_key(text)
    others = {one for one in beside if one != text and content_key(one) == key}
    return all(shows_one(query, other) for other in others)


def held_parts(
    query: str, text: str, pages: Sequence[Passage], accused: Collection[str]
) -> Iterator[str]:
    """Yield the pages of which a text may hold parts: all but those accused, and marked copies.

    A page that has nearly all of the text, and shows no mark of attack, is one that was copied.

    Args:
        query: The event's query.
        text: The text.
        pages: Those beside it.
        accused: Content keys.
    """
    # Not above: neither is the filter needed by a guard's background half at its start.
    from ragguard.inline.marks import shows_one

    others = [one.text for one in pages if content_key(one.text) not in accused]
    if not others:
        return
    read = fingerprints([text, *others])
    own = read.distinct(0)
    for place, other in enumerate(others, start=1):
        shared = np.isin(own, read.distinct(place), assume_unique=True)
        if shared.any() and (shared.mean() < TAKEN or not shows_one(query, other)):
            yield other


def said_lately(
    seen: RecentPassages | None, event: Event, accused: Mapping[str, Passage]
) -> NDArray[np.uint32]:
    """Return which fingerprints of the accused, by content key, pages say that were let through.

    A search answers so many pages and no more, and those planted beside an accused text may come
    first. What shows a mark of attack is no such page.
    """
    if seen is None:
        return NONE
    # Not above: neither is the filter needed by a guard's background half at its start.
    from ragguard.inline.marks import shows_one

    own = np.unique(fingerprints([one.text for one in accused.values()]).hashes)
    return said_elsewhere(
        own,
        seen.texts(event.tenant),
        lambda text: content_key(text) not in accused and not shows_one(event.query, text),
    )
