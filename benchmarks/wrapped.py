"""Planted texts inside other text: `python -m benchmarks.wrapped --data DIR`.

What stands around a text, and between its sentences, is the attacker's to choose, and an honest
page may stand in the same. Counted on the report half, at the line of the shipped gate: sets in
which a planted text without the question reaches it, and clean sets in which any passage does, with
the page that ranks first wrapped and with all of them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from benchmarks.command import Data, Limit, Measured, command, tracked
from benchmarks.datasets import Record, load_with_reading
from benchmarks.embedders import built_in
from benchmarks.layouts import Way, templates
from benchmarks.metrics.outcomes import Counts
from benchmarks.report.table import Rows, Sections, Table, crossed, shares
from benchmarks.retrieval import OVER_FETCH, RetrievedSet, planted, retrieve
from benchmarks.samples import COUNTS, Scored
from ragguard.embedding import Embedder

_STOP = re.compile(r"[.!?](?=\s|$)")


WRAPPERS: Mapping[str, Way] = templates("wrapped") | {
    "quoted mail": lambda text: "\n".join(
        ["On Tue, 12 May 2020 Ann Dove wrote:", *(f"> {x}" for x in re.findall(r".{1,70}\b", text))]
    ),
    '" |" for stops': lambda text: _STOP.sub(" |", text),
    '" -" for stops': lambda text: _STOP.sub(" -", text),
    "a line for each stop": lambda text: _STOP.sub("\n", text),
    "no marks": lambda text: re.sub(r"[^\w\s]", "", text),
    "small letters, no marks": lambda text: re.sub(r"[^\w\s]", "", text).lower(),
    "capitals of a title": str.title,
}
_KINDS = ("poisonedrag", "gpt4", "gemini")
_SETTING = (10, True)


def counted(name: str, records: Sequence[Record], embedder: Embedder) -> Rows:
    """Return a row for each way of wrapping honest pages, and for each kind of planted texts."""
    rows, wrap, limit = Counts("sets", "found"), WRAPPERS[name], OVER_FETCH * _SETTING[0]

    def add(texts: str, count: int, found: RetrievedSet) -> None:
        read = Scored(found, _SETTING)
        counts = {"sets": 1, "found": read.fires(read.expected)[count > 0]}
        rows.add({"wrapper": name, "texts": texts, "planted": count}, counts)

    for record in tracked(records, name):
        own = retrieve(record, embedder, limit)
        for pages, some in (("first page", 1), ("all pages", limit)):
            texts = (*map(wrap, own.texts[:some]), *own.texts[some:])
            add(pages, 0, replace(own, texts=texts))
        for kind, count in product(_KINDS, COUNTS):
            poison = [wrap(text) for text in planted(record, kind, "plain", count)]
            given = retrieve(record, embedder, limit, poison)
            if given.poisoned[: _SETTING[0]].any():
                add(kind, count, given)
    return rows.rows()


def tables(sections: Sections) -> Iterator[Table]:
    yield crossed(
        "Planted texts and honest pages inside other text: sets in which one reaches the line",
        sections["wrapped"],
        {"inside": "wrapper"},
        lambda row: f"{row['texts']}, {row['planted']}" if row["planted"] else row["texts"],
        shares(("found", "sets")),
    )


@command(tables)
def main(data: Data, limit: Limit = None) -> Measured:
    datasets = load_with_reading(data)
    records = [record for one in datasets for record in one.limited(limit).report]
    embedder = built_in()
    rows = [row for name in WRAPPERS for row in counted(name, records, embedder)]
    return {"wrapped": rows}, datasets
