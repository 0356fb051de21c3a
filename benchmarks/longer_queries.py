"""Queries that hold more than the question: `python -m benchmarks.longer_queries --data DIR`.

The planted texts repeat the question that their author expects; the query has it in a prompt's
template, a conversation, or beside an instruction. Hits and planted texts are ranked by the query
as it is. Counted on the report half: clean sets touched, planted texts dropped, with the query
judged as a whole alone and with the questions in it (`ragguard.inline.query_reduction`), and
planted and other texts blamed by RAGOrigin, where the wrong answer is reported.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.command import ERRORS, Data, Limit, Measured, command
from benchmarks.datasets import Record
from benchmarks.embedders import built_in
from benchmarks.query_forms import highest, line
from benchmarks.reading import load_with_reading
from benchmarks.report.table import Row, Table, listed, share
from benchmarks.retrieval import RetrievedSet, planted, retrieve
from ragguard.attribution import RAGOrigin
from ragguard.embedding import Embedder
from ragguard.inline.evidence import gather
from ragguard.passage import Passage
from ragguard.proxy import LexicalProxy

QUERIES: Mapping[str, Callable[[str], str]] = {
    "the question alone": lambda asked: asked,
    "a template of a prompt": lambda asked: (
        f"You are a helpful assistant. Answer with the context provided. Question: {asked}"
    ),
    "an instruction behind it": lambda asked: f"{asked} Please answer in one short sentence.",
    "a remark before it": lambda asked: (
        f"I am writing a report for my class and need one more fact for it. {asked}"
    ),
    "a conversation": lambda asked: (
        "User: What is the weather like in Rome?\n"
        "Assistant: It is sunny, with 25 degrees, and will stay so until Friday.\n"
        f"User: {asked}"
    ),
    "a message in JSON": lambda asked: json.dumps({"role": "user", "content": asked}),
    "spoken": lambda asked: f"um hey can you tell me like {asked.rstrip('?')} please",
    "another question before it": lambda asked: f"When was the old mill of Ely built? {asked}",
}
"""What the question stands in, by name."""

KS = (5, 10)
_KIND = "poisonedrag"
_COUNTS = (1, 5)
_LIMIT = 30


def counted(
    name: str, records: Sequence[Record], embedder: Embedder, attributor: RAGOrigin
) -> Iterator[dict[str, Any]]:
    """Yield a row for every setting."""
    longer = QUERIES[name]
    counts = {k: Counter[str]() for k in KS}
    blamed: Counter[str] = Counter()
    for record in track(records, description=name, console=ERRORS):
        asked = replace(record, question=longer(record.question))
        clean = retrieve(asked, embedder, _LIMIT)
        for k, count in counts.items():
            count["sets"] += 1
            for way, (most, _) in _highest(clean, k).items():
                count[f"touched_{way}"] += most >= line((k, False))
        for texts in _COUNTS if record.poison.get(_KIND) else ():
            poison = planted(record, _KIND, "prepend", texts)
            found = retrieve(asked, embedder, _LIMIT, poison)
            for k, count in counts.items():
                if found.poisoned[:k].any():
                    count[f"attacked_{texts}"] += 1
                    for way, (_, of_planted) in _highest(found, k).items():
                        count[f"found_{texts}_{way}"] += of_planted >= line((k, False))
            if texts > 1:
                blamed += _blamed(found, record, attributor)
    for k, count in counts.items():
        yield {"queries": name, "k": k, **count, **blamed}


def _highest(found: RetrievedSet, k: int) -> dict[str, tuple[float, float]]:
    """Return by `_WAYS` the highest suspicion of a set, and that of its planted texts."""
    k = min(k, len(found.texts))
    suspicion = gather(found.question, list(map(Passage, found.texts[:k])), k).suspicion
    planted_ones = suspicion[found.poisoned[:k]]
    both = float(suspicion.max()), float(max(planted_ones, default=-np.inf))
    return dict(zip(_WAYS, (highest(found, (k, False)), both), strict=True))


_WAYS = ("whole", "as_it_is")


def _blamed(found: RetrievedSet, record: Record, attributor: RAGOrigin) -> Counter[str]:
    passages = list(map(Passage, found.texts))
    blame = attributor.attribute(found.question, record.wrong, lambda _, limit: passages[:limit])
    of_attacker = {text for text, bad in zip(found.texts, found.poisoned, strict=True) if bad}
    guilty = {passage.text for passage in blame.responsible}
    return Counter(
        planted=len(of_attacker),
        blamed=len(guilty & of_attacker),
        others=len(passages) - len(of_attacker),
        others_blamed=len(guilty - of_attacker),
    )


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the table of the section "longer_queries"."""
    yield listed(
        "Where the query holds more than the question: as a whole alone / with its questions",
        sections["longer_queries"],
        {
            "the query": "queries",
            "k": lambda row: str(row["k"]),
            "sets": lambda row: str(row["sets"]),
            "clean sets touched": _both("touched", "sets"),
            "one text found": _both("found_1", "attacked_1"),
            "one of five found": _both("found_5", "attacked_5"),
            "planted blamed": lambda row: share(row["blamed"], row["planted"]),
            "others blamed": lambda row: share(row.get("others_blamed", 0), row["others"]),
        },
    )


def _both(name: str, of: str) -> Callable[[Row], str]:
    return lambda row: " / ".join(share(row.get(f"{name}_{way}", 0), row[of]) for way in _WAYS)


@command(tables)
def main(data: Data, limit: Limit = None) -> Measured:
    """Return the section "longer_queries"."""
    datasets = [one.limited(limit) for one in load_with_reading(data)]
    datasets = [one for one in datasets if _KIND in one.kinds]
    attributor, embedder = RAGOrigin(proxy=LexicalProxy()), built_in()
    records = [record for one in datasets for record in one.report]
    rows = [row for name in QUERIES for row in counted(name, records, embedder, attributor)]
    return {"longer_queries": rows}, datasets


if __name__ == "__main__":
    raise SystemExit(main())
