"""The demo's story: ask, poison, filter, report, trace, quarantine, ask again."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ragguard.demo.case import Case, accused, is_right
from ragguard.demo.corpus import Corpus, Question, load_corpus
from ragguard.demo.examples import filter_example, trace_example
from ragguard.demo.report import DemoReport
from ragguard.demo.system import READ, RETRIEVED, System
from ragguard.errors import InvalidInputError
from ragguard.guard import Guard

__all__ = ["run_demo"]

_MAX_ROUNDS = 5  # an attack that plants several answers takes one report for each of them
_TIMEOUT_S = 60.0


def run_demo(
    *,
    questions: int | None = None,
    seed: int = 0,
    on_stage: Callable[[str], None] = lambda _: None,
) -> DemoReport:
    """Run the whole loop on the fictional knowledge base.

    No network, no model, no server; the audit store is a SQLite file in a temporary folder.

    Args:
        questions: How many questions to ask, 1 to 64; None for all.
        seed: Seed of the choice of questions and of which attack each one gets.
        on_stage: Is told in words what is done next.

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
        return _run(corpus, chosen, seed, f"sqlite:///{Path(folder) / 'audit.db'}", on_stage)


def _run(
    corpus: Corpus,
    chosen: Sequence[Question],
    seed: int,
    store: str,
    on_stage: Callable[[str], None],
) -> DemoReport:
    started = time.perf_counter()
    on_stage(f"asking {len(chosen)} questions of a clean knowledge base")
    system = System(corpus)
    cases = [Case.numbered(question, number) for number, question in enumerate(chosen)]
    with Guard(store=store, retrieve=system.retriever.retrieve) as guard:
        clean = [system.ask_guarded(guard, case.question.text) for case in cases]
        paraphrased = [system.ask_guarded(guard, case.question.paraphrase) for case in cases]
        for case in cases:
            case.clean = system.ask(case.question.text)
        on_stage("planting false passages, and asking again without and with the filter")
        system.retriever.add(passage for case in cases for passage in case.planted)
        for case in cases:
            case.poisoned = system.ask(case.question.text)
            case.filtered, case.verdict = system.ask_guarded(guard, case.question.text)
            case.answer = case.filtered
        held: frozenset[str] = frozenset()
        rounds = 0
        for number in range(_MAX_ROUNDS):
            before = held
            on_stage(f"users report wrong answers, round {number + 1}: searching for the causes")
            _report_wrong(guard, cases, first=number == 0)
            held = guard.store.quarantine_keys()
            rounds += 1
            for case in cases:
                case.answer, _ = system.ask_guarded(guard, case.question.text)
            if held == before:
                break
        for case in cases:
            case.quarantine_only = system.ask_without(held, case.question.text)
    on_stage("asking a second guard on the same store")
    with Guard(store=store) as second:
        verdicts = [system.ask_guarded(second, case.question.text)[1] for case in cases]
        remembered = {
            evidence.passage_id
            for verdict in verdicts
            for evidence in verdict.evidence
            if evidence.signal == "quarantine" and evidence.flagged
        }
    reported = [case for case in cases if case.attributions]
    traced = accused(cases)
    misled = [case for case in cases if is_right(case.question, case.clean)]
    planted = {passage_id for case in cases for passage_id in case.planted_ids}
    return DemoReport(
        passages=len(corpus.passages),
        retrieved=RETRIEVED,
        read=READ,
        seed=seed,
        asked=tuple(case.asked() for case in cases),
        clean_touched=sum(bool(verdict.dropped) for _, verdict in clean),
        clean_filtered_right=sum(
            is_right(case.question, answer) for case, (answer, _) in zip(cases, clean, strict=True)
        ),
        paraphrases_touched=sum(bool(verdict.dropped) for _, verdict in paraphrased),
        planted=len(planted),
        reported_planted=sum(len(case.planted) for case in reported),
        traced_planted=len(traced & planted),
        traced_benign=len(traced - planted),
        traced_benign_misled=len(accused(misled) - planted),
        rounds=rounds,
        second_guard_dropped=len(remembered),
        filter_example=filter_example(system, cases),
        trace_example=trace_example(cases),
        seconds=time.perf_counter() - started,
    )


def _report_wrong(guard: Guard, cases: Sequence[Case], *, first: bool) -> None:
    """Let users report what is wrong, each answer once, and wait for the attributions.

    In the first round they also report what they were told before the filter was there.
    """
    events: list[tuple[Case, str]] = []
    for case in cases:
        told = [case.poisoned, case.answer] if first else [case.answer]
        for answer in dict.fromkeys(told):
            if not is_right(case.question, answer) and answer not in case.reported:
                case.reported.add(answer)
                events.append((case, guard.report(case.question.text, answer, reporter="user")))
    for case, event_id in events:
        case.attributions.append(guard.attribution(event_id, timeout=_TIMEOUT_S))
