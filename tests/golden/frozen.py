"""Frozen answers: `python -m tests.golden.frozen [--data DIR] [--write]`.

Some 300 verdicts and 80 attributions over the project's own corpus, and as many over a folder of
data, are kept beside this file with every score. A change that only moves code leaves them as they
are, bit for bit; one that changes answers changes these files in the same commit (`--write`).
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.command import OwnData, script
from benchmarks.datasets import OWN, load_folder
from benchmarks.forms import FORMS
from benchmarks.misgeneration import KnowledgeBase, answers, chosen, in_form, selected
from benchmarks.report.table import Row, Rows
from ragguard import Guard, Passage, Verdict
from ragguard.attribution import RAGOrigin
from ragguard.demo.corpus import load_corpus
from ragguard.proxy import LexicalProxy

FOLDER = Path(__file__).parent

_K = 5
_HOSTILE = (
    "",
    " \n\t ",
    "\ud800 half a pair",
    "&#" + "9" * 4_301,
    "\u0301" * 3_000,
    "\ufdfa" * 2_000,
    "Boats were tarred in the lee of the wall while the nets dried. " * 400,
    "<b>&lt;" * 2_000,
    "\x00\x1b[31m",
)

_SCORES = "embedding_similarity semantic_correlation generation_influence responsibility".split()

Set = tuple[str, str, list[str], int | None]


def answers_of(data: Path | None) -> dict[str, Rows]:
    """Return the rows of each file: the project's own ones, or those of a folder of data."""
    of, sets = ("", _own_sets()) if data is None else ("_data", _data_sets(data))
    return {f"verdicts{of}": [*_verdicts(sets)], f"attributions{of}": [*_attributions(data)]}


def _own_sets() -> Iterator[Set]:
    corpus = load_corpus()
    base = KnowledgeBase([passage.text for passage in corpus.passages])
    forms = list(FORMS)
    for number, question in enumerate(corpus.questions):
        asked, place = question.text, number % _K
        found = [passage.text for passage in base.ranked(asked)[: 2 * _K]]
        texts = list(question.texts.values())[number % len(question.texts)]
        first, second = forms[number % len(forms)], forms[(7 * number + 3) % len(forms)]
        one = [FORMS[first](asked, texts[0])]
        three = [FORMS[second](asked, text) for text in texts[:3]]
        hostile = [*one, _HOSTILE[number % len(_HOSTILE)], *one]
        yield f"{question.id} clean", asked, found[:_K], None
        yield f"{question.id} {first}", asked, _planted(found, one, place)[:_K], None
        yield f"{question.id} 3 {second}", asked, _planted(found, three, place), 2 * _K
        yield f"{question.id} over-fetched {first}", asked, _planted(found, one, place), _K
        yield f"{question.id} hostile", asked, _planted(found[:3], hostile, place), None


def _data_sets(data: Path) -> Iterator[Set]:
    forms = list(FORMS)
    for dataset in load_folder(data):
        for number, record in enumerate(dataset.records[:25]):
            name, found = f"{dataset.name} {number}", list(record.hits[: 2 * _K])
            yield f"{name} clean", record.question, found, _K
            if record.poison:
                texts = record.poison[sorted(record.poison)[number % len(record.poison)]]
                form = forms[number % len(forms)]
                planted = [FORMS[form](record.question, text) for text in texts[: 1 + number % 5]]
                mixed = _planted(found, planted, number % _K)
                yield f"{name} {form}", record.question, mixed, _K


def _planted(found: Sequence[str], poison: Sequence[str], place: int) -> list[str]:
    return [*found[:place], *poison, *found[place:]]


def _verdicts(sets: Iterator[Set]) -> Iterator[Row]:
    with Guard(max_ms=1e9) as guard, Guard.ragdefender() as paper:
        for number, (name, query, texts, k) in enumerate(sets):
            passages = [Passage(text, id=str(place)) for place, text in enumerate(texts)]
            yield {"set": name, **_told(guard.filter(query, passages, k=k))}
            if number % 10 == 0:
                told = _told(paper.filter(query, passages, k=k))
                yield {"set": f"{name} ragdefender", **told}


def _told(verdict: Verdict) -> Row:
    return {
        "attacked": verdict.attacked,
        "p_value": verdict.p_value,
        "kept": [int(passage.id) for passage in verdict.kept],
        "dropped": [int(passage.id) for passage in verdict.dropped],
        "error": verdict.error,
        "suspicion": [one.suspicion for one in verdict.evidence],
        "signal": [one.signal for one in verdict.evidence],
        "signals": [
            {n: value for n, value in s.signals.items() if value} for s in verdict.evidence
        ],
        "undecided": [int(one.passage_id) for one in verdict.evidence if not one.decided],
    }


def _attributions(data: Path | None) -> Iterator[Row]:
    origin = RAGOrigin(proxy=LexicalProxy())
    limit = 16 if data else None
    for name, records, base in selected(data, limit, half=0):
        if (data is None) != (name == OWN):
            continue
        for number, record in enumerate(records):
            kind = sorted(record.poison)[number % len(record.poison)]
            form = ("prepend", "plain", "shuffled", "append")[number % 4]
            poison = in_form(record, form, chosen(record, kind, 0, 1 + number % 5))
            events = [(form, record.wrong, poison)]
            if number % 4 == 0:
                events.append(("clean", record.right or record.wrong, []))
            for what, response, planted in events:
                event = base.event(record, planted)
                found = origin.attribute(record.question, response, event.retrieve)
                yield {
                    "event": f"{name} {number} {what}",
                    "through": answers(event.ranked, planted, record.wrong),
                    "cause": found.cause,
                    "scope": found.scope_size,
                    "responsible": [s.responsible for s in found.scores],
                    "scores": [[getattr(s, name) for name in _SCORES] for s in found.scores],
                }


@script
def main(
    data: OwnData = None,
    write: Annotated[bool, typer.Option("--write", help="freeze the answers of this code")] = False,
) -> None:
    """Compare, or write; the exit status is 1 if something differs."""
    differs = 0
    for folder in dict.fromkeys((None, data)):
        for name, rows in answers_of(folder).items():
            path = FOLDER / f"{name}.json"
            text = "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"
            if write:
                path.write_text(text, encoding="utf-8")
            frozen = json.loads(path.read_text(encoding="utf-8"))
            changed = [
                old.get("set", old.get("event"))
                for old, new in zip(frozen, json.loads(text), strict=True)
                if old != new
            ]
            differs += len(changed)
            first = f", the first of them {changed[0]}" if changed else ""
            typer.echo(f"{name}: {len(changed)} of {len(rows)} differ{first}")
    raise typer.Exit(int(differs > 0))
