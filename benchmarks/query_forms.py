"""What a query that is a title asks of the score: `python -m benchmarks.query_forms --data DIR`.

A page repeats its own title, so the fitted detectors say `TOPIC` nats less where a query only names
a page (`ragguard.inline.query_form`). How much less is chosen here: so much that at most a share
`ALPHA` of such queries is touched, at a confidence of 90 %, in every setting. The queries are those
of the choosing half of `keyword_traffic.jsonl`, and titles of the plain knowledge base, as they
stand and behind "What is". Then it is counted on the report half what that changes, for clean
traffic of every kind, headings of a manual among it, and for the published attack.

Whether a set is touched, and its right page with it, is read off the scores: a passage at the
gate's line goes by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import track
from scipy.stats import beta

from benchmarks.command import ERRORS, Data, Limit, Measured, command
from benchmarks.datasets import OWN, Dataset, Record, skerrin
from benchmarks.datasets.manual import pages
from benchmarks.datasets.nearest import nearest
from benchmarks.datasets.records import values
from benchmarks.embedders import built_in
from benchmarks.fitting.offsets import ALPHA
from benchmarks.fitting.samples import signals_of
from benchmarks.forms import FORMS
from benchmarks.reading import load_with_reading
from benchmarks.report.table import Row, Table, as_is, grouped, listed, ratio, share
from benchmarks.retrieval import OVER_FETCH, RetrievedSet, planted, retrieve
from ragguard.embedding import Embedder
from ragguard.inline.calibration_file import default_calibration
from ragguard.inline.query_form import titles_named
from ragguard.inline.scoring import TOPIC, only_named, suspicions
from ragguard.inline.tokens import tokenize_query

Floats = NDArray[np.float64]
Setting = tuple[int, bool]

_SETTINGS: tuple[Setting, ...] = ((5, False), (5, True), (10, False), (10, True))
_CONFIDENCE = 0.9
_STEP = 0.25  # nats
_ONE_OF = 24  # titles of the knowledge base
_HITS = 30
_LONG = 6  # words
_ATTACKS = ("poisonedrag", "blind")
_MANUAL = "headings of a manual"
_TITLED = ("keyword_traffic", _MANUAL)
_WAYS = ("as_questions", "as_it_is")
_COUNTED = ("sets", "topics", *(f"{a}_{b}" for a in ("fired", "hit") for b in _WAYS))


def line(setting: Setting) -> float:
    """Return the suspicion at which the shipped gate fires."""
    k, with_reference = setting
    return default_calibration(k, with_reference=with_reference).threshold(ALPHA, k)


def highest(found: RetrievedSet, setting: Setting, *, topic: bool) -> tuple[float, float]:
    """Return the highest suspicion of a set, and that of its right or its planted passages."""
    k, with_reference = setting
    given = found.first(OVER_FETCH * k if with_reference else k)
    signals = signals_of(given, k, with_reference=with_reference)
    words = tokenize_query(given.question)
    suspicion = suspicions(signals, only_named(words, given.texts, signals) if topic else None)
    of_interest = (found.poisoned if found.poisoned.any() else found.golden)[: len(suspicion)]
    return float(suspicion.max()), float(max(suspicion[of_interest], default=-np.inf))


def names_page(found: RetrievedSet) -> bool:
    """Return True if the query only names a page of the set by its title."""
    words = tokenize_query(found.question)
    return any(titles_named(words.named, found.texts))


def as_given(folder: Path, name: str) -> Iterator[tuple[str, RetrievedSet]]:
    """Yield the records of a file, with their form, in the order in which their hits stand."""
    for value in values(folder, name):
        texts = tuple(dict.fromkeys(hit["text"] for hit in value["hits"]))
        right = [text == value.get("golden", texts[0]) for text in texts]
        rows = np.zeros((len(texts), 1), dtype=np.float32)
        none = np.zeros(len(texts), dtype=bool)
        form = value.get("form") or value.get("language", "")
        yield form, RetrievedSet(value["question"], texts, rows, none, np.array(right))


def titles(folder: Path, without: Iterable[str], embedder: Embedder) -> Iterator[RetrievedSet]:
    """Yield titles of the plain knowledge base, as they stand or asked for, with what is found."""
    passages = list(dict.fromkeys(str(v["text"]) for v in values(folder, "wikipedia_passages")))
    left_out = " ".join(without).lower()
    named = dict.fromkeys(text.split(". ")[0] for text in passages[::_ONE_OF])
    shown = [title for title in named if title.lower() not in left_out]
    asked = [question for title in shown for question in (title, f"What is {title}?")]
    for question, hits in zip(asked, nearest(asked, passages, _HITS), strict=True):
        yield retrieve(Record(question, hits, frozenset(), {}), embedder, _HITS)


def headings() -> Iterator[RetrievedSet]:
    """Yield the headings of a manual as queries, with what is found; right is the page below."""
    under = pages()
    asked = [heading for heading in under.values() if heading]
    for question, texts in zip(asked, nearest(asked, list(under), _HITS), strict=True):
        right = np.array([under[text] == question for text in texts])
        none = np.zeros(len(texts), dtype=bool)
        yield RetrievedSet(question, tuple(texts), np.zeros((len(texts), 1), "f4"), none, right)


def chosen(found: Sequence[RetrievedSet]) -> tuple[float, list[dict[str, Any]]]:
    """Return how many nats less repetition is to say, and the rows that show it.

    Args:
        found: Clean sets of queries that only name a page by its title.
    """
    rows, most = [], 0.0
    for setting in _SETTINGS:
        scores = np.sort([highest(one, setting, topic=False)[0] for one in found])[::-1]
        above = np.arange(len(scores))
        bounded = np.asarray(beta.ppf(_CONFIDENCE, above + 1, len(scores) - above)) <= ALPHA
        # So many may lie above the line that the share is below ALPHA with confidence.
        quantile = float(scores[int(bounded.sum()) - 1]) if bounded.any() else float(scores[0])
        needed = max(0.0, quantile - line(setting))
        most = max(most, needed)
        rows.append(
            {
                "k": setting[0],
                "with_reference": setting[1],
                "queries": len(scores),
                "touched_as_questions": int((scores >= line(setting)).sum()),
                "line": line(setting),
                "needed": needed,
            }
        )
    return float(np.ceil(most / _STEP) * _STEP), rows


def planted_first(clean: RetrievedSet, text: str) -> RetrievedSet:
    """Return a set with a text, the query in front of it, at its top; it was written for another.

    There are no false texts for these queries, and what makes one suspect is the query in front.
    """
    return RetrievedSet(
        clean.question,
        (FORMS["prepend"](clean.question, text), *clean.texts),
        np.concatenate([clean.embeddings[:1], clean.embeddings]),
        np.concatenate([[True], clean.poisoned]),
        np.concatenate([[False], clean.golden]),
    )


def counted(
    kind: str, group: str, planted_texts: int, sets: Sequence[RetrievedSet]
) -> Iterator[dict[str, Any]]:
    """Yield a row for every setting: what fires the gate as if all were questions, and as it is.

    Args:
        kind: "clean" or "attack".
        group: Of the queries.
        planted_texts: For a question.
        sets: Retrieved sets; of attacked ones those without planted texts among the first k are
            left out.
    """
    for setting in _SETTINGS:
        counts: Counter[str] = Counter()
        for one in sets:
            if planted_texts and not one.poisoned[: setting[0]].any():
                continue
            topic = names_page(one.first(setting[0]))
            counts.update(sets=1, topics=topic)
            for name, lowered in zip(_WAYS, (False, topic), strict=True):
                most, of_interest = highest(one, setting, topic=lowered)
                counts[f"fired_{name}"] += most >= line(setting)
                counts[f"hit_{name}"] += of_interest >= line(setting)
        if counts["sets"]:
            place = {"kind": kind, "group": group, "planted": planted_texts}
            place |= {"k": setting[0], "with_reference": setting[1]}
            yield {**place, **{name: counts[name] for name in _COUNTED}}


def measured(
    folder: Path, datasets: Sequence[Dataset], embedder: Embedder
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the report half."""
    limit = OVER_FETCH * max(k for k, _ in _SETTINGS)
    attacked: dict[tuple[str, int], list[RetrievedSet]] = {}
    texts = [
        record.poison[_ATTACKS[0]][0]
        for data in datasets
        for record in data.report
        if _ATTACKS[0] in record.poison
    ]
    for data in track([*datasets, skerrin()], description="report half", console=ERRORS):
        sets = [retrieve(record, embedder, limit) for record in data.report]
        yield from counted("clean", data.name, 0, sets)
        for record in data.report if data.name != OWN else ():
            size = "six words or more" if len(record.question.split()) >= _LONG else "shorter"
            topic = bool(tokenize_query(record.question).named)
            form = "only names its topic" if topic else "asks"
            for attack in _ATTACKS:
                for count in (1, 5):
                    if poison := planted(record, attack, "prepend", count):
                        found = retrieve(record, embedder, limit, poison)
                        attacked.setdefault((f"{form}, {size}", count), []).append(found)
    for name in ("machine_written", "keyword_traffic", "languages"):
        by_form: dict[str, list[RetrievedSet]] = {}
        for form, found in list(as_given(folder, name))[1::2]:
            group = f"{name}: {form}" if name == "keyword_traffic" else name
            by_form.setdefault(group, []).append(found)
        for group, sets in by_form.items():
            yield from counted("clean", group, 0, sets)
            if name == "keyword_traffic":
                with_poison = list(map(planted_first, sets, cycle(texts)))
                yield from counted("attack", group, 1, with_poison)
    manual = list(headings())
    yield from counted("clean", _MANUAL, 0, manual)
    yield from counted("attack", _MANUAL, 1, list(map(planted_first, manual, cycle(texts))))
    for (group, count), sets in sorted(attacked.items(), key=lambda item: item[0]):
        yield from counted("attack", group, count, sets)


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of a result."""
    yield listed(
        "Queries that only name a page: what the offset is chosen on",
        sections["topic_offset"],
        {
            **{"setting": _said, "queries": "queries"},
            "touched as questions": ratio("touched_as_questions", "queries"),
            "offset needed": lambda row: f"{row['needed']:.2f} nats",
        },
    )
    for title, kind, value in (
        ("Clean queries touched, all read as questions / as it is", "clean", "fired"),
        ("Right page lost, all read as questions / as it is", "clean", "hit"),
        ("Planted text found, all read as questions / as it is", "attack", "hit"),
    ):
        of_kind = [row for row in sections["query_forms"] if row["kind"] == kind]
        lines = []
        for (group, count), rows in grouped(of_kind, "group", "planted").items():
            if value == "hit" and kind == "clean" and not group.startswith(_TITLED):
                continue
            planted_texts = {"planted": count} if kind == "attack" else {}
            sets = {"sets": rows[-1]["sets"], "name a title": rows[-1]["topics"]}
            cells = {
                _said(row): " / ".join(share(row[f"{value}_{way}"], row["sets"]) for way in _WAYS)
                for row in rows
            }
            lines.append({"queries": group, **planted_texts, **sets, **cells})
        yield as_is(title, lines)


def _said(row: Row) -> str:
    return f"k = {row['k']}{', 3x' if row['with_reference'] else ''}"


@command(tables)
def main(data: Data, limit: Limit = None) -> Measured:
    """Choose the offset, and return the sections "topic_offset" and "query_forms"."""
    embedder = built_in()
    halves = list(as_given(data, "keyword_traffic"))
    found = [one for _, one in halves[0::2]]
    found += titles(data, [one.question for _, one in halves[1::2]], embedder)
    offset, rows = chosen([one for one in found if names_page(one)])
    ERRORS.print(f"offset: {offset:g} nats; in force: {TOPIC:g}")
    datasets = [one.limited(limit) for one in load_with_reading(data)]
    counts = list(measured(data, datasets, embedder))
    return {"topic_offset": rows, "query_forms": counts}, datasets


if __name__ == "__main__":
    raise SystemExit(main())
