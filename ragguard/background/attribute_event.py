"""From a flagged event to its attribution, and from an attribution to quarantine."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from ragguard.attribution.result import Attribution, Attributor, Retrieve
from ragguard.audit.allow_list import as_allowed
from ragguard.audit.quarantine import Accused, QuarantineEntry
from ragguard.audit.records import AuditStore, Event
from ragguard.audit.trail import note_quietly
from ragguard.background.event_search import EventSearch
from ragguard.background.policy import Policy, as_policy
from ragguard.background.reports import NO_TEXT, was_given
from ragguard.embedding.adapt import Embedder
from ragguard.embedding.hashed import HashedEmbedder
from ragguard.errors import EventNotFoundError
from ragguard.inline.fingerprints import signature
from ragguard.inline.pipeline import ConformalFilter
from ragguard.passage import Passage
from ragguard.recent_passages import RecentPassages
from ragguard.trust import Trust

if TYPE_CHECKING:
    from ragguard.proxy import Proxy

logger = logging.getLogger(__name__)

_TOLD_S = 3600.0
_MOST_TOLD = 1_000  # kinds of limits and tenants

_UNDONE = "its event was undone while it was being accused"

UNKNOWN_ANSWER = (
    "no answer of this system is on record with this question and response, over these passages, "
    "in the day before: the report is kept, and not attributed"
)


@dataclass(eq=False, repr=False)
class EventAttributor:
    """Attributes the events of a store, and accuses what is responsible.

    What is not said here is as an argument of `Guard`.
    """

    store: AuditStore  # what all tenants have
    retrieve: Retrieve | None = None
    _: KW_ONLY
    attributor: Attributor | None = None
    proxy: Proxy | str | os.PathLike[str] | None = None
    embedder: Embedder | None = None
    policy: Policy | None = None
    trust: Trust | None = None
    # Returns the filter that says who shows marks of an attack; None: one that is calibrated as
    # shipped.
    gate: Callable[[], ConformalFilter] | None = None
    seen: RecentPassages | None = None  # what the guard let through; None: nobody knows

    def __post_init__(self) -> None:
        self._policy = as_policy(self.policy, shared=bool(getattr(self.store, "shared", True)))
        self._seen = self.seen or RecentPassages()
        self._noted = False
        self._told: dict[tuple[str, str], float] = {}

    def attribute(self, event: Event) -> Attribution:
        """Attribute one event over the knowledge base, or, without one, over its own passages.

        What is in quarantine already is left out of the knowledge base, as the filter leaves it out
        of what the generator reads: a second report would else find the first one's passages again,
        and not what took their place. How many were met is in `details["left_out"]`, if any were.
        Where what was read explains nothing, all is searched as if the filter dropped nothing.
        """
        query, response, k = event.query, event.response, self._policy.top_k
        if (why := self._hindrance(event)) is not None:
            return Attribution(query, response, "none", [], [], 0, cause="unclear", reason=why)
        # Not above: a guard that only filters needs neither a proxy nor an attribution method.
        from ragguard.attribution.ragorigin import MAX_SCOPE, RAGOrigin
        from ragguard.background.evidence import with_evidence

        if self.attributor is None:
            self.attributor = RAGOrigin(
                proxy=self.proxy, embedder=self.embedder, top_k=k, max_scope=max(k, MAX_SCOPE)
            )
        search = EventSearch(event, self.retrieve, self.store, self._seen)
        found = self.attributor.attribute(query, response, search.read_first)
        if isinstance(found, Attribution) and found.cause != "poisoning" and search.is_reordered(k):
            again = self.attributor.attribute(query, response, search.in_order)
            found = again if again.cause == "poisoning" else found
        if search.met and isinstance(found, Attribution):
            met, reason = len(search.met), found.reason
            details = {**found.details, "left_out": met}
            if found.cause != "poisoning":
                reason += f"; {met} in quarantine already were left out of the search"
            found = replace(found, reason=reason, details=details)
        gate, alpha = self.gate or _shipped_filter, self._policy.attack_alpha
        return with_evidence(found, gate, top_k=k, attack_alpha=alpha)

    def quarantine(self, event: Event, attribution: Attribution) -> list[Accused]:
        """Propose or quarantine the responsible passages, best first; once is as good as twice.

        They are so for the event's tenant alone. What `trust` protects only a person puts there.
        Edited copies of them are recognised by what no other passage in scope says, and no page of
        which they hold a part. An event that was ended meanwhile, by `undo`, or was given back,
        accuses nothing.
        """
        if not self._noted:
            self._noted = True
            note_quietly(self.store, self._policy.change)
        if self._policy.name == "observe":
            return []
        entries = [*self._entries(event, attribution)]
        if not entries:
            return []
        store = self.store.of_tenant(event.tenant or None)
        if _is_undone(store, event, claimed=event.status == "running"):
            return []
        done = store.accuse(entries, self._policy)
        # Undone since then, so that `undo` has not seen what it accuses. Of one given back the next
        # attempt decides: what lapses is not accused without a person any more.
        if _is_undone(store, event):
            for one in done:
                if one.kept and one.entry.event_id == event.id:
                    store.set_quarantine_status(
                        one.entry.key, "lapsed", why=_UNDONE, only=("proposed", "quarantined")
                    )
            return []
        self._tell(event, done)
        return done

    def _entries(self, event: Event, attribution: Attribution) -> Iterator[QuarantineEntry]:
        """Yield what of an attribution goes into quarantine, and what is only proposed."""
        # Not above: a guard that only filters searches no knowledge base.
        from ragguard.background.evidence import OtherTexts, found_beside

        texts = OtherTexts(event, self._seen)
        keys = texts.keys([one.text for one in attribution.accused])
        accused: dict[str, Passage] = {}
        for key, passage in zip(keys, attribution.accused, strict=True):
            accused.setdefault(key, passage)
        if not accused:
            return
        # What shows no mark is accused for what it states, and may be an honest page of which one
        # with marks holds a part.
        p_values, alpha = attribution.details.get("marks", {}), self._policy.attack_alpha
        marked = {key: one for key, one in accused.items() if p_values.get(key, 1.0) <= alpha}
        said = texts.said_lately(accused)
        said_of_marked = said if len(marked) == len(accused) else texts.said_lately(marked)
        cleared = texts.cleared(attribution.cleared)
        allowances = self.store.of_tenant(event.tenant or None).allowances()
        spared = as_allowed(one for one in allowances if one.holds)
        trust = self.trust or Trust()
        found = found_beside(self.retrieve, event, [*accused.values()], least=self._policy.top_k)
        each = enumerate(zip(accused.items(), found, strict=True))
        for place, ((key, passage), (words, beside)) in each:
            shown = self.retrieve is not None or self._seen.has_passed(passage.text, event.tenant)
            lacks = self._lacks(attribution, place, marked=key in marked)
            if lacks is None:
                lacks = texts.doubt(passage.text, beside, known=shown)
            if lacks is None and (
                spared.holds(passage)
                or spared.protects(passage)
                or trust.class_of(passage) == "protected"
            ):
                lacks = "it, or its source, is allowed or protected"
            # Whoever reports may have put words around an honest page.
            signed = words if shown or lacks is not None else ""
            alike, others = (marked, said_of_marked) if key in marked else (accused, said)
            contained = texts.contained_parts(passage.text, beside, alike.keys())
            yield QuarantineEntry(
                key=key,
                passage_id=passage.id,
                text=passage.text,
                reason=attribution.reason + (f"; proposed only: {lacks}" if lacks else ""),
                event_id=event.id,
                status="quarantined" if lacks is None else "proposed",
                reporters=(event.reporter,),
                signature=signature(signed, [*cleared, *contained, *others]),
            )

    def _hindrance(self, event: Event) -> str | None:
        """Return why an event is not attributed at all, or None."""
        if event.cut is not None and NO_TEXT in event.cut:
            return f"there is nothing to attribute: {event.cut}"
        if self._policy.answered_only and not was_given(self.store, event):
            return UNKNOWN_ANSWER
        if self.retrieve is None and not event.passages:
            return (
                "there is nothing to search: report the passages that the generator saw, or give "
                "the guard a `retrieve` over the knowledge base, `ragguard worker` a "
                "--knowledge-base" + (f"; left out were {event.cut}" if event.cut else "")
            )
        return None

    def _lacks(self, found: Attribution, place: int, *, marked: bool) -> str | None:
        """Return what is lacking for quarantine without a person, or None; "" if nothing could do.

        `place` is how many of the event are more responsible.
        """
        if self._policy.name != "auto" or found.cause != "poisoning":
            return ""
        if not marked:
            return "it shows no mark of an attack that whoever reports could not arrange"
        if not found.details.get("counterfactual"):
            return "those with marks of an attack do not explain the response by themselves"
        return None if place < self._policy.top_k else f"{place} others are more responsible"

    def _tell(self, event: Event, done: Sequence[Accused]) -> None:
        """Say which limits were reached, each once an hour: a flood must not flood the log."""
        limited = [one.limited for one in done if one.limited is not None]
        for limit in dict.fromkeys(limited):
            kind = event.tenant, limit.lstrip("0123456789 ")
            now = time.monotonic()
            if now - self._told.get(kind, -_TOLD_S) >= _TOLD_S:
                if len(self._told) >= _MOST_TOLD:
                    self._told.clear()
                self._told[kind] = now
                kept = all(one.kept for one in done if one.limited == limit)
                logger.error(
                    "event %s%s: %d of %d passages are %s: %s; look at what is proposed with "
                    "`ragguard quarantine --status proposed`",
                    event.id,
                    f" of tenant {event.tenant}" if event.tenant else "",
                    *(limited.count(limit), len(done)),
                    "proposed and not quarantined" if kept else "not even proposed",
                    limit,
                )


def _is_undone(store: AuditStore, event: Event, *, claimed: bool = False) -> bool:
    """Return whether somebody has ended an event, taken its reporter out, or has it by now."""
    with suppress(EventNotFoundError):  # nobody keeps it
        now = store.event(event.id)
        if claimed and (now.status, now.attempts) != ("running", event.attempts):
            return True
        return now.status == "failed" or now.reporter != event.reporter
    return False


@cache
def _shipped_filter() -> ConformalFilter:
    return ConformalFilter(HashedEmbedder())
