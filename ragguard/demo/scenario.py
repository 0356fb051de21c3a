"""The demo's story: ask, poison, filter, report, trace, quarantine, ask again."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ragguard.attribution.attribution import Attribution
from ragguard.demo.corpus import Attack, Corpus, Form, Question, load_corpus, poison
from ragguard.demo.reader import ExtractiveReader
from ragguard.demo.report import (
    Asked,
    DemoReport,
    FilterExample,
    Shown,
    Traced,
    TraceExample,
)
from ragguard.demo.retriever import VectorRetriever
from ragguard.errors import InvalidInputError
from ragguard.guard import Guard
from ragguard.passage import Passage, content_key
from ragguard.text import tokens
from ragguard.verdict import Verdict

__all__ = ["is_right", "run_demo"]

READ = 5
RETRIEVED = 10
NO_ANSWER = "I do not know."

_ATTACKS: tuple[tuple[Attack, Form, int], ...] = (
    ("statement", "prepended", 5),
    ("statement", "plain", 5),
    ("instruction", "prepended", 3),
    ("multi_answer", "prepended", 4),
    ("article", "plain", 2),
    ("refusal", "prepended", 2),
    ("statement", "prepended", 1),
    ("article", "prepended", 1),
)
_MAX_ROUNDS = 5  # an attack that plants several answers takes one report for each of them
_TIMEOUT_S = 60.0


def is_right(question: Question, answer: str) -> bool:
    """Return True if the correct answer stands in `answer`, word for word."""
    return f" {' '.join(tokens(question.correct_answer))} " in f" {' '.join(tokens(answer))} "


@dataclass
class _Case:
    """A question under attack, and what happens to it on the way."""

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
        return {passage.id for passage in self.planted}


class _System:
    """A RAG system: the retriever, the reader, and a guard between them when there is one."""

    def __init__(self, corpus: Corpus) -> None:
        self.retriever = VectorRetriever(corpus.passages)
        self._reader = ExtractiveReader(passage.text for passage in corpus.passages)

    def read(self, query: str, passages: Sequence[Passage]) -> str:
        return self._reader.answer(query, passages[:READ]).text or NO_ANSWER

    def ask(self, query: str) -> str:
        return self.read(query, self.retriever.retrieve(query, READ))

    def ask_guarded(self, guard: Guard, query: str) -> tuple[str, Verdict]:
        verdict = guard.filter(query, self.retriever.retrieve(query, RETRIEVED), k=READ)
        return self.read(query, verdict.kept), verdict

    def ask_without(self, held: frozenset[str], query: str) -> str:
        """Answer without a filter, from what is not in quarantine."""
        found = self.retriever.retrieve(query, READ + len(held))
        return self.read(query, [p for p in found if content_key(p.text) not in held])


def run_demo(*, questions: int | None = None, seed: int = 0) -> DemoReport:
    """Run the whole loop on the fictional knowledge base.

    No network, no model, no server; the audit store is a SQLite file in a temporary folder.

    Args:
        questions: How many questions to ask, 1 to 64; None for all.
        seed: Seed of the choice of questions and of which attack each one gets.

    Raises:
        InvalidInputError: `questions` is out of range.
    """
    corpus = load_corpus()
    total = len(corpus.questions)
    count = total if questions is None else questions
    if not 1 <= count <= total:
        raise InvalidInputError(f"questions must be 1 to {total}, not {count}")
    with tempfile.TemporaryDirectory(prefix="ragguard-demo-") as folder:
        chosen = random.Random(seed).sample(corpus.questions, count)
        return _run(corpus, chosen, seed, f"sqlite:///{Path(folder) / 'audit.db'}")


def _run(corpus: Corpus, chosen: Sequence[Question], seed: int, store: str) -> DemoReport:
    started = time.perf_counter()
    system = _System(corpus)
    cases = [_case(question, number) for number, question in enumerate(chosen)]
    with Guard(store=store, retrieve=system.retriever.retrieve) as guard:
        clean = [system.ask_guarded(guard, case.question.text) for case in cases]
        paraphrased = [system.ask_guarded(guard, case.question.paraphrase) for case in cases]
        for case in cases:
            case.clean = system.ask(case.question.text)
        system.retriever.add(passage for case in cases for passage in case.planted)
        for case in cases:
            case.poisoned = system.ask(case.question.text)
            case.filtered, case.verdict = system.ask_guarded(guard, case.question.text)
            case.answer = case.filtered
        held: frozenset[str] = frozenset()
        rounds = 0
        for number in range(_MAX_ROUNDS):
            before = held
            _report_wrong(guard, cases, first=number == 0)
            held = guard.store.quarantine_keys()
            rounds += 1
            for case in cases:
                case.answer, _ = system.ask_guarded(guard, case.question.text)
            if held == before:
                break
        for case in cases:
            case.quarantine_only = system.ask_without(held, case.question.text)
    with Guard(store=store) as second:
        verdicts = [system.ask_guarded(second, case.question.text)[1] for case in cases]
        remembered = {
            evidence.passage_id
            for verdict in verdicts
            for evidence in verdict.evidence
            if evidence.signal == "quarantine" and evidence.flagged
        }
    reported = [case for case in cases if case.attributions]
    accused = _accused(cases)
    misled = [case for case in cases if is_right(case.question, case.clean)]
    planted = {passage_id for case in cases for passage_id in case.planted_ids}
    return DemoReport(
        passages=len(corpus.passages),
        retrieved=RETRIEVED,
        read=READ,
        seed=seed,
        asked=tuple(_asked(case) for case in cases),
        clean_touched=sum(bool(verdict.dropped) for _, verdict in clean),
        clean_filtered_right=sum(
            is_right(case.question, answer) for case, (answer, _) in zip(cases, clean, strict=True)
        ),
        paraphrases_touched=sum(bool(verdict.dropped) for _, verdict in paraphrased),
        planted=len(planted),
        reported_planted=sum(len(case.planted) for case in reported),
        traced_planted=len(accused & planted),
        traced_benign=len(accused - planted),
        traced_benign_misled=len(_accused(misled) - planted),
        rounds=rounds,
        second_guard_dropped=len(remembered),
        filter_example=_filter_example(system, cases),
        trace_example=_trace_example(cases),
        seconds=time.perf_counter() - started,
    )


def _case(question: Question, number: int) -> _Case:
    attack, form, count = _ATTACKS[number % len(_ATTACKS)]
    return _Case(question, attack, form, poison(question, attack, form=form, count=count))


def _report_wrong(guard: Guard, cases: Sequence[_Case], *, first: bool) -> None:
    """Let users report what is wrong, each answer once, and wait for the attributions.

    In the first round they also report what they were told before the filter was there.
    """
    events: list[tuple[_Case, str]] = []
    for case in cases:
        told = [case.poisoned, case.answer] if first else [case.answer]
        for answer in dict.fromkeys(told):
            if not is_right(case.question, answer) and answer not in case.reported:
                case.reported.add(answer)
                events.append((case, guard.report(case.question.text, answer, reporter="user")))
    for case, event_id in events:
        case.attributions.append(guard.attribution(event_id, timeout=_TIMEOUT_S))


def _accused(cases: Iterable[_Case]) -> set[str]:
    return {
        passage.id
        for case in cases
        for attribution in case.attributions
        for passage in attribution.responsible
    }


def _asked(case: _Case) -> Asked:
    question, planted = case.question, case.planted_ids
    dropped = [] if case.verdict is None else [p.id in planted for p in case.verdict.dropped]
    traced = _accused([case])
    return Asked(
        question=question.text,
        correct_answer=question.correct_answer,
        attack=case.attack,
        form=case.form,
        planted=len(planted),
        clean=case.clean,
        poisoned=case.poisoned,
        filtered=case.filtered,
        final=case.answer,
        quarantine_only=case.quarantine_only,
        clean_right=is_right(question, case.clean),
        poisoned_right=is_right(question, case.poisoned),
        filtered_right=is_right(question, case.filtered),
        final_right=is_right(question, case.answer),
        quarantine_only_right=is_right(question, case.quarantine_only),
        dropped_planted=sum(dropped),
        dropped_benign=len(dropped) - sum(dropped),
        reports=len(case.attributions),
        causes=tuple(found.cause for found in case.attributions),
        traced_planted=len(traced & planted),
        traced_benign=len(traced - planted),
    )


def _filter_example(system: _System, cases: Sequence[_Case]) -> FilterExample | None:
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


def _trace_example(cases: Sequence[_Case]) -> TraceExample | None:
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
