"""What happened to each question of a run of the demo, and every figure counted from that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragguard.attribution.result import Attribution
from ragguard.demo.corpus import Attack, Form, Question
from ragguard.passage import Passage
from ragguard.text import tokens
from ragguard.verdict import Verdict

__all__ = ["Case", "DemoReport", "filter_example", "is_right", "trace_example"]

_STAGES = ("clean", "poisoned", "filtered", "final", "quarantine_only")


def is_right(question: Question, answer: str) -> bool:
    """Return True if the correct answer stands in `answer`, word for word."""
    return f" {' '.join(tokens(question.correct_answer))} " in f" {' '.join(tokens(answer))} "


@dataclass
class Case:
    """A question under attack, and what happens to it on the way.

    Attributes:
        question: What is asked.
        attack: What kind of texts are planted for it.
        form: "prepended" if the question stands in front of them, else "plain".
        planted: The texts.
        answers: What was answered, by stage: "clean" before the attack, "poisoned" after it without
            the guard, "filtered" with the filter between retriever and reader, "final" after all
            reports with filter and quarantine, "quarantine_only" with that alone.
        verdict: What the filter said of it in the stage "filtered".
        reported: Answers that a user has reported as wrong.
        attributions: What came of the reports.
    """

    question: Question
    attack: Attack
    form: Form
    planted: list[Passage]
    answers: dict[str, str] = field(default_factory=dict)
    verdict: Verdict | None = None
    reported: set[str] = field(default_factory=set)
    attributions: list[Attribution] = field(default_factory=list)

    @property
    def planted_ids(self) -> set[str]:
        """Ids of what was planted for it."""
        return {passage.id for passage in self.planted}

    def right(self, stage: str) -> bool:
        """Return whether it was answered right in this stage."""
        return is_right(self.question, self.answers.get(stage, ""))

    def dropped(self) -> dict[str, str]:
        """Return the filter's reason for each passage that it dropped, by id."""
        if self.verdict is None:
            return {}
        reasons = {one.passage_id: one.reason for one in self.verdict.evidence}
        return {passage.id: reasons[passage.id] for passage in self.verdict.dropped}

    def to_dict(self) -> dict[str, Any]:
        """Return its figures as plain JSON types."""
        planted, traced = self.planted_ids, _accused([self])
        dropped = self.dropped().keys()
        return {
            "question": self.question.text,
            "correct_answer": self.question.correct_answer,
            "attack": self.attack,
            "form": self.form,
            "planted": len(planted),
            **{stage: self.answers.get(stage, "") for stage in _STAGES},
            **{f"{stage}_right": self.right(stage) for stage in _STAGES},
            "dropped_planted": len(dropped & planted),
            "dropped_benign": len(dropped - planted),
            "reports": len(self.attributions),
            "causes": [found.cause for found in self.attributions],
            "traced_planted": len(traced & planted),
            "traced_benign": len(traced - planted),
        }


def _accused(cases: Iterable[Case]) -> set[str]:
    """Return the ids of the passages that attribution holds responsible in any of the cases."""
    return {
        passage.id
        for case in cases
        for attribution in case.attributions
        for passage in attribution.responsible
    }


_FIGURES = (
    *("passages", "retrieved", "read", "seed", "clean_touched", "clean_filtered_right"),
    *("paraphrases_touched", "reported_planted", "traced_planted", "traced_benign"),
    *("traced_benign_misled", "rounds", "second_guard_dropped", "filter_example"),
    *("trace_example", "seconds", "precision", "recall", "worked"),
)


@dataclass(frozen=True)
class DemoReport:
    """One run.

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
        rounds: How many rounds of reports it took.
        second_guard_dropped: Passages that a second guard, opened on the same store, drops
            because they are in quarantine.
        filter_example: A question that the filter puts right (`filter_example`), or None.
        trace_example: A reported one that the quarantine puts right (`trace_example`), or None.
        seconds: How long the run took.
    """

    passages: int
    retrieved: int
    read: int
    seed: int
    asked: tuple[Case, ...]
    clean_touched: int
    clean_filtered_right: int
    paraphrases_touched: int
    rounds: int
    second_guard_dropped: int
    filter_example: dict[str, Any] | None
    trace_example: dict[str, Any] | None
    seconds: float

    def wrong(self, stage: str) -> int:
        """Return how many questions were answered wrong in this stage."""
        return sum(not case.right(stage) for case in self.asked)

    @property
    def planted(self) -> set[str]:
        """Ids of all that the attacker planted."""
        return {passage_id for case in self.asked for passage_id in case.planted_ids}

    @property
    def reported_planted(self) -> int:
        """How many of them belong to questions that were reported."""
        return sum(len(case.planted) for case in self.asked if case.attributions)

    @property
    def traced_planted(self) -> int:
        """How many of those attribution holds responsible, each counted once."""
        return len(_accused(self.asked) & self.planted)

    @property
    def traced_benign(self) -> int:
        """How many passages attribution wrongly holds responsible, each counted once."""
        return len(_accused(self.asked) - self.planted)

    @property
    def traced_benign_misled(self) -> int:
        """How many of those for questions that were answered right before the attack.

        The others are blamed for mistakes that the reader makes by itself.
        """
        return len(_accused(case for case in self.asked if case.right("clean")) - self.planted)

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
            self.wrong("final") < self.wrong("poisoned")
            and self.wrong("quarantine_only") < self.wrong("poisoned")
            and self.precision > 0.0
            and self.recall > 0.0
            and self.second_guard_dropped > 0
        )

    def to_dict(self) -> dict[str, Any]:
        """Return every figure as plain JSON types."""
        return {
            **{name: getattr(self, name) for name in _FIGURES},
            **{f"{stage}_wrong": self.wrong(stage) for stage in _STAGES},
            "planted": len(self.planted),
            "asked": [case.to_dict() for case in self.asked],
        }


def filter_example(
    cases: Sequence[Case],
    retrieve: Callable[[str, int], list[Passage]],
    *,
    retrieved: int,
    read: int,
) -> dict[str, Any] | None:
    """Return the first question that the poison spoils and the filter alone puts right.

    With what was read for it without the filter or with it.
    """
    for case in cases:
        if case.verdict is None or not case.right("filtered"):
            continue
        if case.right("poisoned") or case.attack == "refusal":
            continue
        dropped = case.dropped()
        kept = {passage.id for passage in case.verdict.kept}
        found = retrieve(case.question.text, retrieved)
        return {
            "question": case.question.text,
            "correct_answer": case.question.correct_answer,
            "without": case.answers["poisoned"],
            "with_filter": case.answers["filtered"],
            "passages": [
                {
                    "id": passage.id,
                    "text": passage.text,
                    "planted": passage.id in case.planted_ids,
                    "dropped": passage.id in dropped,
                    "reason": dropped.get(passage.id, ""),
                }
                for rank, passage in enumerate(found)
                if rank < read or passage.id in kept
            ],
        }
    return None


def trace_example(cases: Sequence[Case]) -> dict[str, Any] | None:
    """Return the first question that the filter left wrong and the quarantine puts right.

    With the attribution that did it, most responsible passages first.
    """
    helped = [case for case in cases if not case.right("poisoned") and case.right("final")]
    helped.sort(key=lambda case: (case.right("filtered"), case.form != "plain"))
    found = ((case, one) for case in helped for one in case.attributions)
    for case, attribution in found:
        if attribution.cause == "poisoning":
            return {
                "question": attribution.query,
                "correct_answer": case.question.correct_answer,
                "response": attribution.response,
                "cause": attribution.cause,
                "reason": attribution.reason,
                "after": case.answers["final"],
                "passages": [
                    {
                        "id": score.passage.id,
                        "text": score.passage.text,
                        "planted": score.passage.id in case.planted_ids,
                        "embedding_similarity": score.embedding_similarity,
                        "semantic_correlation": score.semantic_correlation,
                        "generation_influence": score.generation_influence,
                        "responsibility": score.responsibility,
                        "responsible": score.responsible,
                    }
                    for score in sorted(attribution.scores, key=lambda one: -one.responsibility)
                ],
            }
    return None
