"""What is kept of a verdict that dropped, marked or failed, and how it is told again in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from ragguard.audit.quarantine import utc_now
from ragguard.errors import VerdictNotFoundError
from ragguard.inline.tokens import tokenize_passage, tokenize_query
from ragguard.prompt_injection import TOGETHER, injection_strength
from ragguard.text import sentences
from ragguard.verdict import Mode

KEPT_VERDICTS = 10_000
"""How many of the newest verdicts a store keeps."""

KEPT_DAYS = 90.0
"""After how many days a verdict is forgotten."""

Outcome = Literal["dropped", "flagged", "marked", "undecided"]

_SENTENCES = 2
_LEAST_SHARE = 0.5  # of the question's content words, or a sentence says nothing about it

_OUTCOMES: dict[Outcome, str] = {
    "dropped": "It was dropped",
    "flagged": "It was kept, since the guard only watches (monitor mode); else it would be dropped",
    "marked": "It was kept, and marked as unusual",
    "undecided": "It was kept without having been judged, or not whole",
}
_HELD = ("quarantine", "unreadable")  # signals of what the filter does not score


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
        question: Hash of the question's content words, as in `ScoredQuery`.
        id, attacked, p_value, mode, error: As in `Verdict`.
        size, kept: How many passages the set had, and how many of them were let through.
        passages: Those that were not simply kept, in rank order, `MOST_PASSAGES` at most.
        calibration: Where the calibration in force came from, and the first digits of its hash.
        scorer, version: Of the signals and weights, and of ragguard.
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
        "nothing, or was forgotten; `ragguard verdicts` lists those that there are"
    )


class VerdictStore(Protocol):
    """The part of an `AuditStore` that keeps verdicts; raises its errors."""

    def add_verdicts(self, records: Sequence[VerdictRecord], *, keep: int, days: float) -> None:
        """Store those with new ids; keep the newest `keep` of each tenant, of the last `days`."""

    def verdicts(
        self, *, limit: int = 100, before: datetime | None = None, passage_id: str | None = None
    ) -> list[VerdictRecord]:
        """Return the newest verdicts first, `limit` at most; such as were recorded `before` then.

        With `passage_id` only those in which that passage was not simply kept.
        """

    def verdict(self, verdict_id: str) -> VerdictRecord:
        """Return the verdict, or raise `VerdictNotFoundError`."""


@dataclass(frozen=True)
class RetoldPassage:
    """What became of one passage and why, in words.

    Attributes:
        sentences: Those of its text that count most, best first; none where the guard did not
            record texts, or where it is not single sentences that tell.
    """

    passage_id: str
    key: str
    why: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Retold:
    """A verdict in words: what was found of the set, and what became of passages in rank order."""

    found: str
    passages: tuple[RetoldPassage, ...]


def retold(record: VerdictRecord) -> Retold:
    """Tell a verdict in words."""
    passages = []
    for one in record.passages:
        tells = one.text is not None and one.signal not in ("none", "gibberish")
        best = telling_sentences(record.query or "", one.text or "", one.signal) if tells else ()
        passages.append(RetoldPassage(one.passage_id, one.key, _why(one), best))
    return Retold(_found(record), tuple(passages))


def telling_sentences(query: str, text: str, signal: str) -> tuple[str, ...]:
    """Return the sentences of a text that count most for a signal, best first; two at most.

    For prompt injection those that speak to a language model, else those that hold at least half of
    the question's content words.

    >>> text = "Wool is dear. The pier of Halden was built by Dove. Geese nest there."
    >>> telling_sentences("Who built the pier of Halden?", text, "verbatim_question")
    ('The pier of Halden was built by Dove.',)
    """
    parts = [part for part in sentences(text) if part.strip()]
    if signal == "prompt_injection":
        return _orders(text, parts)
    content = frozenset(tokenize_query(query).content)
    if not content:
        return ()
    shares = [len(content & tokenize_passage(part).distinct) / len(content) for part in parts]
    told = zip(shares, parts, strict=True)
    return _best([(share, part) for share, part in told if share >= _LEAST_SHARE])


def _orders(text: str, parts: Sequence[str]) -> tuple[str, ...]:
    """Return the shortest runs of sentences that speak to a language model."""
    starts, ends = list[int](), [0]
    for part in parts:
        starts.append(text.index(part, ends[-1]))
        ends.append(starts[-1] + len(part))
    for size in range(1, TOGETHER + 1):
        runs = [text[start:end] for start, end in zip(starts, ends[size:], strict=False)]
        scored = [(injection_strength(run), run) for run in runs]
        if best := _best([(score, run) for score, run in scored if score > 0.0]):
            return best
    return ()


def _best(scored: list[tuple[float, str]]) -> tuple[str, ...]:
    ranked = sorted(scored, key=lambda item: -item[0])  # stable: of equal ones the first
    return tuple(part.strip() for _, part in ranked[:_SENTENCES])


def _found(record: VerdictRecord) -> str:
    share = f"{100 * record.p_value:.3g} % of clean queries look as suspicious, or more so"
    gone = [one for one in record.passages if one.outcome in ("dropped", "flagged")]
    if record.attacked and gone and all(one.signal in _HELD for one in gone):
        told = f"Something of the set is in quarantine; of the rest: {share}."
    elif record.attacked:
        told = f"The set does not look like clean traffic: {share} (p = {record.p_value:.3g})."
    else:
        told = f"The set passes as clean traffic: {share} (p = {record.p_value:.3g})."
    told += f" {record.kept} of {record.size} passages were let through."
    if record.error:
        told += f" Not all could be judged: {record.error}."
    return told


def _why(one: JudgedPassage) -> str:
    told = f"{_OUTCOMES[one.outcome]}: {one.reason}."
    if one.signal in (*_HELD, "none", "allowed"):
        return told
    return (
        f"{told} The main sign is {one.signal}, with a strength of {one.strength:.2f} of 1; all "
        f"signs together make {one.suspicion:.1f} nats of suspicion."
    )
