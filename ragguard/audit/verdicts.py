"""What is kept of a verdict that dropped, marked or failed, and what every store does with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from ragguard.audit.quarantine import utc_now
from ragguard.errors import VerdictNotFoundError
from ragguard.verdict import Mode

KEPT_VERDICTS = 10_000
"""How many of the newest verdicts a store keeps."""

KEPT_DAYS = 90.0
"""After how many days a verdict is forgotten."""

Outcome = Literal["dropped", "flagged", "marked", "undecided"]


@dataclass(frozen=True)
class JudgedPassage:
    """What became of one passage, and why.

    Attributes:
        passage_id: The passage's id, of a long one how it begins.
        key: `ragguard.content.content_key` of its text.
        outcome: "dropped"; "flagged" where monitor mode kept it; "marked" where it is unusual, and
            was kept; "undecided" where it was not judged, or not whole, and was kept.
        signal, strength, suspicion, reason: As in `Evidence`.
        text: Its text, where the guard records texts.
    """

    passage_id: str
    key: str
    outcome: Outcome
    signal: str
    strength: float
    suspicion: float
    reason: str
    text: str | None = None


@dataclass(frozen=True)
class VerdictRecord:
    """A verdict that dropped, flagged or marked a passage, found an attack, or failed.

    Attributes:
        id: That of the `Verdict`.
        question: Hash of the question's content words, as in `ScoredQuery`.
        attacked, p_value, mode, error: As in `Verdict`.
        size: How many passages the set had.
        kept: How many of them were let through.
        passages: Those that were not simply kept, in rank order, `MOST_PASSAGES` at most.
        calibration: Which calibration was in force: where it came from, and the first digits of
            its hash.
        scorer: Version of the signals and weights.
        version: Of ragguard.
        recorded_at: When, UTC.
        query: The question, where the guard records texts.
        tenant: Whose it is; "" is the default tenant.
    """

    id: str
    question: str
    attacked: bool
    p_value: float
    mode: Mode
    error: str | None
    size: int
    kept: int
    passages: tuple[JudgedPassage, ...]
    calibration: str
    scorer: str
    version: str
    recorded_at: datetime = field(default_factory=utc_now)
    query: str | None = None
    tenant: str = ""

    @property
    def dropped(self) -> int:
        """How many passages of the record were dropped."""
        return sum(passage.outcome == "dropped" for passage in self.passages)


def no_verdict(verdict_id: str) -> VerdictNotFoundError:
    """Return the error for an id that no verdict has."""
    return VerdictNotFoundError(
        f"no verdict {verdict_id!r} is in the audit store: it dropped, marked and failed at "
        "nothing, or was forgotten; list those that there are with verdicts()"
    )


class VerdictStore(Protocol):
    """The part of an `AuditStore` that keeps verdicts; raises its errors."""

    def add_verdicts(self, records: Sequence[VerdictRecord], *, keep: int, days: float) -> None:
        """Store verdicts, oldest first, and forget all but the newest `keep` of the last `days`.

        They may be of several tenants, and so many are kept of each. One with the id of another is
        left out.
        """

    def verdicts(
        self, *, limit: int = 100, before: datetime | None = None, passage_id: str | None = None
    ) -> list[VerdictRecord]:
        """Return the newest verdicts first.

        Args:
            limit: How many, at most.
            before: Only those that were recorded before this moment.
            passage_id: Only those in which this passage was not simply kept.
        """

    def verdict(self, verdict_id: str) -> VerdictRecord:
        """Return the verdict, or raise `VerdictNotFoundError`."""
