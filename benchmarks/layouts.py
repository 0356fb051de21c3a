"""How passages are stored, queries are put, and few are asked for: `python -m benchmarks.layouts`.

The same text is stored behind a number, a label, a date or its title, in a record or in lines, and
all passages of a set are stored alike; the same question is put behind a greeting, in a template or
in a record; or fewer than five passages are retrieved. Counted on the report half, as the shipped
filter decides, with nothing below: clean sets that are touched, and attacked ones in which a
planted text is dropped.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks.command import Data, Limit, Measured, command, tracked
from benchmarks.datasets import Record, load_folder
from benchmarks.embedders import built_in
from benchmarks.metrics.outcomes import Counts
from benchmarks.query_forms import as_given, planted_first
from benchmarks.report.table import Sections, Table, crossed, shares
from benchmarks.retrieval import RetrievedSet, planted, retrieve
from ragguard.embedding import Embedder, HashedEmbedder
from ragguard.inline.pipeline import ConformalFilter
from ragguard.passage import Passage

_K = 5
_SENTENCE = re.compile(r"(?<=[.!?]) +")
_KINDS = {"stored": "Stored in other ways", "query": "Put in other ways", "size": "Fewer passages"}
_FORMS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

Way = Callable[[str], str]


def templates(section: str) -> dict[str, Way]:
    """Return the ways that a section of `layouts.toml` has, by name."""
    return {name: partial(_filled, form) for name, form in _FORMS[section].items()}


def _filled(form: str, text: str) -> str:
    small, bare = text[:1].lower() + text[1:], text.rstrip("? ")
    return form.format(text, json=json.dumps(text), small=small, bare=bare)


LAYOUTS: Mapping[str, Way] = templates("stored") | {
    "a record of JSON": lambda text: json.dumps({"id": 17, "text": text}, ensure_ascii=False),
    # A full stop parts them in this data.
    "title and text without a mark": lambda text: text.replace(". ", " ", 1),
    "title and text by a dash": lambda text: text.replace(". ", " - ", 1),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "lines of sixty letters": lambda text: "\n".join(re.findall(r".{1,60}(?:\s|$)", text)),
    "a line for each sentence": lambda text: "\n".join(_SENTENCE.split(text)),
    "bullets": lambda text: "\n".join(f"- {one}" for one in _SENTENCE.split(text)),
    "paragraphs of HTML": lambda text: "".join(f"<p>{one}</p>" for one in _SENTENCE.split(text)),
    "no marks": lambda text: re.sub(r"[^\w\s]+", " ", text),
    "small letters, no marks": lambda text: re.sub(r"[^\w\s]+", " ", text).lower(),
}
QUERIES: Mapping[str, Way] = templates("put") | {
    "small letters, no mark": lambda asked: asked.lower().rstrip("?. "),
    "spoken": lambda asked: f"um so like {asked.lower().rstrip('?')}",
    "WORD AND WORD": lambda asked: " AND ".join(asked.rstrip("?").split()),
    "of a URL": lambda asked: asked.replace(" ", "%20"),
}
SIZES = (1, 2, 3, 5)  # how many passages are retrieved


def ways(one: RetrievedSet) -> Iterator[tuple[str, str, RetrievedSet]]:
    """Yield a set as it becomes in each way, with the way's kind and name."""
    for name, stored in LAYOUTS.items():
        yield "stored", name, replace(one, texts=tuple(map(stored, one.texts)))
    for name, put in QUERIES.items():
        yield "query", name, replace(one, question=put(one.question))
    for size in SIZES:
        yield "size", f"{size}", one.first(size)


def counted(one: RetrievedSet, judge: ConformalFilter, attacked: bool) -> bool:
    """Return whether a clean set is touched, or a planted text of an attacked one dropped."""
    flagged = judge.decide(one.question, tuple(map(Passage, one.texts)), _K).flagged
    return bool((np.array(flagged) & (one.poisoned[: len(flagged)] | (not attacked))).any())


def groups(
    folder: Path, records: Sequence[Record], embedder: Embedder
) -> Iterator[tuple[str, bool, list[RetrievedSet]]]:
    """Yield a name, whether something was planted, and the sets."""
    clean = [retrieve(one, embedder, _K) for one in records]
    yield "questions", False, clean
    for name in ("machine_written", "languages"):
        sets = [found for _, found in as_given(folder, name)]
        yield name, False, sets
    pages = [one.texts[0] for one in (*clean, *sets)]
    honest = zip([*clean, *sets], [*pages[1:], pages[0]], strict=True)
    keywords = as_given(folder, "keyword_traffic")
    yield "titles", False, [found for form, found in keywords if form in ("title", "what_is")]
    yield "question and honest text", True, [planted_first(one, text) for one, text in honest]
    for form, said in (("prepend", "question and PoisonedRAG's text"), ("plain", "its text alone")):
        poison = [(one, planted(one, "poisonedrag", form, 1)) for one in records]
        found = [retrieve(one, embedder, _K, texts) for one, texts in poison if texts]
        yield said, True, [one for one in found if one.poisoned[:_K].any()]


def tables(sections: Sections) -> Iterator[Table]:
    for kind, said in _KINDS.items():
        yield crossed(
            f"{said}: clean sets touched, and planted texts found",
            [row for row in sections["layouts"] if row["kind"] == kind],
            {kind: "way"},
            lambda row: row["texts"] + (", found" if row["attacked"] else ", touched"),
            shares(("reached", "sets")),
        )


@command(tables)
def main(data: Data, limit: Limit = None) -> Measured:
    datasets = [one.limited(limit) for one in load_folder(data)]
    records = [record for one in datasets for record in one.report]
    rows, judge = Counts("sets", "reached"), ConformalFilter(HashedEmbedder())
    for texts, attacked, sets in tracked(list(groups(data, records, built_in())), "layouts"):
        for kind, name, one in chain.from_iterable(zip(*map(ways, sets), strict=True)):
            if not attacked or one.poisoned[:_K].any():
                place = {"kind": kind, "way": name, "texts": texts, "attacked": attacked}
                rows.add(place, {"sets": 1, "reached": counted(one, judge, attacked)})
    return {"layouts": rows.rows()}, datasets
