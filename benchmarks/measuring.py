"""Measures one cell: plants, retrieves, defends, asks the reader, and judges what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.cells import Cell
from benchmarks.datasets import Dataset, Record
from benchmarks.datasets.sources import load
from benchmarks.embedders import embedder_of
from benchmarks.metrics.matching import judged, refuses
from benchmarks.metrics.matching import place as said_at
from benchmarks.metrics.outcomes import removed
from benchmarks.misgeneration import Event, KnowledgeBase, outcome
from benchmarks.plugins import WRITTEN, Attack, Case, Setting, attack_named, find
from benchmarks.readers.base import Answer, Kept, Prompt
from benchmarks.retrieval import retrieve
from ragguard.attribution.text_model import Usage
from ragguard.content import content_key
from ragguard.embedding import HashedEmbedder

_PLACES = ("an encyclopedia", "a newspaper", "a textbook", "a forum", "a web page")
"""What a model is told to write for: told the same again, a greedy one writes the same."""


@dataclass(frozen=True)
class Place:
    """Where a run reads and keeps."""

    data: Path | None  # the data folder
    folder: Path  # holds the cells and the answers


def measure(cell: Cell, place: Place) -> tuple[int, list[dict[str, Any]]]:
    """Return how many rows a cell should have, and its rows.

    A question for which the attack has nothing to plant has no row. Where an attack has nothing
    for any question, 0 rows are expected.
    """
    attack, writer = attack_named(cell.attack)
    writes = reader_of(writer, place.folder) if writer else None
    data = load(cell.dataset, place.data)
    planted = [
        (record, texts)
        for record in sample(data, cell)
        if (texts := _planted(attack, record, cell, writes)) or cell.attack == "none"
    ]
    if cell.room == "attributors":
        rows = _blamed(cell, data, planted)
        return len(rows), rows
    return len(planted), _defended(cell, place, data, attack, planted)


def sample(data: Dataset, cell: Cell) -> Sequence[Record]:
    """Return the cell's questions: of the report half, drawn by the seed, in their order."""
    records = data.report
    if not 0 < cell.questions < len(records):
        return records
    chosen = sorted(Random(cell.seed).sample(range(len(records)), cell.questions))
    return [records[number] for number in chosen]


def _planted(attack: Attack, record: Record, cell: Cell, writes: Kept | None) -> list[str]:
    draw = Random(f"{cell.attack} {cell.seed} {record.id}")
    if writes is not None:
        told = {"question": record.question, "wrong": record.wrong}
        orders = [attack.write.format(**told, place=place) for place in _PLACES if record.wrong]
        texts = [writes.answer(Prompt("", (), order)).text for order in orders[: cell.planted]]
        record = replace(record, poison={WRITTEN: tuple(filter(None, texts))})
    return list(dict.fromkeys(attack.plant(record, cell.planted, draw)))[: cell.planted]


def _defended(
    cell: Cell,
    place: Place,
    data: Dataset,
    attack: Attack,
    planted: Sequence[tuple[Record, list[str]]],
) -> list[dict[str, Any]]:
    """Return a row for each question, by its id; no text of the data is kept.

    Beside what `removed` counts: texts `planted`, planted ones `left` for the reader, whether a
    kept passage was `marked`, whether the answer is `right` and what the attacker wants
    (`attacked`), the `calls` of the model and the tokens `read` and `written`, the `ms` that the
    defence took without it, and its `p`-value of "this is clean traffic" where it has one.
    """
    embedder = embedder_of(cell.retriever)
    defence = find("defences", cell.method)
    judge = defence.make(Setting(data, embedder, cell.k, cell.seed))
    reader = reader_of(cell.reader, place.folder)
    rows = []
    for record, texts in planted:
        asked = replace(record, question=attack.ask(record.question)) if texts else record
        retrieved = retrieve(asked, embedder, cell.k * defence.over_fetch, texts)
        count = _Counting(reader)
        case = Case(record, retrieved, cell.k, count.read)
        start = perf_counter()
        decision = judge(case)
        took = perf_counter() - start - count.seconds
        answer = decision.answer
        if answer is None:
            answer = count.read(case.prompt(decision.kept, decision.instruction)).text
        right, wrong = judged(answer, record.correct, record.incorrect)
        gone = ~np.isin(np.arange(len(retrieved.texts[: cell.k])), decision.kept)
        rows.append(
            {
                "question": record.id,
                "planted": len(texts),
                **removed(retrieved, gone),
                "marked": int(decision.marked),
                "left": int(retrieved.poisoned[list(decision.kept)].sum()),
                "right": int(right),
                "attacked": int(refuses(answer) if attack.refusal else wrong),
                "calls": count.usage.calls,
                "read": count.usage.input_tokens,
                "written": count.usage.output_tokens,
                "ms": round(1000 * took, 2),
                "p": None if decision.p_value is None else round(decision.p_value, 5),
            }
        )
    return rows


def _blamed(
    cell: Cell, data: Dataset, planted: Sequence[tuple[Record, list[str]]]
) -> list[dict[str, Any]]:
    """Return one row an event: which passages behind a wrong answer are held responsible.

    The knowledge base of an event is every hit of every question and what was planted for this
    one, ranked by the built-in embedder. A question is an event if a planted text that says the
    false answer is among the first k; that answer is reported. Counts are over the texts in scope,
    as in the papers; planted texts that the search did not reach are `out_of_scope`.
    """
    attributor = find("attributors", cell.method).make(
        Setting(data, HashedEmbedder(), cell.k, cell.seed)
    )
    base = _base(tuple(text for record in data.records for text in record.hits))
    rows = []
    for record, texts in planted:
        ranked = base.ranked(record.question, texts)
        first = [passage.text for passage in ranked[: cell.k]]
        if not record.incorrect or not any(
            said_at(text, record.incorrect) is not None for text in first if text in texts
        ):
            continue
        start = perf_counter()
        event = Event(record.question, record.incorrect[0], ranked, frozenset(texts))
        found = attributor.attribute(event.question, event.wrong, event.retrieve)
        took = perf_counter() - start
        rows.append(
            {
                "question": record.id,
                **outcome(event, found),
                "calls": int(found.details.get("calls", 0)),
                "ms": round(1000 * took, 2),
            }
        )
    return rows


@lru_cache(maxsize=2)
def _base(texts: tuple[str, ...]) -> KnowledgeBase:
    """Return the texts, those of the same words once, embedded; a process keeps two datasets."""
    return KnowledgeBase(list({content_key(text): text for text in texts}.values()))


class _Counting:
    """Asks a reader and counts what that costs."""

    def __init__(self, reader: Kept) -> None:
        self._reader = reader
        self.usage = Usage()
        self.seconds = 0.0

    def read(self, prompt: Prompt) -> Answer:
        start = perf_counter()
        answer = self._reader.answer(prompt)
        self.seconds += perf_counter() - start
        self.usage += Usage(1, answer.read, answer.written)
        return answer


@lru_cache(maxsize=2)
def reader_of(name: str, folder: Path) -> Kept:
    """Return a reader that remembers its answers in `folder`; a process keeps it.

    The name is that of the plug-in, then whatever it is made with, parted by blanks.
    """
    plugin, *options = name.split()
    return Kept(find("readers", plugin).make(*options), folder)
