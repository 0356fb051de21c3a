"""The demo's story: ask, poison, filter, report, trace, quarantine, ask again."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from ragguard.attribution.prompts import answer_prompt
from ragguard.attribution.text_model import as_text_model
from ragguard.background import Policy
from ragguard.content import content_key
from ragguard.demo.corpus import Attack, Corpus, Form, load_corpus, poison
from ragguard.demo.reader import ExtractiveReader
from ragguard.demo.report import Case, is_right, summary
from ragguard.errors import InvalidInputError
from ragguard.guard import Guard
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.passage import Passage
from ragguard.verdict import Verdict

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
_OF_MODEL = 4  # questions, unless more are wanted: each takes a model a minute or so on two cores


def run_demo(
    *,
    questions: int | None = None,
    seed: int = 0,
    model: str | None = None,
    on_stage: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Run the whole loop on the fictional knowledge base.

    No network, no server, and no model unless one is named, as `ragguard proxy get` exported it:
    that then answers and attributes, in place of the extractive reader and the lexical proxy. The
    audit store is a SQLite file in a temporary folder. Asked are 1 to 64 questions, None for all,
    or 4 of a model; the seed chooses them, and which attack each one gets. `on_stage` is told in
    words what is done next.

    Returned is the `summary`; "passages" is the size of the clean knowledge base, and
    "clean_touched" from how many clean questions the filter drops a passage.

    Raises:
        InvalidInputError: `questions` is out of range.
        ProxyError: The model is not exported.
    """
    corpus = load_corpus()
    total = len(corpus.questions)
    count = (_OF_MODEL if model else total) if questions is None else questions
    if not 1 <= count <= total:
        raise InvalidInputError(f"questions must be 1 to {total}, not {count}")
    asked = random.Random(seed).sample(corpus.questions, count)
    cases = [
        Case(question, kind, form, poison(question, kind, form=form, count=texts))
        for question, (kind, form, texts) in zip(asked, cycle(MANNERS), strict=False)
    ]
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="ragguard-demo-") as folder:
        found = _run(corpus, cases, f"sqlite:///{Path(folder) / 'audit.db'}", on_stage, model)
    return summary(cases, **found, seed=seed, seconds=time.perf_counter() - started)


class _System:
    """Answers from a knowledge base, with a guard between retriever and reader or without."""

    def __init__(self, corpus: Corpus, model: str | None) -> None:
        self.knowledge = KnowledgeBase(corpus.passages)
        self._reader = ExtractiveReader(passage.text for passage in corpus.passages)
        self._model = None if model is None else as_text_model(model)

    def ask(self, query: str, held: frozenset[str] = frozenset()) -> str:
        """Answer without a filter, from what is not in quarantine."""
        found = self.knowledge.retrieve(query, _READ + len(held))
        return self._read(query, [p for p in found if content_key(p.text) not in held])

    def ask_guarded(self, guard: Guard, query: str) -> tuple[str, Verdict]:
        """Answer from what the guard keeps, and return its verdict as well."""
        verdict = guard.filter(query, self.knowledge.retrieve(query, _RETRIEVED), k=_READ)
        return self._read(query, verdict.kept), verdict

    def _read(self, query: str, passages: Sequence[Passage]) -> str:
        read = passages[:_READ]
        if self._model is not None:
            return self._model.generate(answer_prompt(query, [passage.text for passage in read]))
        return self._reader.answer(query, read) or "I do not know."


def _run(
    corpus: Corpus,
    cases: Sequence[Case],
    store: str,
    on_stage: Callable[[str], None],
    model: str | None,
) -> dict[str, Any]:
    on_stage(f"asking {len(cases)} questions of a clean knowledge base")
    system = _System(corpus, model)
    policy = Policy("auto", per_hour=10 * len(corpus.passages))  # an hour of reports in seconds
    proxy, retrieve = model or "lexical", system.knowledge.retrieve
    timeout_s = _TIMEOUT_S * (1 if model is None else 20)
    with Guard(store=store, retrieve=retrieve, policy=policy, proxy=proxy) as guard:
        clean = [system.ask_guarded(guard, case.question.text) for case in cases]
        paraphrased = [system.ask_guarded(guard, case.question.paraphrase) for case in cases]
        for case in cases:
            case.answers["clean"] = system.ask(case.question.text)
        on_stage("planting false passages, and asking again without and with the filter")
        system.knowledge.add(passage for case in cases for passage in case.planted)
        for case in cases:
            case.answers["poisoned"] = system.ask(case.question.text)
            case.answers["filtered"], case.verdict = system.ask_guarded(guard, case.question.text)
            case.answers["final"] = case.answers["filtered"]
        held: frozenset[str] = frozenset()
        confirmed: set[str] = set()
        rounds = 0
        for rounds in range(1, _MAX_ROUNDS + 1):
            before = held
            on_stage(f"users report wrong answers, round {rounds}: searching for the causes")
            _report_wrong(guard, cases, timeout_s)
            for entry in guard.proposals():  # where a person would look first
                confirmed.add(guard.confirm(entry, actor="operator").key)
            held = guard.store.quarantine_keys()
            for case in cases:
                case.answers["final"], _ = system.ask_guarded(guard, case.question.text)
            if held == before:
                break
        for case in cases:
            case.answers["quarantine_only"] = system.ask(case.question.text, held)
    on_stage("asking a second guard on the same store")
    with Guard(store=store) as second:
        remembered = {
            evidence.passage_id
            for case in cases
            for evidence in system.ask_guarded(second, case.question.text)[1].evidence
            if evidence.signal == "quarantine" and evidence.flagged
        }
    return {
        "passages": len(corpus.passages),
        "retrieved": _RETRIEVED,
        "read": _READ,
        "reader": model or "a reader that is no language model",
        "clean_touched": sum(bool(verdict.dropped) for _, verdict in clean),
        "clean_filtered_right": sum(
            is_right(case.question, answer) for case, (answer, _) in zip(cases, clean, strict=True)
        ),
        "paraphrases_touched": sum(bool(verdict.dropped) for _, verdict in paraphrased),
        "rounds": rounds,
        "at_once": len(held - confirmed),
        "confirmed": len(confirmed),
        "second_guard_dropped": len(remembered),
        "filter_example": _filter_example(cases, system.knowledge),
        "trace_example": _trace_example(cases),
    }


def _report_wrong(guard: Guard, cases: Sequence[Case], timeout_s: float) -> None:
    """Let users report what is wrong, each answer once, and wait for the attributions."""
    events = []
    for number, case in enumerate(cases):
        for answer in dict.fromkeys([case.answers["poisoned"], case.answers["final"]]):
            if not is_right(case.question, answer) and answer not in case.attributions:
                event_id = guard.report(case.question.text, answer, reporter=f"user {number}")
                events.append((case, answer, event_id))
    for case, answer, event_id in events:
        case.attributions[answer] = guard.attribution(event_id, timeout=timeout_s)


def _filter_example(cases: Sequence[Case], knowledge: KnowledgeBase) -> dict[str, Any] | None:
    """Return the first question that the poison spoils and the filter alone puts right."""
    for case in cases:
        if case.right("poisoned") or not case.right("filtered") or case.attack == "refusal":
            continue
        dropped, kept = case.dropped(), {passage.id for passage in case.verdict.kept}
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
                for rank, passage in enumerate(knowledge.retrieve(case.question.text, _RETRIEVED))
                if rank < _READ or passage.id in kept
            ],
        }
    return None


def _trace_example(cases: Sequence[Case]) -> dict[str, Any] | None:
    """Return a question that the quarantine puts right, at best one that the filter left wrong.

    With the attribution that did it, most responsible passages first.
    """
    helped = [case for case in cases if not case.right("poisoned") and case.right("final")]
    helped.sort(key=lambda case: (case.right("filtered"), case.form != "plain"))
    for case in helped:
        for found in case.attributions.values():
            if found.cause == "poisoning":
                scores = sorted(found.to_dict()["scores"], key=lambda one: -one["responsibility"])
                return {
                    "question": found.query,
                    "correct_answer": case.question.correct_answer,
                    "response": found.response,
                    "cause": found.cause,
                    "reason": found.reason,
                    "after": case.answers["final"],
                    "passages": [
                        {**one, "planted": one["id"] in case.planted_ids} for one in scores
                    ],
                }
    return None
