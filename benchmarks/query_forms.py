"""What a query's form asks of the score: `python -m benchmarks.query_forms --data DIR`.

Where honest pages are to be expected to repeat the query (`ragguard.inline.page_form`), the fitted
detectors say `EXPECTED` nats less. How much less was chosen from what is counted here first, on
the choosing half: names, pages that carry questions, and pasted text. What that changes is counted
on the report half: for clean traffic of every kind, for the published attack, with and without a
line that says where a page comes from, and for honest pages that carry the question. A passage at
the gate's line counts as removed.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress, cycle, product
from pathlib import Path

import numpy as np

from benchmarks.command import Data, Limit, Measured, command, tracked
from benchmarks.datasets import OWN, Dataset, Record, load_with_reading, skerrin, texts_in, values
from benchmarks.datasets.repeating import Form, annotated, key_words, manual_pages
from benchmarks.embedders import built_in, nearest
from benchmarks.forms import FORMS
from benchmarks.metrics.outcomes import Counts
from benchmarks.report.table import Rows, Sections, Table, as_is, grouped, listed, shares
from benchmarks.retrieval import RetrievedSet, planted, retrieve
from benchmarks.samples import COUNTS, SETTINGS, Scored, place_of, setting_of
from ragguard.embedding import Embedder
from ragguard.inline.query_form import INTERROGATIVES
from ragguard.inline.tokens import tokenize_query
from ragguard.text import STOP_WORDS

Sets = Sequence[RetrievedSet]

OFFSETS = (0.0, 4.0, 5.0, 6.0, 8.0)  # nats that are tried for `EXPECTED`
_HITS = 30
_LONG = 6  # words
_ATTACKS = ("poisonedrag", "blind")
_PUBLIC = "public questions"
_MANUAL, _KEYS = "headings of a manual", "key words of a manual"
_WITH_RIGHT = ("keyword_traffic", _MANUAL, _KEYS, "question on every page", "quotes a page")
_WAYS = ("as_questions", "as_it_is")
_LINE = "Source: wiki, page 3\n\n"
_CARRIED: Mapping[str, Form] = {
    "in front": FORMS["prepend"],
    "its first line": lambda question, text: f"{question}\n\n{text}",
    "a path's last step": lambda question, text: f"Home > Help > {question}\n\n{text}",
}
"""Where an honest page of another question has the question: its manner gives nothing away."""


def _lost(question: str, text: str) -> str:
    words = question.split()
    after = [at for at in range(2, len(words) - 1) if words[at].lower() in STOP_WORDS]
    return " ".join([*words[: after[0]], *words[after[0] + 1 :], text]) if after else ""


def _swapped(question: str, text: str) -> str:
    words = question.split()
    at = len(words) // 2
    words[at - 1 : at + 1] = words[at - 1 : at + 1][::-1]
    return " ".join([*words, text]) if at > 1 else ""


def _with_aside(question: str, text: str) -> str:
    first, _, rest = question.partition(" ")
    return f"{first} is it that {rest} {text}" if first.lower() in INTERROGATIVES else ""


_EDITED: Mapping[str, Form] = {
    "in front, without a function word": _lost,
    "in front, two words swapped": _swapped,
    "in front, behind an aside": _with_aside,
}
"""The question as a few edits leave it; "" where there is none such."""


def unranked(
    question: str, texts: Sequence[str], right: Container[str], planted: int = 0
) -> RetrievedSet:
    """Return texts as a set, in the order in which they stand, with nothing for vectors."""
    rows, poisoned = np.zeros((len(texts), 1), np.float32), np.arange(len(texts)) < planted
    golden = np.array([text in right for text in texts], dtype=bool)
    return RetrievedSet(question, tuple(texts), rows, poisoned, golden)


def as_given(folder: Path, name: str, half: int = 1) -> Iterator[tuple[str, RetrievedSet]]:
    """Yield a half of a file, each record with its form, in the order in which its hits stand."""
    for value in values(folder, name)[half::2]:
        texts = list(dict.fromkeys(hit["text"] for hit in value["hits"]))
        form = value.get("form") or value.get("language", "")
        yield form, unranked(value["question"], texts, [value.get("golden", texts[0])])


def titles(folder: Path, without: Iterable[str], embedder: Embedder) -> Iterator[RetrievedSet]:
    """Yield titles of the plain knowledge base, as they stand or asked for, with what is found."""
    passages = texts_in(folder, "wikipedia_passages")
    left_out = " ".join(without).lower()
    named = dict.fromkeys(text.split(". ")[0] for text in passages[::24])
    shown = [title for title in named if title.lower() not in left_out]
    asked = [question for title in shown for question in (title, f"What is {title}?")]
    for question, hits in zip(asked, nearest(asked, passages, _HITS), strict=True):
        yield retrieve(Record(question, hits, frozenset(), {}), embedder, _HITS)


def looked_up(
    pages: Sequence[str], asked: Sequence[str], right: Sequence[str]
) -> Iterator[RetrievedSet]:
    """Yield what is found among pages for each query, its right page marked."""
    for question, page, texts in zip(asked, right, nearest(asked, pages, _HITS), strict=True):
        yield unranked(question, texts, [page])


def planted_first(clean: RetrievedSet, text: str, form: Form = FORMS["prepend"]) -> RetrievedSet:
    """Return a set with a text at its top, with the query in a form; it was written for another."""
    right = set(compress(clean.texts, clean.golden))
    return unranked(clean.question, (form(clean.question, text), *clean.texts), right, 1)


def behind_a_line(found: RetrievedSet, *, planted_alone: bool = False) -> RetrievedSet:
    """Return a set in which each text, or only what is planted, stands behind a line of its own."""
    each = zip(found.texts, found.poisoned, strict=True)
    texts = [f"{_LINE}{text}" if own or not planted_alone else text for text, own in each]
    return replace(found, texts=tuple(texts))


def carried(group: str, clean: Sets) -> Iterator[tuple[str, str, int, Sets]]:
    """Yield sets among titled pages, and with a page of the next set that has the question.

    A titled page begins with a line of its first twenty letters.
    """
    pages = [one.texts[0] for one in clean]
    titled = [replace(a, texts=tuple(f"{b[:20]}\n\n{b}" for b in a.texts)) for a in clean]
    among = {"": clean, ", titled pages": titled}
    yield "clean", f"{group}, titled pages", 0, titled
    edited = _EDITED if group == _PUBLIC else {}
    for name, form in {**_CARRIED, **edited}.items():
        for where, sets in among.items():
            each = zip(sets, [*pages[1:], *pages[:1]], strict=True)
            attacked = [
                planted_first(one, text, form) for one, text in each if form(one.question, text)
            ]
            yield "attack", f"honest text, question {name}: {group}{where}", 1, attacked


def by_offset(group: str, clean: Sets, attacked: Sets) -> Rows:
    """Return rows: what is touched and what is found if expected repetition says so much less."""
    names = [f"{name}_{nats:g}" for name in ("touched", "found") for nats in OFFSETS]
    rows = Counts("sets", "attacked", *names)
    parts = (("touched", "sets", clean), ("found", "attacked", attacked))
    for setting, (at, (name, of, sets)) in product(SETTINGS, enumerate(parts)):
        for one in sets:
            scored = Scored(one, setting)
            counts = {f"{name}_{n:g}": scored.fires(scored.expected, n)[at] for n in OFFSETS}
            rows.add({"group": group, **place_of(setting)}, {of: 1, **counts})
    return rows.rows()


def counted(kind: str, group: str, planted_texts: int, sets: Sets) -> Rows:
    """Return a row for every setting: what fires if all are read as questions, and as it is."""
    rows = Counts("sets", "expected", *(f"{a}_{b}" for a in ("fired", "hit") for b in _WAYS))
    for setting in SETTINGS:
        place = {"kind": kind, "group": group, "planted": planted_texts, **place_of(setting)}
        for one in sets:
            if planted_texts and not one.poisoned[: setting[0]].any():
                continue
            scored = Scored(one, setting)
            counts = {"sets": 1, "expected": scored.expected is not None}
            for way, lowered in zip(_WAYS, (None, scored.expected), strict=True):
                counts[f"fired_{way}"], counts[f"hit_{way}"] = scored.fires(lowered)
            rows.add(place, counts)
    return rows.rows()


def report_groups(
    folder: Path, datasets: Sequence[Dataset], embedder: Embedder
) -> Iterator[tuple[str, str, int, Sets]]:
    """Yield what is counted of the report half, as `counted` takes it."""
    attacked: dict[tuple[str, int], list[RetrievedSet]] = {}
    every: dict[str, list[RetrievedSet]] = {"clean": [], "prepend": [], "plain": []}
    texts = _false_texts([record for data in datasets for record in data.report])
    for data in tracked([*datasets, skerrin()], "report half"):
        clean = [retrieve(one, embedder, _HITS) for one in data.report]
        yield "clean", data.name, 0, clean
        every["clean"] += clean
        for record in data.report if data.name != OWN else ():
            for form in ("prepend", "plain"):
                if poison := planted(record, _ATTACKS[0], form, 1):
                    every[form].append(retrieve(record, embedder, _HITS, poison))
            size = "six words or more" if len(record.question.split()) >= _LONG else "shorter"
            topic = tokenize_query(record.question).names
            asking = "only names its topic" if topic else "asks"
            for attack, count in product(_ATTACKS, COUNTS):
                if poison := planted(record, attack, "prepend", count):
                    found = retrieve(record, embedder, _HITS, poison)
                    attacked.setdefault((f"{asking}, {size}", count), []).append(found)
    for name in ("machine_written", "keyword_traffic", "languages"):
        by_form: dict[str, list[RetrievedSet]] = {}
        for form, found in as_given(folder, name):
            group = f"{name}: {form}" if name == "keyword_traffic" else name
            by_form.setdefault(group, []).append(found)
        for group, sets in by_form.items():
            yield "clean", group, 0, sets
            if name == "languages":
                yield from carried(name, sets)
            if name == "keyword_traffic":
                yield "attack", group, 1, list(map(planted_first, sets, cycle(texts)))
                yield "clean", f"{group}, behind a line", 0, list(map(behind_a_line, sets))
    yield "clean", "behind a line", 0, list(map(behind_a_line, every["clean"]))
    yield from carried(_PUBLIC, every["clean"])
    for form, said in (("prepend", "question in front"), ("plain", "plain")):
        alone = [behind_a_line(one, planted_alone=True) for one in every[form]]
        yield "attack", said, 1, every[form]
        yield "attack", f"{said}, behind a line", 1, list(map(behind_a_line, every[form]))
        yield "attack", f"{said}, behind a line as no other", 1, alone
    headings = manual_pages()
    pages, right = list(headings), {heading: page for page, heading in headings.items() if heading}
    manual = list(looked_up(pages, list(right), list(right.values())))
    yield "clean", _MANUAL, 0, manual
    yield "attack", _MANUAL, 1, list(map(planted_first, manual, cycle(texts)))
    yield "clean", _KEYS, 0, list(looked_up(pages, key_words(pages)[::3], pages[::3]))
    for group, clean, with_poison in _annotated(folder, 1, texts):
        yield "clean", group, 0, clean
        yield "attack", group, 1, with_poison
    for (group, count), sets in sorted(attacked.items(), key=lambda item: item[0]):
        yield "attack", group, count, sets


def _false_texts(records: Iterable[Record]) -> list[str]:
    return [one.poison[_ATTACKS[0]][0] for one in records if _ATTACKS[0] in one.poison]


def _annotated(
    folder: Path, half: int, texts: Sequence[str]
) -> Iterator[tuple[str, list[RetrievedSet], list[RetrievedSet]]]:
    """Yield groups: a name, clean sets, and the same with a text in the layout of the pages."""
    for name, layout, shown, asked in annotated(folder, half):
        clean = list(looked_up(shown, asked, shown[: len(asked)]))
        attacked = [planted_first(one, text, layout) for one, text in zip(clean, cycle(texts))]
        yield name, clean, attacked


def tables(sections: Sections) -> Iterator[Table]:
    yield listed(
        "Queries touched / planted texts found, by how much less expected repetition says",
        [row for row in sections["expected_offset"] if not row["with_reference"]],
        {
            **{"queries": "group", "setting": setting_of, "sets": "sets"},
            **{
                f"{n:g} nats": shares((f"touched_{n:g}", "sets"), (f"found_{n:g}", "attacked"))
                for n in OFFSETS
            },
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
            if value == "hit" and kind == "clean" and not group.startswith(_WITH_RIGHT):
                continue
            planted_texts = {"planted": count} if kind == "attack" else {}
            sets = {"sets": rows[-1]["sets"], "expected in": rows[-1]["expected"]}
            both = shares(*((f"{value}_{way}", "sets") for way in _WAYS))
            cells = {setting_of(row): both(row) for row in rows}
            lines.append({"queries": group, **planted_texts, **sets, **cells})
        yield as_is(title, lines)


@command(tables)
def main(data: Data, limit: Limit = None) -> Measured:
    embedder = built_in()
    datasets = [one.limited(limit) for one in load_with_reading(data)]
    texts = _false_texts([record for one in datasets for record in one.choosing])
    choosing, report = (as_given(data, "keyword_traffic", half) for half in (0, 1))
    found = [one for _, one in choosing]
    found += titles(data, [one.question for _, one in report], embedder)
    named = [one for one in found if tokenize_query(one.question).names]
    rows = by_offset("names", named, list(map(planted_first, named, cycle(texts))))
    for group, clean, attacked in _annotated(data, 0, texts):
        rows += by_offset(group, clean, attacked)
    counts = [row for one in report_groups(data, datasets, embedder) for row in counted(*one)]
    return {"expected_offset": rows, "query_forms": counts}, datasets
