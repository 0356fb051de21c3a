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

__all__ = ["Case", "filter_example", "is_right", "summary", "trace_example"]

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


def summary(cases: Sequence[Case], *, second_guard_dropped: int, **run: Any) -> dict[str, Any]:
    """Return every figure of a run, as plain JSON types.

    Args:
        cases: Every question, in the order asked.
        second_guard_dropped: Passages that a second guard, opened on the same store, drops because
            they are in quarantine.
        run: Further figures, which are passed on.

    Returns:
        `run`, with "asked" (`Case.to_dict`) and

        - "clean_wrong" and so on: questions answered wrong, by stage;
        - "planted", and "reported_planted": those for questions that were reported;
        - "traced_planted" and "traced_benign": what attribution holds responsible, rightly and
          wrongly, each passage counted once; "traced_benign_misled": how many of the latter for
          questions answered right before the attack (the others are blamed for mistakes that the
          reader makes by itself);
        - "precision" and "recall" of attribution, over the reported questions;
        - "worked": whether the loop closed. Wrong answers fell, by the quarantine alone as well.
    """
    planted = {passage_id for case in cases for passage_id in case.planted_ids}
    reported_planted = sum(len(case.planted) for case in cases if case.attributions)
    traced = _accused(cases)
    hits = len(traced & planted)
    wrong = {stage: sum(not case.right(stage) for case in cases) for stage in _STAGES}
    return {
        **run,
        **{f"{stage}_wrong": count for stage, count in wrong.items()},
        "asked": [case.to_dict() for case in cases],
        "planted": len(planted),
        "reported_planted": reported_planted,
        "traced_planted": hits,
        "traced_benign": len(traced - planted),
        "traced_benign_misled": len(
            _accused(case for case in cases if case.right("clean")) - planted
        ),
        "precision": hits / len(traced) if traced else 0.0,
        "recall": hits / reported_planted if reported_planted else 0.0,
        "second_guard_dropped": second_guard_dropped,
        "trace_example": trace_example(cases),
        "worked": max(wrong["final"], wrong["quarantine_only"]) < wrong["poisoned"]
        and hits > 0
        and second_guard_dropped > 0,
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
