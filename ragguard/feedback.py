"""What a guard takes besides queries: answers, reports of them, and passages to index."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

from ragguard.arguments import require_tenant
from ragguard.attribution.result import Attribution
from ragguard.parts import Parts
from ragguard.passage import Passage, as_passages

if TYPE_CHECKING:
    from ragguard.admission import Admission, Base


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

        Returns:
            One `ragguard.admission.Admission` a passage, in order: its status "admitted", "review"
            or "refused", the p-value and the reasons.

        Raises:
            CalibrationError: The base cannot be read.
            InvalidInputError: An argument is of the wrong type or out of range.
            StoreError: The store fails.
        """
        from ragguard.admission import admit, as_base, propose

        given, parts, whose = as_passages(passages), self._parts, require_tenant(tenant)
        found = admit(given, as_base(base), alpha=alpha, held=parts.quarantine.held(whose))
        propose(parts.store.of_tenant(tenant), zip(found, given, strict=True))
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
            query: The user's question.
            response: What the system answered, as a report will quote it; case and white space do
                not matter.
            passages: What the generator saw; None means what this guard last let through for the
                query, if it remembers.
            tenant: Whose answer it was.

        Raises:
            InvalidInputError: An argument is of the wrong type.
            StoreError: The store fails.
        """
        self._parts.reports.answered(query, response, passages, tenant)

    async def aanswered(
        self,
        query: str,
        response: str,
        *,
        passages: Sequence[str | Passage] | None = None,
        tenant: str | None = None,
    ) -> None:
        """Do what `answered` does, without blocking the event loop."""
        await asyncio.to_thread(self.answered, query, response, passages=passages, tenant=tenant)

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

        The same claim, the same query and response over the same passages, is one event for an
        hour, however often it is reported: it is counted, and the same id is returned.

        Args:
            query: The user's question.
            response: What the system answered.
            passages: What the generator saw, best first; None means what this guard last let
                through for the query, if it remembers.
            reporter: Who flags it. Reporters share the attribution fairly; those who are not named
                count as one.
            wait: True to return once the event is in the store, within 10 seconds, and to raise
                if it is not; or so many seconds.
            tenant: Whose answer it was.

        Returns:
            The id of the event, for `attribution`.

        Raises:
            EventLostError: With `wait`: the event is lost.
            InvalidInputError: `wait` is neither a bool nor a number of seconds, or `tenant` is no
                name.
            StoreError: With `wait`: the store does not have the event yet. It goes on waiting in
                memory.
        """
        return self._parts.reports.take(query, response, passages, reporter, wait, tenant)

    def attribution(
        self, event_id: str, timeout: float | None = None, *, tenant: str | None = None
    ) -> Attribution:
        """Return the attribution of an event.

        Args:
            event_id: What `report` returned, in this process or another one on the same store.
            timeout: Seconds to wait for it; None does not wait.
            tenant: For whom it was reported.

        Raises:
            AttributionPendingError: It is not finished, and `timeout` is None.
            AttributionTimeoutError: It did not finish within `timeout`.
            EventFailedError: Attributing failed for good; the message holds the cause.
            EventLostError: It was reported by this guard and lost; the message says why.
            EventNotFoundError: There is no such event.
        """
        return self._parts.reports.attribution(event_id, timeout, tenant)
