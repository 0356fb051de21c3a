"""How indexers store passages: `python -m benchmarks.layouts --data DIR`.

The same text is stored behind a number, a label, a date or its title, in a record or in lines, and
all passages of a set are stored alike. Counted on the report half, at the line of the shipped gate
for five passages and nothing below: clean sets in which any passage reaches it, and attacked ones
in which a planted text does.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.command import Data, Limit, Measured, command, tracked
from benchmarks.datasets import Record, load_folder
from benchmarks.embedders import built_in
from benchmarks.metrics.outcomes import Counts
from benchmarks.query_forms import as_given, planted_first
from benchmarks.report.table import Table, crossed, share
from benchmarks.retrieval import RetrievedSet, planted, retrieve
from benchmarks.samples import Scored, Setting
from ragguard.embedding import Embedder

_SETTING: Setting = (5, False)
_SENTENCE = re.compile(r"(?<=[.!?]) +")
_TITLES = ("title", "what_is")


def _parted(between: str) -> Callable[[str], str]:
    """Return what puts something else between title and text, which a full stop parts here."""
    return lambda text: text.replace(". ", between, 1)


LAYOUTS: Mapping[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "a number, [3]": lambda text: f"[3] {text}",
    "a number, 3.": lambda text: f"3. {text}",
    "Passage 3:": lambda text: f"Passage 3: {text}",
    "an ellipsis at both ends": lambda text: f"... {text} ...",
    "passage:": lambda text: f"passage: {text}",
    "a date": lambda text: f"2021-03-04 {text}",
    "author, date, text": lambda text: f"Author: A. Dove | Date: 2021-03-04 | {text}",
    "a record of JSON": lambda text: json.dumps({"id": 17, "text": text}, ensure_ascii=False),
    "lines of source and page": lambda text: f"Source: handbook.pdf\nPage: 3\n\n{text}",
    "a sentence of context": lambda text: f"This chunk is from the handbook, part three.\n\n{text}",
    "title and text without a mark": _parted(" "),
    "title and text by a dash": _parted(" - "),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "lines of sixty letters": lambda text: "\n".join(re.findall(r".{1,60}(?:\s|$)", text)),
    "a line for each sentence": lambda text: "\n".join(_SENTENCE.split(text)),
    "bullets": lambda text: "\n".join(f"- {one}" for one in _SENTENCE.split(text)),
    "paragraphs of HTML": lambda text: "".join(f"<p>{one}</p>" for one in _SENTENCE.split(text)),
    "no marks": lambda text: re.sub(r"[^\w\s]+", " ", text),
    "small letters, no marks": lambda text: re.sub(r"[^\w\s]+", " ", text).lower(),
}
"""How a passage is stored, by name."""


def groups(
    folder: Path, records: Sequence[Record], embedder: Embedder
) -> Iterator[tuple[str, bool, list[RetrievedSet]]]:
    """Yield a name, whether something was planted, and the sets."""
    clean = [retrieve(one, embedder, _SETTING[0]) for one in records]
    yield "questions", False, clean
    for name in ("machine_written", "languages"):
        sets = [found for _, found in list(as_given(folder, name))[1::2]]
        yield name, False, sets
    pages = [one.texts[0] for one in (*clean, *sets)]
    honest = zip([*clean, *sets], [*pages[1:], pages[0]], strict=True)
    keywords = list(as_given(folder, "keyword_traffic"))[1::2]
    yield "titles", False, [found for form, found in keywords if form in _TITLES]
    yield "question and honest text", True, [planted_first(one, text) for one, text in honest]
    for form, said in (("prepend", "question and PoisonedRAG's text"), ("plain", "its text alone")):
        poison = [(one, planted(one, "poisonedrag", form, 1)) for one in records]
        found = [retrieve(one, embedder, _SETTING[0], texts) for one, texts in poison if texts]
        yield said, True, [one for one in found if one.poisoned[: _SETTING[0]].any()]


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    yield crossed(
        "Stored in other ways: clean sets touched, and planted texts found",
        sections["layouts"],
        {"stored": "layout"},
        lambda row: row["texts"] + (", found" if row["attacked"] else ", touched"),
        lambda rows: share(rows[0]["reached"], rows[0]["sets"]),
    )


@command(tables)
def main(data: Data, limit: Limit = None) -> Measured:
    datasets = [one.limited(limit) for one in load_folder(data)]
    records = [record for one in datasets for record in one.report]
    rows = Counts("sets", "reached")
    for texts, attacked, sets in tracked(list(groups(data, records, built_in())), "layouts"):
        for name, stored in LAYOUTS.items():
            place = {"layout": name, "texts": texts, "attacked": attacked}
            for one in sets:
                read = Scored(replace(one, texts=tuple(map(stored, one.texts))), _SETTING)
                rows.add(place, {"sets": 1, "reached": read.fires(read.expected)[attacked]})
    return {"layouts": rows.rows()}, datasets
