"""What a guard takes besides queries: reports, passages to index, and what a person decides."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING

from ragguard.arguments import require_tenant
from ragguard.attribution.result import Attribution
from ragguard.audit.allowing import Allowance
from ragguard.audit.decisions import Target
from ragguard.audit.quarantine import QuarantineEntry
from ragguard.parts import Parts
from ragguard.passage import Passage, as_passages

if TYPE_CHECKING:
    from ragguard.admission import Admission, Base

__all__ = ["Feedback"]


class Feedback:
    """The methods of a `Guard` that take reports, and a person's decisions about them.

    `target` names one accused passage: its entry, the passage, its key, the beginning of that, or
    the passage's id. `tenant` says whose it is, None the default one: a tenant sees and changes its
    own, and nothing of any other. These methods ask the store, and wait for it.
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

    def proposals(self, *, tenant: str | None = None) -> list[QuarantineEntry]:
        """Return what attributions accuse and a person must look at, newest first.

        Raises:
            StoreError: The store fails.
        """
        return self._parts.decisions(tenant).proposals()

    def confirm(
        self, target: Target, *, actor: str | None = None, tenant: str | None = None
    ) -> QuarantineEntry:
        """Say that a passage is an attack: it is dropped from now on, until it is released.

        Raises:
            InvalidInputError: `target` names several entries.
            QuarantineNotFoundError: It names none.
            StoreError: The store fails.
        """
        return self._parts.decisions(tenant).decide(target, status="confirmed", actor=actor)[0]

    def reject(
        self, target: Target, *, actor: str | None = None, tenant: str | None = None
    ) -> QuarantineEntry:
        """Say that a proposed passage is no attack: no report proposes it again.

        Raises:
            InvalidInputError: `target` names several entries, or one that is not proposed.
            QuarantineNotFoundError: It names none.
            StoreError: The store fails.
        """
        return self._parts.decisions(tenant).decide(target, status="rejected", actor=actor)[0]

    def release(
        self, target: Target, *, actor: str | None = None, tenant: str | None = None
    ) -> QuarantineEntry:
        """Say that a passage in quarantine is no attack: it is allowed from now on.

        Raises:
            InvalidInputError: `target` names several entries.
            QuarantineNotFoundError: It names none.
            StoreError: The store fails.
        """
        return self._parts.decisions(tenant).decide(target, status="released", actor=actor)[0]

    def allow(
        self,
        passage_or_source: Passage | str,
        *,
        why: str,
        until: datetime | None = None,
        actor: str | None = None,
        tenant: str | None = None,
    ) -> Allowance:
        """Let a passage, or all that a source says, through from now on.

        It wins over filter and quarantine: an allowed passage is never dropped, and no report puts
        it into quarantine.

        Args:
            passage_or_source: A passage; a text; the name that `metadata["source"]` gives to the
                passages of a source; or the 32 hex digits of a `content_key`.
            why: The reason, for whoever looks at the list later.
            until: When it ends; UTC unless it says else. None: when somebody disallows it.
            actor: Who says so.
            tenant: For whom.

        Raises:
            InvalidInputError: It is none of these, `why` says nothing, or `until` is over.
            StoreError: The store fails.
        """
        return self._parts.decisions(tenant).allow(
            passage_or_source, why=why, until=until, actor=actor
        )

    def protect(
        self,
        passage_or_source: Passage | str,
        *,
        why: str,
        until: datetime | None = None,
        actor: str | None = None,
        tenant: str | None = None,
    ) -> Allowance:
        """Have a passage, or what a source says, quarantined by a person only; else as `allow`.

        The filter judges it as any other.

        Raises:
            InvalidInputError: As `allow`.
            StoreError: The store fails.
        """
        return self._parts.decisions(tenant).allow(
            passage_or_source, why=why, until=until, actor=actor, effect="protected"
        )

    def disallow(
        self,
        passage_or_source: Passage | str,
        *,
        actor: str | None = None,
        tenant: str | None = None,
    ) -> list[Allowance]:
        """Take back `allow` and `protect`, and a release; return what has ended.

        Raises:
            AllowanceNotFoundError: It is not on the list.
            InvalidInputError: As `allow`.
            StoreError: The store fails.
        """
        return self._parts.decisions(tenant).disallow(passage_or_source, actor=actor)

    def allowed(self, *, tenant: str | None = None) -> list[Allowance]:
        """Return what is allowed or protected, newest first, with what was released.

        Raises:
            StoreError: The store fails.
        """
        return self._parts.decisions(tenant).allowed()

    def undo(
        self,
        *,
        event: str | None = None,
        reporter: str | None = None,
        since: datetime | None = None,
        actor: str | None = None,
        tenant: str | None = None,
    ) -> list[QuarantineEntry]:
        """Take back proposals, and what went into quarantine and nobody has confirmed.

        It is as if nobody had reported them, but what is reported anew is only proposed.

        Args:
            event: Only what this event's attribution accused last.
            reporter: Only what rests on this reporter's word, alone or with others.
            since: Only what was accused or came into force since then; UTC unless it says else.
            actor: Who undoes it.
            tenant: For whom.

        Returns:
            The entries as they are now.

        Raises:
            InvalidInputError: None of the first three is given.
            StoreError: The store fails.
        """
        return self._parts.decisions(tenant).undo(
            event=event, reporter=reporter, since=since, actor=actor
        )
