"""How systems word an answer: `python -m benchmarks.worded --data DIR`.

The same wrong answer is reported as production systems give it (`worded.toml`): with citations, in
a record, behind thoughts, in another language. Counted on the report half with the built-in proxy:
which of the planted texts attribution finds, and how many reports of clean bases end in blame.
"""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

from benchmarks.command import Data, Limit, Measured, command, tracked
from benchmarks.datasets import OWN, load_folder
from benchmarks.metrics.outcomes import Counts
from benchmarks.misgeneration import TOP_K, outcome, selected
from benchmarks.report.table import Sections, Table, crossed, shares
from ragguard.attribution import RAGOrigin
from ragguard.proxy import LexicalProxy

_WORDED = Path(__file__).with_suffix(".toml")


def tables(sections: Sections) -> Iterator[Table]:
    yield crossed(
        "Answers as systems word them: planted texts found, and clean events blamed",
        sections["worded"],
        {"answer": "wording"},
        lambda row: row["form"],
        shares(("found", "of")),
    )


@command(tables)
def main(data: Data, limit: Limit = None) -> Measured:
    datasets, worded = load_folder(data), tomllib.loads(_WORDED.read_text(encoding="utf-8"))
    origin, rows = RAGOrigin(proxy=LexicalProxy(), top_k=TOP_K), Counts("found", "of")
    for name, records, base in selected(data, limit):
        for record in tracked(records if name != OWN else (), f"worded: {name}"):
            events = [("clean, blamed", base.event(record))]
            events += [(form, one) for _, form, one in base.poisoned_events(record, 0)]
            for wording, said in worded.items():
                response = said.format(record.wrong, json=json.dumps(record.wrong))
                for form, event in events:
                    found = origin.attribute(event.question, response, event)
                    counts = {"found": bool(found.responsible), "of": 1}
                    if event.poison:
                        counts = {"found": outcome(event, found)["found"], "of": len(event.poison)}
                    rows.add({"wording": wording, "form": form}, counts)
    return {"worded": rows.rows()}, datasets
