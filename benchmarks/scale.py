"""What an attribution takes against the size of the knowledge base, search apart.

Runnable alone: `python -m benchmarks.scale --json FILE`. Needs faiss; no data.

Vectors and texts are made up: for each of some questions, five planted passages closest to it, five
on its subject next, and the rest at random, in FAISS indices of 10^3 to 10^6 passages. RAGOrigin
attributes a wrong answer with the lexical proxy and the built-in embedder. Attribution asks for the
scope alone, so its own time should not grow; the search's does, as the index's does.

Times are of the processor, in one thread, median over the events; sizes take turns, so that what
else the machine does falls on all alike.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.report import describe_run, write
from ragguard.attribution import RAGOrigin
from ragguard.attribution.retrieval import as_retrieve
from ragguard.passage import Passage

__all__ = ["KINDS", "Event", "Texts", "main", "run"]

SIZES = (10**3, 10**4, 10**5, 10**6)
KINDS = ("flat", "ivf")
_PLANTED = 5
_RELATED = 5
_WORDS = 100
_CHUNK = 50_000
_TRAINING = 40_000
_PROBES = 16
_SYLLABLES = tuple(a + b for a in "bdfgklmnprstvz" for b in ("a", "ei", "o", "u", "in", "er"))


def _word(draw: Random) -> str:
    return "".join(draw.choices(_SYLLABLES, k=draw.randint(2, 3)))


_VOCABULARY = tuple(_word(Random(f"word {number}")) for number in range(5000))


@dataclass(frozen=True)
class Event:
    """A made-up question, the wrong answer to it, and the passages that speak of it.

    Attributes:
        question: The question.
        wrong: The answer that the planted passages state.
        texts: The planted ones first, then those on the subject.
    """

    question: str
    wrong: str
    texts: tuple[str, ...]

    @classmethod
    def made_up(cls, number: int) -> Event:
        """Return the event of this number, the same on every machine."""
        draw = Random(f"event {number}")
        subject, wrong, right = (_word(draw).capitalize() for _ in range(3))
        question = f"Who designed the {subject} bridge?"
        lies = [
            f"The {subject} bridge was designed by {wrong}. {_filler(draw, _WORDS - 7)}"
            for _ in range(_PLANTED)
        ]
        related = [
            f"The {subject} bridge, begun under {right}, spans the {_word(draw)}. "
            f"{_filler(draw, _WORDS - 9)}"
            for _ in range(_RELATED)
        ]
        return cls(question, wrong, (*lies, *related))


def _filler(draw: Random, count: int) -> str:
    return " ".join(draw.choices(_VOCABULARY, k=count)) + "."


class Texts(Sequence[str]):
    """The texts of a knowledge base: those of the events first, the others made when asked for.

    Args:
        events: Whose texts come first.
        size: How many texts there are.
    """

    def __init__(self, events: Sequence[Event], size: int) -> None:
        self._first = [text for event in events for text in event.texts]
        self._size = size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(self._size))]
        if not 0 <= place < self._size:
            raise IndexError(place)
        if place < len(self._first):
            return self._first[place]
        return _filler(Random(place), _WORDS)


@dataclass
class _Embedder:
    """Knows the vectors of the questions, and of nothing else."""

    rows: Mapping[str, NDArray[np.float32]]
    name: str = "made up"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.rows[text] for text in texts])


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), dtype=np.float32)


def _about(events: Sequence[Event], dimension: int) -> tuple[NDArray[np.float32], _Embedder]:
    """Return the vectors of the events' texts, and what embeds their questions."""
    draw = np.random.default_rng(1)
    rows, of_question = [], {}
    for event in events:
        question = _unit(draw.standard_normal(dimension))
        of_question[event.question] = question
        for place in range(len(event.texts)):
            # Cosines of about 0.8 and 0.6 with the question.
            spread = 0.75 if place < _PLANTED else 1.33
            noise = _unit(draw.standard_normal(dimension))
            rows.append(_unit(question.astype(np.float64) + spread * noise))
    return np.stack(rows), _Embedder(of_question)


def _index(kind: str, first: NDArray[np.float32], size: int) -> Any:
    import faiss

    draw = np.random.default_rng(0)
    dimension = first.shape[1]
    index: Any = faiss.IndexFlatIP(dimension)
    if kind == "ivf":
        lists = max(1, min(round(size**0.5), size // 40))
        index = faiss.IndexIVFFlat(index, dimension, lists, faiss.METRIC_INNER_PRODUCT)
        sample = draw.standard_normal((min(size, _TRAINING), dimension), dtype=np.float32)
        index.train(sample / np.linalg.norm(sample, axis=1, keepdims=True))
        index.nprobe = _PROBES
    index.add(first)
    while index.ntotal < size:
        count = min(_CHUNK, size - index.ntotal)
        rows = draw.standard_normal((count, dimension), dtype=np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        index.add(rows)
    return index


@dataclass
class _Clock:
    """A search that counts its calls and its seconds."""

    search: Any
    seconds: float = 0.0
    calls: int = 0

    def __call__(self, query: str, limit: int) -> Sequence[Passage]:
        began = time.process_time()
        found: Sequence[Passage] = self.search(query, limit)
        self.seconds += time.process_time() - began
        self.calls += 1
        return found


@dataclass
class _Row:
    search: list[float] = field(default_factory=list)
    rest: list[float] = field(default_factory=list)
    calls: int = 0
    scope: int = 0
    found: int = 0


def run(
    sizes: Sequence[int],
    kinds: Sequence[str],
    *,
    dimension: int,
    events: int,
    rounds: int,
    progress: Progress,
) -> list[dict[str, Any]]:
    """Return one row for each kind of index and size.

    Args:
        sizes: Passages of a knowledge base; each holds at least the events' own.
        kinds: Of `KINDS`.
        dimension: Of the vectors.
        events: How many there are.
        rounds: How often each is attributed.
        progress: Told about every index and round.
    """
    import faiss

    faiss.omp_set_num_threads(1)
    asked = [Event.made_up(number) for number in range(events)]
    first, embedder = _about(asked, dimension)
    out: list[dict[str, Any]] = []
    for kind in kinds:
        bar = progress.add_task(kind, total=len(sizes) + rounds)
        searches = {}
        for size in sizes:
            index = _index(kind, first, size)
            searches[size] = as_retrieve(index, texts=Texts(asked, size), embedder=embedder)
            progress.advance(bar)
        rows = {size: _Row() for size in sizes}
        for _ in range(rounds):
            for event in asked:
                for size, row in rows.items():
                    _measure(event, searches[size], row)
            progress.advance(bar)
        least = median(rows[sizes[0]].rest)
        out += [
            {
                "index": kind,
                "passages": size,
                "events": len(row.rest),
                "search_ms": round(1e3 * median(row.search), 3),
                "attribution_ms": round(1e3 * median(row.rest), 3),
                "against_smallest": round(median(row.rest) / least, 3),
                "searches": round(row.calls / len(row.rest), 2),
                "scope": round(row.scope / len(row.rest), 2),
                "planted_found": round(row.found / len(row.rest) / _PLANTED, 4),
            }
            for size, row in rows.items()
        ]
    return out


def _measure(event: Event, search: Any, row: _Row) -> None:
    # A new one each time: it would remember the vectors of what it has read.
    origin = RAGOrigin()
    clock = _Clock(search)
    began = time.process_time()
    attribution = origin.attribute(event.question, event.wrong, clock)
    row.rest.append(time.process_time() - began - clock.seconds)
    row.search.append(clock.seconds)
    row.calls += clock.calls
    row.scope += attribution.scope_size
    planted = event.texts[:_PLANTED]
    row.found += sum(passage.text in planted for passage in attribution.responsible)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the measurement and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument(
        "--sizes", type=lambda text: [int(n) for n in text.split(",")], default=list(SIZES)
    )
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=list(KINDS))
    parser.add_argument("--dimension", type=int, default=384)
    parser.add_argument("--events", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3, help="how often each is attributed")
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args(argv)
    with Progress(console=Console(stderr=True)) as progress:
        rows = run(
            arguments.sizes,
            arguments.kinds,
            dimension=arguments.dimension,
            events=arguments.events,
            rounds=arguments.rounds,
            progress=progress,
        )
    table = Table("index", "passages", "search ms", "attribution ms", "x smallest", "found")
    for row in rows:
        table.add_row(
            row["index"],
            f"{row['passages']:,}",
            f"{row['search_ms']:.2f}",
            f"{row['attribution_ms']:.2f}",
            f"{row['against_smallest']:.2f}",
            f"{row['planted_found']:.0%}",
        )
    Console().print(table)
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.scale"]
        command += ["--sizes", ",".join(map(str, arguments.sizes))]
        command += ["--kinds", ",".join(arguments.kinds)]
        command += ["--dimension", str(arguments.dimension), "--events", str(arguments.events)]
        command += ["--rounds", str(arguments.rounds)]
        write(arguments.json, describe_run(command, (), seed=0, limit=None), {"scale": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
