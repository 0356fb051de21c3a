"""What was refused at admission, as proposals to a person.

Whoever plants a text may end it in what honest pages say as well: a licence, a footer, a notice on
cookies. Once it is confirmed, copies of it are recognised by its parts, so by what no admitted
passage says.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from itertools import islice

import numpy as np

from ragguard.admission.judging import Admission
from ragguard.audit.quarantine import QuarantineEntry, QuarantineStore
from ragguard.content import content_key
from ragguard.inline.fingerprints import fingerprints, said_elsewhere, signature
from ragguard.passage import Passage

logger = logging.getLogger(__name__)

MOST_WAITING = 10_000
"""Proposals that may wait for a person before no more are added."""

_AT_ONCE = 2_000  # for which what was admitted is read once


def propose(
    store: QuarantineStore,
    found: Iterable[tuple[Admission, Passage]],
    beside: Callable[[], Iterable[str]] = tuple,
) -> int:
    """Put what was refused to a person, and return how many are new to the store.

    What the store knows already stays as it is: what a person has decided above all. Where
    `MOST_WAITING` proposals wait, more are not added, and the log says so: a later call adds them.

    Args:
        store: Where proposals are kept.
        found: What `judged` says of passages.
        beside: Returns the texts that were admitted with them, anew each time.

    Raises:
        StoreError: The store fails.
    """
    refused = (one for one in found if one[0].status == "refused")
    if not (part := list(islice(refused, _AT_ONCE))):
        return 0
    room, new = MOST_WAITING - store.quarantine_counts().get("proposed", 0), 0
    while part and new < room:
        now, later = part[: room - new], part[room - new :]
        new += store.add_quarantine(_entries(now, beside))  # what is known takes no room
        part = later or list(islice(refused, _AT_ONCE))
    if left_out := len(part) + sum(1 for _ in refused):
        logger.error(
            "%d proposals wait for a person, so %d refused passages are not proposed; decide with "
            "`ragguard quarantine confirm` and `reject`, and scan again",
            *(MOST_WAITING, left_out),
        )
    return new


def _entries(
    refused: list[tuple[Admission, Passage]], beside: Callable[[], Iterable[str]]
) -> list[QuarantineEntry]:
    # One by one: all of their letters may take a gigabyte.
    own = [fingerprints([passage.text]).distinct(0) for _, passage in refused]
    said = said_elsewhere(np.unique(np.concatenate(own)), beside(), lambda _: True)
    return [
        QuarantineEntry(
            key=content_key(passage.text),
            passage_id=passage.id,
            text=passage.text,
            reason=f"refused at admission: {'; '.join(admission.reasons)}",
            status="proposed",
            signature=signature(passage.text, said=said) if len(said) else None,
        )
        for admission, passage in refused
    ]
