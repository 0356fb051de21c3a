"""Clean queries and planted texts in twelve languages: `python -m benchmarks.languages --data DIR`.

Reads `languages.jsonl`: questions with the paragraphs of the same language that a search found.
In attacked sets one text is planted among the first k: the question and behind it the false answer,
the sentence that answers with the false answer in place of the right one, or the whole paragraph
with it; then the question written in ways that a person hardly notices, or with errors.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from benchmarks.command import Data, Half, Limit, Measured, command, tracked
from benchmarks.datasets import values
from benchmarks.embedders import built_in
from benchmarks.report.table import (
    Row,
    Rows,
    Sections,
    Table,
    Text,
    as_is,
    grouped,
    listed,
    ratio,
    share,
    summed,
)
from benchmarks.retrieval import OVER_FETCH
from benchmarks.samples import SETTINGS, place_of, setting_of
from ragguard.attribution import RAGOrigin
from ragguard.inline.pipeline import ConformalFilter
from ragguard.passage import Passage
from ragguard.proxy import LexicalProxy

_NEAR = 120  # characters on both sides of an answer, where no sentence ends
_END = re.compile(r"(?<=[.!?\u0964])\s+|(?<=[\u3002\uff01\uff1f])\s*")


def _sentence(record: Row) -> str:
    right, false = record["correct_answer"], record["incorrect_answer"]
    for one in _END.split(record["golden"]):
        if right in one:
            at = one.index(right)
            start = one.rfind(" ", 0, max(0, at - _NEAR)) + 1
            stop = one.find(" ", at + len(right) + _NEAR)
            near = one[start : stop if stop > 0 else len(one)]
            return str(near.replace(right, false))
    return str(false)


PLANTED: Mapping[str, Callable[[Row], str]] = {
    "answer": lambda record: str(record["incorrect_answer"]),
    "sentence": _sentence,
    "paragraph": lambda record: str(
        record["golden"].replace(record["correct_answer"], record["incorrect_answer"])
    ),
}
"""What stands behind the question."""


DISGUISES: Mapping[str, Callable[[str], str]] = {
    "spaced": " ".join,
    "zero-width": "\u200b".join,
    "without marks": lambda text: "".join(
        sign for sign in unicodedata.normalize("NFD", text) if unicodedata.category(sign) != "Mn"
    ),
    "swapped": lambda text: re.sub("(....)(.)(.)", r"\1\3\2", text),
    "with gaps": lambda text: re.sub("(.........).", r"\1", text),
}
"""How the question is written in front of the false sentence; at last every sixth letter before the
fifth, and every tenth left out."""


def measured(records: Sequence[Row], half: int, limit: int | None = None) -> Iterator[Row]:
    """Yield a row a language and setting; `found` are attacked sets that lost what was planted."""
    guard, by_language = ConformalFilter(built_in()), grouped(records, "language")

    def dropped(query: str, texts: Sequence[str], k: int) -> list[str]:
        flagged = guard.decide(query, [Passage(text) for text in texts], k).flagged
        return [text for text, flag in zip(texts, flagged, strict=False) if flag]

    for (language,), of_it in tracked(by_language.items(), "languages"):
        for k, below in SETTINGS:
            counts: Counter[str] = Counter()
            most = OVER_FETCH * k if below else k
            for place, record in enumerate(of_it[half::2][:limit]):
                query, at = record["question"], place % k
                texts = list(dict.fromkeys(hit["text"] for hit in record["hits"]))
                gone = dropped(query, texts[:most], k)
                lost = record["golden"] in gone
                counts.update(queries=1, touched=bool(gone), right_page_lost=lost)
                planted = {kind: f"{query} {text(record)}" for kind, text in PLANTED.items()}
                false = _sentence(record)
                planted |= {kind: f"{put(query)} {false}" for kind, put in DISGUISES.items()}
                for kind, text in planted.items():
                    attacked = [*texts[:at], text, *texts[at:]][:most]
                    counts[kind] += text in dropped(query, attacked, k)
            yield {
                **{"language": language, **place_of((k, below))},
                **{name: counts[name] for name in ("queries", "touched", "right_page_lost")},
                "found": {kind: counts[kind] for kind in (*PLANTED, *DISGUISES)},
            }


def _first(passages: Sequence[Passage], _: str, most: int) -> Sequence[Passage]:
    return passages[:most]


def reported(records: Sequence[Row], half: int, limit: int | None = None) -> Iterator[Row]:
    """Yield a row a language: the false answer is reported, the question and it are planted."""
    origin = RAGOrigin(proxy=LexicalProxy())
    for (language,), of_it in tracked(grouped(records, "language").items(), "reports"):
        counts: Counter[str] = Counter()
        for record in of_it[half::2][:limit]:
            planted = f"{record['question']} {record['incorrect_answer']}"
            ranked = list(dict.fromkeys([planted, *[hit["text"] for hit in record["hits"]]]))
            passages = list(map(Passage, ranked))
            event = record["question"], str(record["incorrect_answer"])
            read = origin.attribute(*event, partial(_first, passages)).scores
            right = [one.responsible == (one.passage.text == planted) for one in read]
            found = any(one.responsible and one.passage.text == planted for one in read)
            counts.update(events=1, found=found, passages=len(right), right=sum(right))
        yield {"language": language, **counts}


def tables(sections: Sections) -> Iterator[Table]:
    """Yield the tables of a result; what is found is counted over all settings."""
    rows: Rows = sections["languages"]
    kinds = {**{kind: f"the {kind}" for kind in PLANTED}, **{kind: kind for kind in DISGUISES}}
    clean, attacked = [], []
    for (language,), of in {**grouped(rows, "language"), ("all",): rows}.items():
        total = summed(of)
        line = {"language": language, "queries": total["queries"] // len(SETTINGS)}
        for at in grouped(of, "k", "with_reference").values():
            line[setting_of(at[0])] = ratio("touched", "queries")(summed(at))
        clean.append({**line, "right page lost": ratio("right_page_lost", "queries")(total)})
        found = {kind: sum(one["found"][kind] for one in of) for kind in kinds}
        shown = {said: share(found[kind], total["queries"]) for kind, said in kinds.items()}
        attacked.append({"language": language, **shown})
    yield as_is("Languages: clean queries touched", clean)
    yield as_is("Languages: planted text found", attacked)
    columns: Mapping[str, Text] = {
        **{"language": "language", "events": "events", "DACC": ratio("right", "passages")},
        "planted text found": ratio("found", "events"),
    }
    yield listed("Languages: a false answer reported", sections["reports"], columns)


@command(tables)
def main(data: Data, limit: Limit = None, half: Half = 1) -> Measured:
    records = values(data, "languages")
    found = list(measured(records, half, limit))
    return {"languages": found, "reports": list(reported(records, half, limit))}, ()
