"""The two questions that the demo shows in full: one filtered, one traced."""

from __future__ import annotations

from collections.abc import Sequence

from ragguard.demo.case import Case, is_right
from ragguard.demo.report import FilterExample, Shown, Traced, TraceExample
from ragguard.demo.system import READ, RETRIEVED, System

__all__ = ["filter_example", "trace_example"]


def filter_example(system: System, cases: Sequence[Case]) -> FilterExample | None:
    """Show the first question that the poison spoils and the filter alone puts right."""
    for case in cases:
        question, verdict = case.question, case.verdict
        if verdict is None or not is_right(question, case.filtered):
            continue
        if is_right(question, case.poisoned) or case.attack == "refusal":
            continue
        gone = {passage.id for passage in verdict.dropped}
        reasons = {one.passage_id: one.reason for one in verdict.evidence}
        kept = {passage.id for passage in verdict.kept}
        found = system.retriever.retrieve(question.text, RETRIEVED)
        shown = [p for rank, p in enumerate(found) if rank < READ or p.id in kept]
        return FilterExample(
            question=question.text,
            correct_answer=question.correct_answer,
            without=case.poisoned,
            with_filter=case.filtered,
            passages=tuple(
                Shown(
                    id=passage.id,
                    text=passage.text,
                    planted=passage.id in case.planted_ids,
                    dropped=passage.id in gone,
                    reason=reasons[passage.id] if passage.id in gone else "",
                )
                for passage in shown
            ),
        )
    return None


def trace_example(cases: Sequence[Case]) -> TraceExample | None:
    """Show the first question that the filter left wrong and the quarantine puts right."""
    helped = [
        case
        for case in cases
        if case.attributions
        and not is_right(case.question, case.poisoned)
        and is_right(case.question, case.answer)
    ]
    helped.sort(key=lambda case: (is_right(case.question, case.filtered), case.form != "plain"))
    for case in helped:
        for found in case.attributions:
            if found.cause != "poisoning":
                continue
            ranked = sorted(found.scores, key=lambda score: -score.responsibility)
            return TraceExample(
                question=found.query,
                correct_answer=case.question.correct_answer,
                response=found.response,
                cause=found.cause,
                reason=found.reason,
                after=case.answer,
                passages=tuple(
                    Traced(
                        id=score.passage.id,
                        text=score.passage.text,
                        planted=score.passage.id in case.planted_ids,
                        embedding_similarity=score.embedding_similarity,
                        semantic_correlation=score.semantic_correlation,
                        generation_influence=score.generation_influence,
                        responsibility=score.responsibility,
                        responsible=score.responsible,
                    )
                    for score in ranked
                ),
            )
    return None
