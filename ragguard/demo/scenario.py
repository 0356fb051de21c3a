"""The demo's story: ask, poison, filter, report, trace, quarantine, ask again."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ragguard.content import content_key
from ragguard.demo.corpus import Attack, Corpus, Form, Question, load_corpus, poison
from ragguard.demo.reader import ExtractiveReader
from ragguard.demo.report import Case, filter_example, is_right, summary
from ragguard.demo.retriever import VectorRetriever
from ragguard.errors import InvalidInputError
from ragguard.guard import Guard
from ragguard.passage import Passage
from ragguard.verdict import Verdict

__all__ = ["MANNERS", "run_demo"]

MANNERS: tuple[tuple[Attack, Form, int], ...] = (
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

_READ = 5  # passages that the reader reads
_RETRIEVED = 10  # for the guard, which keeps at most _READ of them
_MAX_ROUNDS = 5  # an attack that plants several answers takes one report for each of them
_TIMEOUT_S = 60.0


def run_demo(
    *,
    questions: int | None = None,
    seed: int = 0,
    on_stage: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run the whole loop on the fictional knowledge base.

    No network, no model, no server; the audit store is a SQLite file in a temporary folder.

    Args:
        questions: How many questions to ask, 1 to 64; None for all.
        seed: Seed of the choice of questions and of which attack each one gets.
        on_stage: Is told in words what is done next.

    Returns:
        "passages" is the size of the clean knowledge base; "retrieved" and "read" say how many the
        retriever fetches and the reader reads; "clean_touched" and "paraphrases_touched" from how
        many clean questions the filter drops a passage, "clean_filtered_right" how many of them are
        answered right with it; "filter_example" and "trace_example" show one question each, or
        None; "rounds" counts the rounds of reports. See `summary` for the others.

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


class _System:
    """Answers from a knowledge base, with a guard between retriever and reader or without."""

    def __init__(self, corpus: Corpus) -> None:
        self.retriever = VectorRetriever(corpus.passages)
        self._reader = ExtractiveReader(passage.text for passage in corpus.passages)

    def ask(self, query: str, held: frozenset[str] = frozenset()) -> str:
        """Answer without a filter, from what is not in quarantine."""
        found = self.retriever.retrieve(query, _READ + len(held))
        return self._read(query, [p for p in found if content_key(p.text) not in held])

    def ask_guarded(self, guard: Guard, query: str) -> tuple[str, Verdict]:
        """Answer from what the guard keeps, and return its verdict as well."""
        verdict = guard.filter(query, self.retriever.retrieve(query, _RETRIEVED), k=_READ)
        return self._read(query, verdict.kept), verdict

    def _read(self, query: str, passages: Sequence[Passage]) -> str:
        return self._reader.answer(query, passages[:_READ]).text or "I do not know."


def _attacked(question: Question, number: int) -> Case:
    """Return the question under the attack that is next in `MANNERS`."""
    kind, form, count = MANNERS[number % len(MANNERS)]
    return Case(question, kind, form, poison(question, kind, form=form, count=count))


def _run(
    corpus: Corpus,
    chosen: Sequence[Question],
    seed: int,
    store: str,
    on_stage: Callable[[str], None],
) -> dict[str, Any]:
    started = time.perf_counter()
    on_stage(f"asking {len(chosen)} questions of a clean knowledge base")
    system = _System(corpus)
    cases = [_attacked(question, number) for number, question in enumerate(chosen)]
    with Guard(store=store, retrieve=system.retriever.retrieve) as guard:
        clean = [system.ask_guarded(guard, case.question.text) for case in cases]
        paraphrased = [system.ask_guarded(guard, case.question.paraphrase) for case in cases]
        for case in cases:
            case.answers["clean"] = system.ask(case.question.text)
        on_stage("planting false passages, and asking again without and with the filter")
        system.retriever.add(passage for case in cases for passage in case.planted)
        for case in cases:
            case.answers["poisoned"] = system.ask(case.question.text)
            case.answers["filtered"], case.verdict = system.ask_guarded(guard, case.question.text)
            case.answers["final"] = case.answers["filtered"]
        held: frozenset[str] = frozenset()
        rounds = 0
        while rounds < _MAX_ROUNDS:
            before = held
            rounds += 1
            on_stage(f"users report wrong answers, round {rounds}: searching for the causes")
            _report_wrong(guard, cases, first=rounds == 1)
            held = guard.store.quarantine_keys()
            for case in cases:
                case.answers["final"], _ = system.ask_guarded(guard, case.question.text)
            if held == before:
                break
        for case in cases:
            case.answers["quarantine_only"] = system.ask(case.question.text, held)
    on_stage("asking a second guard on the same store")
    with Guard(store=store) as second:
        verdicts = [system.ask_guarded(second, case.question.text)[1] for case in cases]
        remembered = {
            evidence.passage_id
            for verdict in verdicts
            for evidence in verdict.evidence
            if evidence.signal == "quarantine" and evidence.flagged
        }
    return summary(
        cases,
        passages=len(corpus.passages),
        retrieved=_RETRIEVED,
        read=_READ,
        seed=seed,
        clean_touched=sum(bool(verdict.dropped) for _, verdict in clean),
        clean_filtered_right=sum(
            is_right(case.question, answer) for case, (answer, _) in zip(cases, clean, strict=True)
        ),
        paraphrases_touched=sum(bool(verdict.dropped) for _, verdict in paraphrased),
        rounds=rounds,
        second_guard_dropped=len(remembered),
        filter_example=filter_example(
            cases, system.retriever.retrieve, retrieved=_RETRIEVED, read=_READ
        ),
        seconds=time.perf_counter() - started,
    )


def _report_wrong(guard: Guard, cases: Sequence[Case], *, first: bool) -> None:
    """Let users report what is wrong, each answer once, and wait for the attributions.

    In the first round they also report what they were told before the filter was there.
    """
    events: list[tuple[Case, str]] = []
    for case in cases:
        told = [case.answers[stage] for stage in (("poisoned", "final") if first else ("final",))]
        for answer in dict.fromkeys(told):
            if not is_right(case.question, answer) and answer not in case.reported:
                case.reported.add(answer)
                events.append((case, guard.report(case.question.text, answer, reporter="user")))
    for case, event_id in events:
        case.attributions.append(guard.attribution(event_id, timeout=_TIMEOUT_S))
