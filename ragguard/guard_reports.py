"""What a guard takes besides queries: answers, reports of them, and passages to index."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from numbers import Real
from os import PathLike
from types import NoneType
from typing import TYPE_CHECKING

from ragguard.arguments import require_tenant, require_text
from ragguard.attribution.result import Attribution
from ragguard.background.reports import (
    MAX_PASSAGES,
    answer_of,
    as_event,
    as_text,
    said,
    said_or_type,
)
from ragguard.errors import (
    AttributionPendingError,
    AttributionTimeoutError,
    EventFailedError,
    EventNotFoundError,
    InvalidInputError,
    StoreError,
)
from ragguard.guard_parts import Parts
from ragguard.passage import NO_SEQUENCES, Passage, as_passages
from ragguard.text import printable

if TYPE_CHECKING:
    from ragguard.admission import Admission, Base

logger = logging.getLogger(__name__)

_DURABLE_S = 10.0
_CHARS = 300  # of why passages cannot be read, which others word


class Feedback:
    """The methods of a `Guard` that take reports, and passages before they are searchable.

    `tenant` says whose they are, None the default one: a tenant sees and changes its own, and
    nothing of any other.
    """

    _parts: Parts

    def admit(
        self,
        passages: Sequence[str | Passage],
        *,
        base: Base | str | PathLike[str] | None = None,
        alpha: float = 0.001,
        tenant: str | None = None,
    ) -> list[Admission]:
        """Judge passages before they are searchable: index those that are not refused.

        What is refused is proposed to a person (`proposals`, `confirm`, `reject`). `ragguard scan`
        judges whole files.

        Args:
            passages: A batch that is to be indexed. Bursts show within a batch alone.
            base: The knowledge base that they join: what `ragguard scan --save-base` wrote, or a
                `ragguard.admission.Base`. None if they are all of it; fewer than 200 passages are
                then compared with clean passages of other knowledge bases.
            alpha: Share of clean passages that may be refused, in (0, 1).
            tenant: Whose knowledge base it is.

        Raises:
            CalibrationError: The base cannot be read.
            InvalidInputError: An argument is of the wrong type or out of range.
            StoreError: The store fails.
        """
        from ragguard.admission import admit, as_base, propose

        given, parts, whose = as_passages(passages), self._parts, require_tenant(tenant)
        found = admit(given, as_base(base), alpha=alpha, held=parts.quarantine.held(whose))
        judged = list(zip(found, given, strict=True))
        propose(
            parts.store.of_tenant(tenant),
            judged,
            lambda: (passage.text for one, passage in judged if one.status == "admitted"),
        )
        return found

    def answered(
        self,
        query: str,
        response: str,
        *,
        passages: Sequence[str | Passage] | None = None,
        tenant: str | None = None,
    ) -> None:
        """Record that the system gave an answer, for policies that take reports of such ones only.

        Of the texts nothing is kept but hashes under a key of the store. An answer may be reported
        for a day. Call it when the answer is out; it waits for the store.

        Args:
            query: The user's question: a str, or a message whose content is text.
            response: What the system answered, as a report will quote it, but for case and space:
                a str, a message, or what a query engine of LlamaIndex returned.
            passages: What the generator saw; None means what this guard last let through for the
                query, if it remembers.
            tenant: Whose answer it was.

        Raises:
            InvalidInputError: An argument is of the wrong type.
            StoreError: The store fails.
        """
        whose, seen = require_tenant(tenant), self._parts.seen
        query, response = said("query", query), said("response", response)
        given = seen.recall(query, whose) if passages is None else as_passages(passages)
        seen.remember(query, given, whose, response)
        # As the event of a report has them: what is too long is cut.
        event = as_event(query, response, given, None, quarantine_version=0, tenant=whose)
        store = self._parts.store.of_tenant(tenant)
        key = store.answer_key()
        store.add_answer(answer_of(event.query, event.response, event.passages, key))

    async def aanswered(
        self,
        query: str,
        response: str,
        *,
        passages: Sequence[str | Passage] | None = None,
        tenant: str | None = None,
    ) -> None:
        """Do what `answered` does, without blocking the event loop."""
        run = self._parts.answering.run
        await run(self.answered, query, response, passages=passages, tenant=tenant)

    def report(
        self,
        query: str,
        response: str,
        *,
        passages: Sequence[str | Passage] | None = None,
        reporter: str | None = None,
        wait: bool | float = False,
        tenant: str | None = None,
    ) -> str:
        """Flag a response as wrong; its attribution runs in the background.

        A report is a claim: what its attribution may do is up to the guard's `policy`. Whoever may
        report can aim at a page, so do not take reports of people that you do not know.

        Returns at once and does not raise, whatever the store does, unless told to wait. **The id
        is not durable then**: if the process dies in the next moments, or if more reports come than
        the store takes, the event is lost. What is lost is counted (`reports_lost` in the store's
        counters), logged, and `attribution` says so. A reporter who floods loses their own reports,
        not those of others.

        What is no text is kept as the name of its type, and not attributed, for a reason that says
        what to pass; passages that cannot be read are left out, as `Event.cut` says. The same claim
        of a reporter, the same query and response over the same passages, is one event for an
        hour: it is counted, and the same id is returned.

        Args:
            query: The user's question, as for `answered`; or a number.
            response: What the system answered, likewise.
            passages: What the generator saw, best first; None means what this guard last let
                through for the query, if it remembers.
            reporter: Who flags it, by its `str()`. Reporters share the attribution fairly; those
                who are not named, or by a blank, count as one.
            wait: True to return once the event is in the store, within 10 seconds, and to raise
                if it is not; or so many seconds.
            tenant: Whose answer it was.

        Returns:
            The id of the event, for `attribution`.

        Raises:
            EventLostError: With `wait`: the event is lost.
            InvalidInputError: `wait` is neither a bool nor seconds, or `tenant` is no name.
            StoreError: With `wait`: the store does not have the event yet, which waits in memory.
        """
        if not isinstance(wait, (bool, int, float)) or not wait >= 0:
            raise InvalidInputError(f"wait must be True, False or seconds, not {wait!r}")
        parts, whose = self._parts, require_tenant(tenant)
        unread: list[str] = []
        query = said_or_type("query", query, unread)
        response = said_or_type("response", response, unread)
        seen: Sequence[Passage] = parts.seen.recall(query, whose, response)
        if passages is not None:
            try:
                # No more than the event may have, and one to tell that there were more.
                whole = isinstance(passages, NO_SEQUENCES) or not isinstance(passages, Iterable)
                some = passages if whole else islice(passages, MAX_PASSAGES + 1)
                seen = as_passages(some)
            except Exception as error:  # a lazy sequence may raise anything
                unread.append(f"passages: {printable(as_text(error)[:_CHARS])}")
        event = as_event(
            query,
            response,
            seen,
            None if reporter is None else as_text(reporter),
            quarantine_version=parts.quarantine.version,
            tenant=whose,
            unread=unread,
        )
        for what in unread:
            logger.warning("event %s goes without the reported %s", event.id, what)
        parts.worker.submit(event)
        if wait is not False:
            seconds = _DURABLE_S if wait is True else min(wait, threading.TIMEOUT_MAX)
            if not parts.worker.outbox.wait_saved(event, seconds):
                raise StoreError(
                    f"event {event.id} was not in the audit store after {seconds:g} s; it waits in "
                    "memory, and is stored once the store answers if this process lives"
                )
        return event.id

    def attribution(
        self, event_id: str, timeout: float | None = None, *, tenant: str | None = None
    ) -> Attribution:
        """Return the attribution of an event, reported here or elsewhere on the same store.

        It waits for it for `timeout` seconds; None does not wait, nor does a closed guard.

        Raises:
            InvalidInputError: An argument is of the wrong type.
            AttributionPendingError: It is not finished, and `timeout` is None.
            AttributionTimeoutError: It did not finish within `timeout`.
            EventFailedError: Attributing failed for good; `retry` has it tried again.
            EventLostError: It was reported by this guard and lost; the message says why.
            EventNotFoundError: There is no such event.
        """
        event_id = require_text("event_id", event_id)
        if not isinstance(timeout, (Real, NoneType)) or timeout != timeout:
            raise InvalidInputError(f"timeout must be seconds or None, not {timeout!r}")
        whose, worker = require_tenant(tenant), self._parts.worker
        left = float(max(0.0, min(timeout or 0.0, threading.TIMEOUT_MAX)))
        store = self._parts.store.of_tenant(tenant)
        if worker.wait(event_id, left, tenant=whose):
            event, found = store.event(event_id), store.attribution(event_id)
            if event.status == "failed":
                raise EventFailedError(
                    f"event {event_id} could not be attributed: {event.error}; once the cause is "
                    "mended, have it tried again with `retry` or `ragguard events retry`"
                )
            if found is not None:  # or another process has just put back one that had failed
                return found
        if worker.outbox.closed:
            raise (AttributionPendingError if timeout is None else AttributionTimeoutError)(
                f"event {event_id} is not attributed yet, and this guard is closed; on a "
                "database another guard or `ragguard worker` attributes it, else report it anew"
            )
        failed = ""
        with suppress(EventNotFoundError):  # it is still on its way to the store
            if (error := store.event(event_id).error) is not None:
                failed = f", an attempt failed ({error}) and is repeated"
        if timeout is None:
            raise AttributionPendingError(
                f"event {event_id} is not attributed yet{failed}; pass timeout= to wait for it"
            )
        raise AttributionTimeoutError(
            f"event {event_id} was not attributed within {left:g} s{failed}; pass a longer "
            "timeout=, or where the store is a database start `ragguard worker --knowledge-base` "
            "on it"
        )

    def retry(self, event_id: str, *, tenant: str | None = None) -> bool:
        """Have an event attributed again that is done or has failed, for good or not.

        It is pending as if it were new, and `attribution` waits for the new result. What the
        earlier one proposed or put into quarantine stays, unless `undo(event=...)` takes it back.
        On a store that is shared, a guard without `retrieve` leaves an event without passages to a
        worker that has a knowledge base.

        Returns:
            False if its turn comes anyway, or it is being attributed; and in memory, if too many
            wait.

        Raises:
            EventLostError: It was reported by this guard and lost.
            EventNotFoundError: There is no such event.
            StoreError: The store fails.
        """
        event_id = require_text("event_id", event_id)
        worker, whose = self._parts.worker, require_tenant(tenant)
        worker.wait(event_id, 0.0, tenant=whose)  # or raise
        done: list[str] = []
        with suppress(EventNotFoundError):  # it is still on its way to the store
            done = self._parts.store.of_tenant(tenant).retry_events([event_id])
        worker.wake()
        return bool(done)
