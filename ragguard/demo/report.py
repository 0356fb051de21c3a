"""What one run of the demo measured; every figure is counted from that run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ragguard.attribution.result import Cause
from ragguard.demo.corpus import Attack, Form

__all__ = ["Asked", "DemoReport", "FilterExample", "Shown", "TraceExample", "Traced"]


@dataclass(frozen=True)
class Asked:
    """One question through all stages of the demo.

    Attributes:
        question: As the user types it.
        correct_answer: What the knowledge base says.
        attack: What kind of texts were planted for it.
        form: "prepended" if the question stands in front of them, else "plain".
        planted: How many were planted.
        clean: The answer before the attack.
        poisoned: The answer from the poisoned knowledge base, without the guard.
        filtered: The answer with the filter between retriever and reader.
        final: The answer after all reports, with filter and quarantine.
        quarantine_only: The same with the quarantine alone.
        clean_right: Whether `clean` is right; the same for the other four answers.
        poisoned_right: See `clean_right`.
        filtered_right: See `clean_right`.
        final_right: See `clean_right`.
        quarantine_only_right: See `clean_right`.
        dropped_planted: Planted passages that the filter dropped.
        dropped_benign: Other passages that the filter dropped.
        reports: How often a user reported its answer as wrong.
        causes: What each report was put down to.
        traced_planted: Planted passages that attribution holds responsible.
        traced_benign: Other passages that attribution holds responsible.
    """

    question: str
    correct_answer: str
    attack: Attack
    form: Form
    planted: int
    clean: str
    poisoned: str
    filtered: str
    final: str
    quarantine_only: str
    clean_right: bool
    poisoned_right: bool
    filtered_right: bool
    final_right: bool
    quarantine_only_right: bool
    dropped_planted: int
    dropped_benign: int
    reports: int
    causes: tuple[Cause, ...]
    traced_planted: int
    traced_benign: int


@dataclass(frozen=True)
class Shown:
    """A retrieved passage in the filter's example, and why it went if it did."""

    id: str
    text: str
    planted: bool
    dropped: bool
    reason: str


@dataclass(frozen=True)
class FilterExample:
    """One question that the filter alone puts right: what was read without it or with it."""

    question: str
    correct_answer: str
    without: str
    with_filter: str
    passages: tuple[Shown, ...]


@dataclass(frozen=True)
class Traced:
    """A passage in the scope of the attribution shown, with RAGOrigin's scores."""

    id: str
    text: str
    planted: bool
    embedding_similarity: float
    semantic_correlation: float
    generation_influence: float
    responsibility: float
    responsible: bool


@dataclass(frozen=True)
class TraceExample:
    """One reported answer and the passages in its scope, most responsible first."""

    question: str
    correct_answer: str
    response: str
    cause: Cause
    reason: str
    after: str
    passages: tuple[Traced, ...]


@dataclass(frozen=True)
class DemoReport:
    """The figures of one run.

    Attributes:
        passages: Size of the clean knowledge base.
        retrieved: How many passages the retriever fetches; what the filter drops is made up for
            from those below the first `read`.
        read: How many passages the reader reads.
        seed: The seed of the choice of questions and attacks.
        asked: Every question, in the order asked.
        clean_touched: Clean questions from which the filter drops a passage.
        clean_filtered_right: Clean questions answered right with the filter.
        paraphrases_touched: The same questions in other words, clean: from how many a passage
            is dropped.
        planted: How many passages the attacker planted.
        reported_planted: How many of them belong to questions that were reported.
        traced_planted: How many of those attribution holds responsible, each counted once.
        traced_benign: How many passages attribution wrongly holds responsible, each counted once.
        traced_benign_misled: How many of those for questions answered right before the attack; the
            others are blamed for mistakes that the reader makes by itself.
        rounds: How many rounds of reports it took.
        second_guard_dropped: Passages that a second guard, opened on the same store, drops
            because they are in quarantine.
        filter_example: One question that the filter puts right, or None if there is none.
        trace_example: One reported question that the quarantine puts right, or None.
        seconds: How long the run took.
    """

    passages: int
    retrieved: int
    read: int
    seed: int
    asked: tuple[Asked, ...]
    clean_touched: int
    clean_filtered_right: int
    paraphrases_touched: int
    planted: int
    reported_planted: int
    traced_planted: int
    traced_benign: int
    traced_benign_misled: int
    rounds: int
    second_guard_dropped: int
    filter_example: FilterExample | None
    trace_example: TraceExample | None
    seconds: float

    @property
    def clean_wrong(self) -> int:
        """Questions answered wrong before the attack."""
        return sum(not one.clean_right for one in self.asked)

    @property
    def poisoned_wrong(self) -> int:
        """Questions answered wrong after the attack, without the guard."""
        return sum(not one.poisoned_right for one in self.asked)

    @property
    def filtered_wrong(self) -> int:
        """Questions answered wrong after the attack, with the filter."""
        return sum(not one.filtered_right for one in self.asked)

    @property
    def final_wrong(self) -> int:
        """Questions answered wrong after the reports, with filter and quarantine."""
        return sum(not one.final_right for one in self.asked)

    @property
    def quarantine_only_wrong(self) -> int:
        """Questions answered wrong after the reports, with the quarantine alone."""
        return sum(not one.quarantine_only_right for one in self.asked)

    @property
    def precision(self) -> float:
        """Share of the passages held responsible that were planted; 0 if there are none."""
        traced = self.traced_planted + self.traced_benign
        return self.traced_planted / traced if traced else 0.0

    @property
    def recall(self) -> float:
        """Share of the planted passages of reported questions that are held responsible."""
        return self.traced_planted / self.reported_planted if self.reported_planted else 0.0

    @property
    def worked(self) -> bool:
        """Whether the loop closed: wrong answers fell, by the quarantine alone as well."""
        return (
            self.final_wrong < self.poisoned_wrong
            and self.quarantine_only_wrong < self.poisoned_wrong
            and self.precision > 0.0
            and self.recall > 0.0
            and self.second_guard_dropped > 0
        )

    def to_dict(self) -> dict[str, Any]:
        """Return every figure as plain JSON types."""
        return {
            **asdict(self),
            "clean_wrong": self.clean_wrong,
            "poisoned_wrong": self.poisoned_wrong,
            "filtered_wrong": self.filtered_wrong,
            "final_wrong": self.final_wrong,
            "quarantine_only_wrong": self.quarantine_only_wrong,
            "precision": self.precision,
            "recall": self.recall,
            "worked": self.worked,
        }
