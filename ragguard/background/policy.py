"""What an attribution may do, and how much of it before a person has looked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, get_args

from ragguard.arguments import (
    require_bool,
    require_choice,
    require_names,
    require_positive,
    require_share,
    require_whole,
)
from ragguard.audit.fair_queueing import lane_of
from ragguard.audit.quarantine import Limits
from ragguard.audit.trail import Change, this_process
from ragguard.errors import InvalidInputError
from ragguard.passage import text_digest
from ragguard.trust import Trust

PolicyName = Literal["observe", "review", "auto"]


@dataclass(frozen=True)
class Policy(Limits):
    """What becomes of the passages that an attribution holds responsible.

    A report is a claim, and whoever chooses question and response can aim it: what goes beyond the
    `Limits`, which are for "auto" alone but for that of `proposals`, is proposed.

    Attributes:
        name: "observe": nothing. "review": they are proposed, and a person confirms or rejects
            them. "auto": they go into quarantine as far as the evidence and the limits allow, and
            are proposed where these do not (`ragguard.background.evidence`). None: what
            `Guard(policy=None)` means.
        top_k: How many passages the generator sees, and of one event may go into quarantine.
        attack_alpha: The p-value up to which marks of a passage are those of an attack
            (`ragguard.inline.marks`).
        answered_only: Whether nothing is attributed but reports of answers that `Guard.answered`
            recorded in the day before.

    Raises:
        InvalidInputError: There is no such policy, or a number is not positive.
    """

    name: PolicyName | None = None
    _: KW_ONLY
    top_k: int = 5
    attack_alpha: float = 0.05
    answered_only: bool = False

    def __post_init__(self) -> None:
        if self.name is not None:
            require_choice("policy", self.name, get_args(PolicyName))
        require_bool(answered_only=self.answered_only)
        for name in ("quorum", "top_k", "per_reporter", "per_hour", "proposals"):
            object.__setattr__(self, name, require_whole(name, getattr(self, name)))
        require_share("attack_alpha", self.attack_alpha, usual=0.05)
        if not isinstance(self.weights, Mapping):
            raise InvalidInputError(
                f"weights must be numbers by reporter, not {type(self.weights).__name__}"
            )
        for name, weight in self.weights.items():
            require_names(**{"a reporter in weights": name})
            require_whole(f"the weight of {name!r}", weight, least=0)
        if self.days is not None:
            require_positive(days=self.days)
            whole = isinstance(self.days, int)
            object.__setattr__(self, "days", self.days if whole else float(self.days))

    @property
    def change(self) -> Change:
        """What the trail tells of it, once it is in force."""
        details = {**vars(self), "weights": {lane_of(n): w for n, w in self.weights.items()}}
        return Change("policy.set", details.pop("name"), this_process(), details)


def trust_change(trust: Trust) -> Change:
    """Return what the trail tells of whom a guard trusts: how many origins, and a hash of them."""
    origins = {"protected": [*map(_plain, trust.protected)], "known": [*map(_plain, trust.known)]}
    details = {name: len(found) for name, found in origins.items()}
    named = text_digest(json.dumps({**origins, "known_share": trust.known_share})).hex()
    return Change("trust.set", named, this_process(), details)


def _plain(origin: Any) -> list[object]:  # a `Trust` makes an `Origin` of every str
    return [*map(sorted, (origin.source, origin.author, origin.batch)), str(origin.older_than)]


def as_policy(policy: Policy | PolicyName | None, *, shared: bool) -> Policy:
    """Return a guard's `policy` with a name: None is "review" on a shared store, "auto" else."""
    given = policy if isinstance(policy, Policy) else Policy(policy)
    return given if given.name else replace(given, name="review" if shared else "auto")
