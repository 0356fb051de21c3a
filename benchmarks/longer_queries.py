"""Queries that hold more than the question: `python -m benchmarks.longer_queries --data DIR`.

The planted texts repeat the question that their author expects; the query has it in a prompt's
template, a conversation, or beside an instruction. Hits and planted texts are ranked by the query
as it is. Counted on the report half: clean sets touched, planted texts dropped, with the query
judged as a whole alone and with the questions in it (`ragguard.inline.query_reduction`), and
planted and other texts blamed by RAGOrigin, where the wrong answer is reported.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.command import Data, Limit, Measured, command, tracked
from benchmarks.datasets import Record
from benchmarks.embedders import built_in
from benchmarks.metrics.outcomes import Counts
from benchmarks.reading import load_with_reading
from benchmarks.report.table import Row, Rows, Table, listed, share
from benchmarks.retrieval import RetrievedSet, planted, retrieve
from benchmarks.scored import Scored
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

_KS = (5, 10)
_KIND = "poisonedrag"
_COUNTS = (1, 5)
_LIMIT = 30
_WAYS = ("whole", "as_it_is")
_NAMES = (
    *("sets", *(f"touched_{way}" for way in _WAYS), *(f"attacked_{count}" for count in _COUNTS)),
    *(f"found_{count}_{way}" for count in _COUNTS for way in _WAYS),
    *("planted", "blamed", "others", "others_blamed"),
)


def counted(
    name: str, records: Sequence[Record], embedder: Embedder, attributor: RAGOrigin
) -> Rows:
    rows = Counts(*_NAMES)
    for record in tracked(records, name):
        asked = replace(record, question=QUERIES[name](record.question))
        clean = retrieve(asked, embedder, _LIMIT)
        for k in _KS:
            touched = {f"touched_{way}": fired for way, (fired, _) in _fires(clean, k).items()}
            rows.add({"queries": name, "k": k}, {"sets": 1, **touched})
        for count in _COUNTS if record.poison.get(_KIND) else ():
            poison = planted(record, _KIND, "prepend", count)
            found = retrieve(asked, embedder, _LIMIT, poison)
            blamed = _blamed(found, record, attributor) if count > 1 else {}
            for k in _KS:
                counts = dict(blamed)
                if found.poisoned[:k].any():
                    fires = _fires(found, k).items()
                    counts |= {f"found_{count}_{way}": hit for way, (_, hit) in fires}
                    counts[f"attacked_{count}"] = 1
                rows.add({"queries": name, "k": k}, counts)
    return rows.rows()


def _fires(found: RetrievedSet, k: int) -> dict[str, tuple[bool, bool]]:
    """Return by `_WAYS` whether a set fires the gate, and whether a planted text does."""
    whole, first = Scored(found, (k, False)), list(map(Passage, found.texts[:k]))
    over = gather(found.question, first, len(first)).suspicion >= whole.line
    as_it_is = bool(over.any()), bool(over[found.poisoned[:k]].any())
    return dict(zip(_WAYS, (whole.fires(), as_it_is), strict=True))


def _blamed(found: RetrievedSet, record: Record, attributor: RAGOrigin) -> dict[str, int]:
    passages = list(map(Passage, found.texts))
    blame = attributor.attribute(found.question, record.wrong, lambda _, limit: passages[:limit])
    of_attacker = {text for text, bad in zip(found.texts, found.poisoned, strict=True) if bad}
    guilty = {passage.text for passage in blame.responsible}
    counts = {"planted": len(of_attacker), "blamed": len(guilty & of_attacker)}
    others = len(passages) - len(of_attacker)
    return counts | {"others": others, "others_blamed": len(guilty - of_attacker)}


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    yield listed(
        "Where the query holds more than the question: as a whole alone / with its questions",
        sections["longer_queries"],
        {
            "the query": "queries",
            **{"k": "k", "sets": "sets"},
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
    datasets = [one.limited(limit) for one in load_with_reading(data)]
    datasets = [one for one in datasets if _KIND in one.kinds]
    attributor, embedder = RAGOrigin(proxy=LexicalProxy()), built_in()
    records = [record for one in datasets for record in one.report]
    rows = [row for name in QUERIES for row in counted(name, records, embedder, attributor)]
    return {"longer_queries": rows}, datasets
