"""From a report to its event.

What a report says is of any length, so each part of an event has a limit. A question and a
response keep both of their ends, where most is asked and claimed. A passage, and its metadata, is
kept whole or left out: quarantine names the whole text, and a part of it would name nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.records import Event
from ragguard.passage import Passage, text_digest
from ragguard.text import both_ends

MAX_QUERY = 4_000
"""Characters of an event's query."""
MAX_RESPONSE = 16_000
"""Characters of an event's response."""
MAX_REPORTER = 200
"""Characters of a reporter's name."""
MAX_PASSAGES = 50
"""Passages of an event."""
MAX_PASSAGE = 50_000
"""Characters of one passage and its id."""
MAX_TOGETHER = 200_000
"""Characters of all passages of an event, with their ids."""
MAX_METADATA = 8_000
"""Bytes in memory of one passage's metadata."""

_SAME_S = 3600


def as_event(
    query: str,
    response: str,
    passages: Sequence[Passage],
    reporter: str | None,
    *,
    quarantine_version: int,
    apart: bool = False,
    tenant: str = "",
    now: float | None = None,
) -> Event:
    """Return the event that a report is part of; `Event.cut` says what was left out of it.

    Reports of the same claim have the same id, in every process, and so become one event: the same
    query and response, but for case and white space, over the same passages, within one hour of
    the clock, while the quarantine stays what it is. After a change of it a search finds something
    else, and later on the knowledge base may be another one, so it is attributed anew.

    Args as those of `Guard.report`; `quarantine_version` as far as it is known here; `apart`,
    whether only this reporter's reports are the same claim; `now`, seconds since 1970 or None for
    the clock. Tenants have no claim in common.
    """
    cut: list[str] = []
    query = _ends("query", query, MAX_QUERY, cut)
    response = _ends("response", response, MAX_RESPONSE, cut)
    if reporter is not None:
        reporter = _ends("reporter", reporter, MAX_REPORTER, cut)
    kept = _fitting(passages, cut)
    hour = int((time.time() if now is None else now) // _SAME_S)
    texts = [" ".join(text.casefold().split()) for text in (query, response)]
    texts += [passage.text for passage in kept]
    lengths = " ".join([str(len(text)) for text in texts])  # or two texts could be cut elsewhere
    lane = f" {lane_of(reporter)}" if apart else ""
    whose = f"\t{tenant}" if tenant else ""  # whose name has no tab, nor a line break
    claim = "".join([f"{hour} {quarantine_version}{lane}{whose}\n{lengths}\n", *texts])
    return Event(
        id=text_digest(claim).hex(),
        query=query,
        response=response,
        passages=kept,
        reporter=reporter,
        cut="; ".join(cut) or None,
        tenant=tenant,
    )


def _ends(name: str, text: str, most: int, cut: list[str]) -> str:
    if len(text) <= most:
        return text
    cut.append(f"{name}: the middle of {len(text)} characters")
    return both_ends(text, most)


def _fitting(passages: Sequence[Passage], cut: list[str]) -> tuple[Passage, ...]:
    kept: list[Passage] = []
    left, without = MAX_TOGETHER, 0
    for passage in passages[:MAX_PASSAGES]:
        size = len(passage.text) + len(passage.id)
        if size > min(left, MAX_PASSAGE):
            continue
        left -= size
        is_small = _is_small(passage)
        kept.append(passage if is_small else replace(passage, metadata={}))
        without += not is_small
    if len(kept) < len(passages):
        cut.append(f"passages: all but {len(kept)}")
    if without:
        cut.append(f"metadata: of {without} passages")
    return tuple(kept)


def _is_small(passage: Passage) -> bool:
    try:
        return not passage.metadata or fits(passage.metadata, MAX_METADATA)
    except Exception:  # a mapping of the caller's may raise anything
        return False


def fits(value: object, most: int) -> bool:
    """Return whether nested mappings, lists and texts take at most so many bytes of memory.

    The time is bounded by `most` as well: every part counts for something, and what is too large
    is not walked to its end.

    >>> fits({"page": 3, "tags": ["a", "b"]}, 1_000), fits({"raw": "x" * 2_000}, 1_000)
    (True, False)
    """
    left = most
    rest: list[Any] = [value]
    while rest:
        one = rest.pop()
        left -= sys.getsizeof(one, 100)
        if left < 0:
            return False
        if isinstance(one, Mapping):
            rest.extend(part for item in one.items() for part in item)
        elif isinstance(one, (list, tuple, set, frozenset)):
            rest.extend(one)
    return True
