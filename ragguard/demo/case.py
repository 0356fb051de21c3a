"""Questions under attack: which attack each one gets, and what happens to it on the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ragguard.attribution.result import Attribution
from ragguard.demo.corpus import Attack, Form, Question, poison
from ragguard.demo.report import Asked
from ragguard.passage import Passage
from ragguard.text import tokens
from ragguard.verdict import Verdict

__all__ = ["ATTACKS", "Case", "accused", "is_right"]

ATTACKS: tuple[tuple[Attack, Form, int], ...] = (
    ("statement", "prepended", 5),
    ("statement", "plain", 5),
    ("instruction", "prepended", 3),
    ("multi_answer", "prepended", 4),
    ("article", "plain", 2),
    ("refusal", "prepended", 2),
    ("statement", "prepended", 1),
    ("article", "prepended", 1),
)
"""What is planted for one question after another: kind, form, and how many texts."""


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
        clean: The answer before the attack.
        poisoned: The answer from the poisoned knowledge base, without the guard.
        filtered: The answer with the filter between retriever and reader.
        verdict: What the filter said of it then, or None before.
        answer: The answer with filter and quarantine, so far.
        quarantine_only: The answer after all reports with the quarantine alone.
        reported: Answers that a user has reported as wrong.
        attributions: What came of the reports.
    """

    question: Question
    attack: Attack
    form: Form
    planted: list[Passage]
    clean: str = ""
    poisoned: str = ""
    filtered: str = ""
    verdict: Verdict | None = None
    answer: str = ""
    quarantine_only: str = ""
    reported: set[str] = field(default_factory=set)
    attributions: list[Attribution] = field(default_factory=list)

    @property
    def planted_ids(self) -> set[str]:
        """Ids of what was planted for it."""
        return {passage.id for passage in self.planted}

    @classmethod
    def numbered(cls, question: Question, number: int) -> Case:
        """Return the question under the attack that is next in `ATTACKS`."""
        attack, form, count = ATTACKS[number % len(ATTACKS)]
        return cls(question, attack, form, poison(question, attack, form=form, count=count))

    def asked(self) -> Asked:
        """Return what the report says of it."""
        question, planted = self.question, self.planted_ids
        dropped = [] if self.verdict is None else [p.id in planted for p in self.verdict.dropped]
        traced = accused([self])
        return Asked(
            question=question.text,
            correct_answer=question.correct_answer,
            attack=self.attack,
            form=self.form,
            planted=len(planted),
            clean=self.clean,
            poisoned=self.poisoned,
            filtered=self.filtered,
            final=self.answer,
            quarantine_only=self.quarantine_only,
            clean_right=is_right(question, self.clean),
            poisoned_right=is_right(question, self.poisoned),
            filtered_right=is_right(question, self.filtered),
            final_right=is_right(question, self.answer),
            quarantine_only_right=is_right(question, self.quarantine_only),
            dropped_planted=sum(dropped),
            dropped_benign=len(dropped) - sum(dropped),
            reports=len(self.attributions),
            causes=tuple(found.cause for found in self.attributions),
            traced_planted=len(traced & planted),
            traced_benign=len(traced - planted),
        )


def accused(cases: Iterable[Case]) -> set[str]:
    """Return the ids of the passages that attribution holds responsible in any of the cases."""
    return {
        passage.id
        for case in cases
        for attribution in case.attributions
        for passage in attribution.responsible
    }
