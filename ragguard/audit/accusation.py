"""What becomes of an accusation: an entry in force, or a proposal for a person.

Reports are claims, and whoever may report can aim them. So what nobody has looked at is limited:
how many reporters it takes, how much may rest on one reporter's word, how much may come into force
within an hour, and for how long. Past a limit there are proposals only. What a person has decided
stays so, and what has lapsed once comes into force again by a person alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ragguard.audit.fair_queueing import MAX_REPORTERS
from ragguard.audit.quarantine import Accused, Limits, QuarantineEntry

HOUR = timedelta(hours=1)


@dataclass
class Load:
    """How much rests on reports alone."""

    of_reporter: int  # other events of the same reporter of which something is in force
    within_hour: int  # entries that came into force within the last hour, by whomever
    proposed: int = 0  # proposals of the same reporter that wait for a person

    @classmethod
    def of(cls, entries: Iterable[QuarantineEntry], new: QuarantineEntry, now: datetime) -> Load:
        """Count it for those who report `new`."""
        reporters = set(new.reporters)
        reported = [entry for entry in entries if entry.event_id is not None]
        unseen = [entry for entry in reported if entry.status == "quarantined"]
        theirs = [entry for entry in reported if not reporters.isdisjoint(entry.reporters)]
        return cls(
            len({e.event_id for e in theirs if e.status == "quarantined"} - {new.event_id}),
            sum(entry.updated_at > now - HOUR for entry in unseen),
            sum(entry.status == "proposed" for entry in theirs),
        )


def decided(
    new: QuarantineEntry, known: QuarantineEntry | None, limits: Limits, load: Load, now: datetime
) -> Accused:
    """Return what becomes of an accusation, and count it in `load`; of its key there is `known`."""
    if known is not None and known.status not in ("proposed", "lapsed"):
        return Accused(known)
    proposal = replace(new, status="proposed")
    if known is not None and known.status == "lapsed":
        proposal = replace(proposal, lapsed_at=known.updated_at)
    elif known is not None:
        reporters = tuple(dict.fromkeys((*known.reporters, *new.reporters)))[:MAX_REPORTERS]
        proposal = replace(known, reporters=reporters)
    limit = None
    if new.status == "quarantined":
        limit = _limit(limits, load)
        why = limit or _lacking(proposal, limits)
        if why is None:
            load.within_hour += 1
            until = None if limits.days is None else now + timedelta(days=limits.days)
            since, reporters = proposal.created_at, proposal.reporters
            held = replace(new, reporters=reporters, created_at=since, updated_at=now, until=until)
            return Accused(held, quarantined=True)
        proposal = replace(proposal, reason=f"{new.reason}; proposed only: {why}")
    if known is None or known.status != "proposed":
        if load.proposed >= limits.proposals:
            told = f"{load.proposed} proposals of its reporter wait for a person"
            return Accused(proposal if known is None else known, limited=told, kept=False)
        load.proposed += 1
    return Accused(proposal, limited=limit)


def _limit(limits: Limits, load: Load) -> str | None:
    if load.within_hour >= limits.per_hour:
        return f"{load.within_hour} came into force within the last hour"
    if load.of_reporter >= limits.per_reporter:
        return f"{load.of_reporter} events of its reporter are in force, and nobody confirmed them"
    return None


def _lacking(proposal: QuarantineEntry, limits: Limits) -> str | None:
    if proposal.lapsed_at is not None:
        return "it was in quarantine before, until that lapsed or was undone"
    weights = limits.weights
    count = sum(1 if one is None else weights.get(one, 1) for one in proposal.reporters)
    if count < limits.quorum:
        return f"{count} of the {limits.quorum} reporters that it takes have accused it"
    return None
