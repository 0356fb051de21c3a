"""What a person decides about quarantine and allow-list, as a guard shows it."""

from __future__ import annotations

from datetime import datetime

from ragguard.audit.allow_list import Allowance
from ragguard.audit.by_hand import put
from ragguard.audit.decisions import Target
from ragguard.audit.quarantine import QuarantineEntry
from ragguard.guard_parts import Parts
from ragguard.passage import Passage


class Deciding:
    """The methods of a `Guard` by which a person decides about what attributions accuse.

    `target` names one accused passage: its entry, the passage, its key, the beginning of that, the
    passage's id, or its text. `tenant` says whose it is, None the default one: a tenant sees and
    changes its own, and nothing of any other. `actor` is who decides, None for this process's
    user@host, and `why` the reason; the trail keeps both. These methods ask the store, and wait
    for it.

    Raises:
        InvalidInputError: `target` names several entries, or an argument is of the wrong type.
        QuarantineNotFoundError: It names none.
        StoreError: The store fails.
    """

    _parts: Parts

    def proposals(self, *, tenant: str | None = None) -> list[QuarantineEntry]:
        """Return what attributions accuse and a person must look at, newest first."""
        return self._parts.decisions(tenant).proposals()

    def quarantine(
        self,
        passage: Passage | str,
        *,
        why: str,
        event: str | None = None,
        actor: str | None = None,
        tenant: str | None = None,
    ) -> QuarantineEntry:
        """Say that a passage, or a text, is an attack, whether or not anything accuses it.

        It is dropped from now on, until it is released. Where its source is allowed it passes all
        the same, and a warning is logged. `event` is the one that it was found with, if any: a text
        that is one of its passages takes the id of that, by which it can be removed from the
        knowledge base.

        Raises:
            EventNotFoundError: There is no such event.
            InvalidInputError: The text is blank, `why` says nothing, or an argument is of the wrong
                type.
        """
        one = passage if isinstance(passage, Passage) else Passage(passage)
        store = self._parts.store.of_tenant(tenant)
        return put(store, one, why=why, event=event, actor=actor)[0]

    def confirm(
        self,
        target: Target,
        *,
        why: str | None = None,
        actor: str | None = None,
        tenant: str | None = None,
    ) -> QuarantineEntry:
        """Say that a passage is an attack: it is dropped from now on, until it is released.

        Where its source is allowed it passes all the same, and a warning is logged.
        """
        decide = self._parts.decisions(tenant).decide
        return decide(target, status="confirmed", actor=actor, why=why)[0]

    def reject(
        self,
        target: Target,
        *,
        why: str | None = None,
        actor: str | None = None,
        tenant: str | None = None,
    ) -> QuarantineEntry:
        """Say that a proposed passage is no attack: no report proposes it again.

        Raises:
            InvalidInputError: `target` names several entries, or one that is not proposed.
        """
        decide = self._parts.decisions(tenant).decide
        return decide(target, status="rejected", actor=actor, why=why)[0]

    def release(
        self,
        target: Target,
        *,
        why: str | None = None,
        actor: str | None = None,
        tenant: str | None = None,
    ) -> QuarantineEntry:
        """Say that a passage in quarantine is no attack: it is allowed from now on."""
        decide = self._parts.decisions(tenant).decide
        return decide(target, status="released", actor=actor, why=why)[0]

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

        Named is a passage, a text, a source as `metadata["source"]` gives it, or the 32 hex digits
        of a `content_key`. It ends at `until`, in UTC unless that says else; None: when somebody
        disallows it.

        Raises:
            InvalidInputError: It is none of these, `why` says nothing, or `until` is over.
        """
        put = self._parts.decisions(tenant).allow
        return put(passage_or_source, why=why, until=until, actor=actor)

    def protect(
        self,
        passage_or_source: Passage | str,
        *,
        why: str,
        until: datetime | None = None,
        actor: str | None = None,
        tenant: str | None = None,
    ) -> Allowance:
        """Have a passage, or what a source says, dropped by a person only; else as `allow`.

        The filter judges it as any other, and marks it where it would drop it.

        Raises:
            InvalidInputError: As `allow`.
        """
        put = self._parts.decisions(tenant).allow
        return put(passage_or_source, why=why, until=until, actor=actor, effect="protected")

    def disallow(
        self,
        passage_or_source: Passage | Allowance | str,
        *,
        why: str | None = None,
        actor: str | None = None,
        tenant: str | None = None,
    ) -> list[Allowance]:
        """Take back `allow` and `protect`, and a release; return what has ended.

        Besides what `allow` takes it may be an entry of the list.

        Raises:
            AllowanceNotFoundError: It is not on the list.
            InvalidInputError: As `allow`.
        """
        take_off = self._parts.decisions(tenant).disallow
        return take_off(passage_or_source, actor=actor, why=why)

    def allowed(self, *, tenant: str | None = None) -> list[Allowance]:
        """Return what is allowed or protected, newest first, with what was released."""
        return self._parts.decisions(tenant).allowed()

    def undo(
        self,
        *,
        event: str | None = None,
        reporter: str | None = None,
        since: datetime | None = None,
        why: str | None = None,
        actor: str | None = None,
        tenant: str | None = None,
    ) -> list[QuarantineEntry]:
        """Take back proposals, and what went into quarantine and nobody has confirmed.

        It is as if nobody had reported them, but what is reported anew is only proposed. What other
        reporters accused as well, before it went into quarantine, is proposed in their name alone.
        Such events that still wait are ended: they count as failed, and `retry` takes one up again.
        Returned are the entries as they are now: lapsed, or proposed in the name of others.

        - `event`: only what this event accused, in its reporter's name: what that reporter's other
          events accused as well goes with it.
        - `reporter`: only what rests on this reporter's word, alone or with others; of events that
          wait those that nobody else reported; the others wait without this name.
        - `since`: only what was accused or came into force since then; UTC unless it says else.

        Raises:
            EventNotFoundError: There is no such event, nor anything that it accused.
            InvalidInputError: None of the first three is given, or `since` is no datetime.
        """
        undo = self._parts.decisions(tenant).undo
        return undo(event=event, reporter=reporter, since=since, actor=actor, why=why)
