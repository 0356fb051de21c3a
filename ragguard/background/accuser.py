"""From an attribution to quarantine, or to a proposal: what a policy makes of who is accused."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from ragguard.attribution.result import Attribution
from ragguard.audit.allowing import as_allowed
from ragguard.audit.quarantine import Accused, QuarantineEntry
from ragguard.audit.records import AuditStore, Event
from ragguard.background.policy import Policy
from ragguard.content import content_key
from ragguard.inline.allowed import Allowed
from ragguard.inline.fingerprints import signature
from ragguard.passage import Passage
from ragguard.trust import Trust

logger = logging.getLogger(__name__)

_TOLD_S = 3600.0
_MOST_TOLD = 1_000  # kinds of limits and tenants


class Accuser:
    """Accuses what attributions hold responsible.

    Args:
        store: Where the quarantines are, and the allow-lists, of all tenants.
        policy: What an attribution may do.
        trust: Says which passages only a person puts into quarantine.
    """

    def __init__(self, store: AuditStore, policy: Policy, trust: Trust | None = None) -> None:
        self._store = store
        self._policy = policy
        self._trust = trust or Trust()
        self._told: dict[tuple[str, str], float] = {}

    def accuse(self, event: Event, found: Attribution) -> list[Accused]:
        """Propose or quarantine the responsible passages, best first; once is as good as twice.

        They are so for the event's tenant alone.
        Edited copies of them are recognised by what no other passage in scope says.

        Raises:
            StoreError: The store fails.
        """
        if self._policy.name == "observe":
            return []
        blamed: dict[str, Passage] = {}
        for passage in found.accused:
            blamed.setdefault(content_key(passage.text), passage)
        if not blamed:
            return []
        entries = []
        store = self._store.of_tenant(event.tenant or None)
        spared = self._spared(store)
        for place, (key, passage) in enumerate(blamed.items()):
            lacks = self._lacks(found, key, place)
            if lacks is None and (
                spared.holds(passage)
                or spared.protects(passage)
                or self._trust.class_of(passage) == "protected"
            ):
                lacks = "it, or its source, is allowed or protected"
            entries.append(
                QuarantineEntry(
                    key=key,
                    passage_id=passage.id,
                    text=passage.text,
                    reason=found.reason + (f"; proposed only: {lacks}" if lacks else ""),
                    event_id=event.id,
                    status="quarantined" if lacks is None else "proposed",
                    reporters=(event.reporter,),
                    signature=signature(passage.text, found.cleared),
                )
            )
        done = store.accuse(entries, self._policy)
        self._tell(event, done)
        return done

    def _spared(self, store: AuditStore) -> Allowed:
        return as_allowed(one for one in store.allowances() if one.holds)

    def _lacks(self, found: Attribution, key: str, place: int) -> str | None:
        """Return what is lacking for quarantine without a person, or None; "" if nothing could do.

        Args:
            found: The attribution, with evidence.
            key: The accused passage's.
            place: How many of the event are more responsible.
        """
        if self._policy.name != "auto" or found.cause != "poisoning":
            return ""
        if found.details.get("marks", {}).get(key, 1.0) > self._policy.attack_alpha:
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
