"""From a report to its event, and how an answer is known again when somebody reports it.

What a report says is of any length, so each part of an event has a limit. A question and a
response keep both of their ends, where most is asked and claimed. A passage, and its metadata, is
kept whole or left out: quarantine names the whole text, and a part of it would name nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from numbers import Real

from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.records import ANSWER_DAY, Answer, AuditStore, Event
from ragguard.errors import InvalidInputError
from ragguard.passage import Passage, text_digest
from ragguard.recent_passages import light
from ragguard.text import both_ends

MAX_QUERY, MAX_RESPONSE, MAX_REPORTER = 4_000, 16_000, 200
"""Characters of an event's query, of its response, and of a reporter's name."""
MAX_PASSAGES = 50
"""Passages of an event."""
MAX_PASSAGE, MAX_TOGETHER = 50_000, 200_000
"""Characters of one passage and its id, and of all passages of an event with theirs."""

NO_TEXT = "and no text; pass a str, or a message whose content is text"

_SAME_S = 3600


def said(name: str, given: object) -> str:
    """Return a question or an answer, a str or what a message or response of a framework holds."""
    if isinstance(given, str):
        return str.__str__(given)  # a subclass may compare and read as it likes
    from ragguard.attribution.model_calls import read_answer

    try:
        answers = (given, getattr(given, "response", None))  # LlamaIndex's engines have the latter
        text = next((read for read, _ in map(read_answer, answers) if read is not None), None)
    except Exception:  # whatever its attributes raise
        text = None
    if text is None:
        raise InvalidInputError(f"{name}: a {type(given).__name__}, {NO_TEXT}")
    return str.__str__(text)


def said_or_type(name: str, given: object, unread: list[str]) -> str:
    """Return what `said` returns, or of a number its digits; else the type, and why to `unread`.

    What is blank is returned as well; why it is nothing to attribute goes to `unread`.
    """
    try:
        with suppress(ValueError):  # an int of 5,000 digits
            given = str(given) if isinstance(given, Real) else given
        text = said(name, given)
    except InvalidInputError as error:
        unread.append(str(error))
        return f"<{type(given).__name__}>"
    if not text.strip():
        unread.append(f"{name}: blank, {NO_TEXT}")
    return text


def as_text(given: object) -> str:
    """Return the `str()` of anything, or where that fails its type."""
    try:
        # Not a str with methods of its own, and of a member of an enumeration its value.
        return str.__str__(given if isinstance(given, str) else str(given))
    except Exception:  # whatever its __str__ raises: an int of 5,000 digits has none
        return f"<{type(given).__name__}>"


def as_event(
    query: str,
    response: str,
    passages: Sequence[Passage],
    reporter: str | None,
    *,
    quarantine_version: int,
    tenant: str = "",
    unread: Sequence[str] = (),
) -> Event:
    """Return the event that a report is part of; `Event.cut` says what was left out of it.

    A reporter's reports of the same claim have the same id, in every process, and so become one
    event: the same query and response, but for case and white space, over the same passages in
    any order, within one hour of the clock, while the quarantine stays what it is. After a change
    of it, or later on, a search may find something else. What others, or other tenants, claim is an
    event of theirs: it must not share the limits of whoever was faster, and a quorum counts it.
    `unread` says in words what of the report could not be read.
    """
    cut = [*unread]
    query = _ends("query", query, MAX_QUERY, cut)
    response = _ends("response", response, MAX_RESPONSE, cut)
    if reporter is not None:
        # A blank is no name: a quorum would else count two who have none.
        reporter = _ends("reporter", reporter, MAX_REPORTER, cut) if reporter.strip() else None
    kept = _fitting(passages, cut)
    hour = int(time.time() // _SAME_S)
    texts = [" ".join(text.casefold().split()) for text in (query, response)]
    texts += sorted([passage.text for passage in kept])
    lengths = " ".join([str(len(text)) for text in texts])  # or two texts could be cut elsewhere
    lane = lane_of(reporter, tenant)
    claim = "".join([f"{hour} {quarantine_version} {lane}\n{lengths}\n", *texts])
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
        kept.append(light(passage))
        without += kept[-1] is not passage
    if len(kept) < len(passages):
        cut.append(f"passages: all but {len(kept)}")
    if without:
        cut.append(f"metadata: of {without} passages")
    return tuple(kept)


def answer_of(query: str, response: str, passages: Sequence[Passage], key: bytes) -> Answer:
    """Return the hashes of an answer, under a key of 32 bytes."""
    texts = [" ".join(text.casefold().split()) for text in (query, response)]
    # The length says where the question ends.
    given = f"{len(texts[0])}\n{texts[0]}{texts[1]}".encode("utf-8", "surrogatepass")
    # The very texts: where a question mark stands is a mark of an attack, and no part of a key.
    seen = {text_digest(passage.text) for passage in passages}
    return Answer(
        blake2b(given, digest_size=16, key=key).hexdigest(),
        frozenset(blake2b(one, digest_size=8, key=key).hexdigest() for one in seen),
    )


def was_given(store: AuditStore, event: Event) -> bool:
    """Return whether `Guard.answered` recorded an event's answer in the day before.

    It may name fewer passages than the generator saw, and none that it did not see.
    """
    mine = store.of_tenant(event.tenant or None)
    told = answer_of(event.query, event.response, event.passages, mine.answer_key())
    given = mine.answers(told.digest, since=event.created_at - ANSWER_DAY)
    return any(told.passages <= one.passages for one in given)
