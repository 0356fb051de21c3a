"""What a policy over sources costs and saves: `python -m benchmarks.trust --data DIR`.

Of what retrievers returned for the questions of the report half, half of the passages come from a
source that is known, a tenth from one that is protected, drawn by the hash of their texts. One text
with the question in front, or without it, is planted in the open, or by somebody who may write in
the known source. Counted are the sets that are touched: those from which a passage goes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from zlib import crc32

from rich.console import Console
from rich.progress import track

from benchmarks.command import Command, Measured
from benchmarks.datasets import Dataset
from benchmarks.embedders import built_in
from benchmarks.reading import load_with_reading
from benchmarks.report.table import Table, listed, ratio, share
from benchmarks.retrieval import RetrievedSet, planted, retrieve
from ragguard.embedding import Embedder
from ragguard.inline.pipeline import ConformalFilter
from ragguard.passage import Passage
from ragguard.trust import Trust

_K = 5
_KIND = "poisonedrag"
_POLICIES: Mapping[str, Trust | None] = {
    "none": None,
    "protected": Trust(protected=["protected"]),
    "known 0.1": Trust(protected=["protected"], known=["known"]),
    "known 0.3": Trust(protected=["protected"], known=["known"], known_share=0.3),
}


def source_of_hit(text: str) -> str:
    """Return where a passage comes from: one in ten protected, five known, four open."""
    drawn = crc32(text.encode("utf-8", "replace")) % 10
    return "protected" if drawn == 0 else "known" if drawn <= 5 else "open"


def passages(found: RetrievedSet, planted_in: str) -> list[Passage]:
    """Return a retrieved set with a source for every passage."""
    return [
        Passage(text, metadata={"source": planted_in if poison else source_of_hit(text)})
        for text, poison in zip(found.texts, found.poisoned.tolist(), strict=True)
    ]


def rows(datasets: Sequence[Dataset], embedder: Embedder, errors: Console) -> list[dict[str, Any]]:
    """Return how many sets each policy touches, and how many lose a planted or another passage."""
    filters = {name: ConformalFilter(embedder, trust=one) for name, one in _POLICIES.items()}
    out: dict[tuple[str, str, str], dict[str, int]] = {}
    records = [record for data in datasets for record in data.report]
    for record in track(records, description="questions", console=errors):
        sets: list[tuple[str, str, RetrievedSet]] = []
        sets.append(("", "", retrieve(record, embedder, _K)))
        for form in ("prepend", "plain"):
            texts = planted(record, _KIND, form, 1)
            if texts and (found := retrieve(record, embedder, _K, texts)).poisoned.any():
                sets += [(form, place, found) for place in ("open", "known")]
        for form, place, found in sets:
            given = passages(found, place)
            for name, judge in filters.items():
                flags = judge.decide(record.question, given, _K).flagged
                hit = list(zip(given, flags, found.poisoned.tolist(), strict=True))
                counted = out.setdefault((form, place, name), dict.fromkeys(_COUNTED, 0))
                counted["sets"] += 1
                counted["touched"] += any(flags)
                counted["found"] += any(flag and poison for _, flag, poison in hit)
                benign = [p.metadata["source"] for p, flag, poison in hit if flag and not poison]
                counted["benign"] += bool(benign)
                counted["not_open"] += any(source != "open" for source in benign)
    return [
        {"form": form, "planted_in": place, "policy": name, **counted}
        for (form, place, name), counted in out.items()
    ]


_COUNTED = ("sets", "touched", "found", "benign", "not_open")


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the table of the section "trust"."""
    said = {"prepend": "question in front", "plain": "no question", "": "nothing"}
    yield listed(
        "Policies over sources",
        sorted(sections["trust"], key=lambda row: (row["form"], row["planted_in"])),
        {
            "planted": lambda row: ", ".join(filter(None, (said[row["form"]], row["planted_in"]))),
            **{"policy": "policy", "sets": "sets"},
            "it is dropped": lambda row: share(row["found"], row["sets"]) if row["form"] else "",
            "another": ratio("benign", "sets"),
            "of those known or protected": ratio("not_open", "sets"),
        },
    )


def measure(arguments: argparse.Namespace, errors: Console) -> Measured:
    """Return the rows of every policy, in the section "trust"."""
    datasets = [one.limited(arguments.limit) for one in load_with_reading(arguments.data)]
    return {"trust": rows(datasets, built_in(), errors)}, datasets


main = Command("trust", __doc__, measure, tables)

if __name__ == "__main__":
    sys.exit(main())
