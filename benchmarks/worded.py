"""How systems word an answer: `python -m benchmarks.worded --data DIR`.

The same wrong answer is reported as production systems give it (`worded.toml`): with citations, in
a record, behind thoughts, in another language; and of some questions in the whole answers that a
language model has written for them, with details of the pages beside it, in seven styles
(`datasets/long_answers.jsonl`; that model saw the data, and no code). Counted on the report half
with the built-in proxy: which of the planted texts attribution finds, how many events have an
honest page blamed beside them, and how many reports of clean bases end in blame.
"""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

from benchmarks.command import Data, Limit, Measured, command, tracked
from benchmarks.datasets import OWN, Record, lines, load_folder
from benchmarks.metrics.outcomes import Counts
from benchmarks.misgeneration import TOP_K, outcome, selected
from benchmarks.report.table import Sections, Table, crossed, shares
from ragguard.attribution import RAGOrigin
from ragguard.proxy import LexicalProxy

_HERE = Path(__file__).parent
_LONG = {one["question"]: one["answers"] for one in lines(_HERE / "datasets/long_answers.jsonl")}
_WORDED = tomllib.loads((_HERE / "worded.toml").read_text(encoding="utf-8"))
_COUNTS = ("found", "of", "wronged", "events")
_WHAT = {"worded": "Answers as systems word them", "long": "Whole answers of a language model"}


def tables(sections: Sections) -> Iterator[Table]:
    for name, what in _WHAT.items():
        for told, counts in (
            ("planted texts found, and clean events blamed", ("found", "of")),
            ("events in which an honest page is blamed", ("wronged", "events")),
        ):
            yield crossed(
                f"{what}: {told}",
                sections[name],
                {"answer": "wording"},
                lambda row: row["form"],
                shares(counts),
            )


def _worded(record: Record) -> Iterator[tuple[str, str, str]]:
    for wording, said in _WORDED.items():
        yield "worded", wording, said.format(record.wrong, json=json.dumps(record.wrong))
    if long := _LONG.get(record.question):
        yield "long", "the answer alone", record.wrong
        yield from (("long", style, said) for style, said in long.items())


@command(tables)
def main(data: Data, limit: Limit = None) -> Measured:
    datasets, origin = load_folder(data), RAGOrigin(proxy=LexicalProxy(), top_k=TOP_K)
    rows = {name: Counts(*_COUNTS) for name in _WHAT}
    for name, records, base in selected(data, limit):
        for record in tracked(records if name != OWN else (), f"worded: {name}"):
            events = [("clean, blamed", base.event(record))]
            events += [(form, one) for _, form, one in base.poisoned_events(record, 0)]
            alone = [(f"{form}, one", one) for form, one in base.single_events(record, 0)]
            for section, wording, response in _worded(record):
                for form, event in [*events, *(alone if section == "long" else ())]:
                    n = outcome(event, origin.attribute(event.question, response, event))
                    wronged = n["wronged"] > 0
                    found = (n["found"], len(event.poison)) if event.poison else (wronged, 1)
                    counts = dict(zip(_COUNTS, (*found, wronged, 1), strict=True))
                    rows[section].add({"wording": wording, "form": form}, counts)
    return {name: one.rows() for name, one in rows.items()}, datasets
