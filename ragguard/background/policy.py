"""What an attribution may do, how much of it before a person has looked, and what comes of that."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from ragguard.arguments import require_choice, require_number, require_positive, require_whole
from ragguard.attribution.result import Attribution
from ragguard.audit.allow_list import as_allowed
from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.quarantine import Accused, Limits, QuarantineEntry
from ragguard.audit.records import AuditStore, Event
from ragguard.audit.trail import Change, this_process
from ragguard.content import content_key
from ragguard.errors import InvalidInputError
from ragguard.inline.fingerprints import signature
from ragguard.passage import Passage, text_digest
from ragguard.trust import Origin, Trust

logger = logging.getLogger(__name__)

_TOLD_S = 3600.0
_MOST_TOLD = 1_000  # kinds of limits and tenants

PolicyName = Literal["observe", "review", "auto"]

_NAMES = ("observe", "review", "auto")


@dataclass(frozen=True)
class Policy(Limits):
    """What becomes of the passages that an attribution holds responsible.

    A report is a claim, and whoever chooses question and response can aim it. The limits but
    for that of `proposals` are for "auto" alone: what goes beyond them is proposed.

    Attributes:
        name: "observe": nothing. "review": they are proposed, and a person confirms or rejects
            them. "auto": they go into quarantine as far as the evidence and the limits allow, and
            are proposed where these do not (`ragguard.background.evidence`).
        top_k: How many passages the generator sees, and of one event may go into quarantine.
        attack_alpha: The p-value up to which marks of a passage are those of an attack
            (`ragguard.inline.marks`).
        answered_only: Whether nothing is attributed but reports of answers that `Guard.answered`
            recorded in the day before.
        quorum, per_reporter, per_hour, days, proposals, weights: As in `Limits`.

    Raises:
        InvalidInputError: There is no such policy, or a number is not positive.
    """

    name: PolicyName = "auto"
    _: KW_ONLY
    top_k: int = 5
    attack_alpha: float = 0.05
    answered_only: bool = False

    def __post_init__(self) -> None:
        require_choice("policy", self.name, _NAMES)
        for name in ("quorum", "top_k", "per_reporter", "per_hour", "proposals"):
            require_whole(name, getattr(self, name))
        if not 0.0 < require_number("attack_alpha", self.attack_alpha) < 1.0:
            raise InvalidInputError(
                f"attack_alpha must be between 0 and 1, not {self.attack_alpha:g}"
            )
        for name, weight in self.weights.items():
            require_whole(f"the weight of {name!r}", weight, least=0)
        if self.days is not None:
            require_positive(days=self.days)

    @property
    def change(self) -> Change:
        """What the trail tells of it, once it is in force."""
        details = {**vars(self), "weights": {lane_of(n): w for n, w in self.weights.items()}}
        return Change("policy.set", details.pop("name"), this_process(), details)


def trust_change(trust: Trust) -> Change:
    """Return what the trail tells of whom a guard trusts: how many origins, and a hash of them."""
    origins = {
        name: [_plain(one) for one in getattr(trust, name)] for name in ("protected", "known")
    }
    details = {name: len(found) for name, found in origins.items()}
    named = text_digest(json.dumps({**origins, "known_share": trust.known_share})).hex()
    return Change("trust.set", named, this_process(), details)


def _plain(origin: Origin | str) -> list[object]:
    if isinstance(origin, str):
        return [origin]
    return [*map(sorted, (origin.source, origin.author, origin.batch)), str(origin.older_than)]


def as_policy(policy: Policy | PolicyName | None, *, shared: bool) -> Policy:
    """Return what `Guard(policy=...)` names; raises as `Policy`.

    None is "review" on a store that is shared, where a person can look, and "auto" in memory.
    """
    if policy is None:
        policy = "review" if shared else "auto"
    return policy if isinstance(policy, Policy) else Policy(policy)


class Accuser:
    """Accuses what attributions hold responsible, as far as the policy goes.

    The store is that of all tenants. What `trust` protects only a person puts into quarantine.
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
        spared = as_allowed(one for one in store.allowances() if one.holds)
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

    def _lacks(self, found: Attribution, key: str, place: int) -> str | None:
        """Return what is lacking for quarantine without a person, or None; "" if nothing could do.

        `place` is how many of the event are more responsible.
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
