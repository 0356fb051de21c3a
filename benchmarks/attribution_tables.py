"""The tables of attribution: the section "attribution", and `benchmarks.events`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from benchmarks.misgeneration import MAIN_KINDS, OWN
from benchmarks.tables import Table, share

__all__ = ["tables"]

Row = Mapping[str, Any]

_METHOD = {"response": "short", "method": "ragorigin"}
_PLAIN = ("summary", "scopes", "clean")
_FORMS = {"prepend": "question in front", "plain": "plain"}
_UNPLANTED = ("refusal", "0 planted")

_EVENTS: Mapping[tuple[str, str], str] = {
    ("one_word", "number"): "a number",
    ("one_word", "word"): "one word",
    ("one_word", "yes or no"): "yes or no",
    ("long_answer", "template"): "a sentence around the answer",
    ("long_answer", "the poison's first sentence"): "the poison's first sentence",
    ("noisy_report", "paraphrase"): "paraphrase",
    ("noisy_report", "first half"): "first half of the answer",
    ("noisy_report", "second half"): "second half of the answer",
    ("truth_and_falsehood", "mixed answer"): "true and false answer in one response",
    ("truth_and_falsehood", "mixed texts"): "texts that mix several answers",
    ("refusal", "1 planted"): "refusal, 1 text",
    ("refusal", "3 planted"): "refusal, 3 texts",
    ("several_attackers", "same answer, all kinds"): "several attackers, same answer",
    ("several_attackers", "same answer, both forms"): "the same, one in each form",
    ("several_attackers", "another answer"): "several attackers, other answers",
    ("several_attackers", "other questions"): "20 other questions attacked as well",
    ("many_texts", "5 texts"): "5 texts of two models",
    ("many_texts", "10 texts"): "10 texts",
    ("many_texts", "25 texts"): "25 texts",
    ("many_texts", "50 texts"): "50 texts",
    ("padded_texts", "six other names"): "5 texts that each name six others",
    ("other_retrievers", "MiniLM, cosine"): "MiniLM",
    ("other_retrievers", "MiniLM, dot product"): "MiniLM, dot product",
    ("other_retrievers", "built-in, dot product"): "built-in embedder, dot product",
    ("changed_knowledge", "10 benign texts came"): "10 benign texts came since",
    ("changed_knowledge", "2 planted texts went"): "2 planted texts went since",
    ("changed_knowledge", "no right answer left"): "no right answer left in the base",
}
"""Strata and cases of `benchmarks.strata` in words, in the order of the table."""


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of the sections "attribution" and "events"."""
    if section := sections.get("attribution"):
        yield from (_plain(f"Attribution: {name}", section[name]) for name in _PLAIN)
        yield _wrong_answers(section)
        yield _one_text(section["single"])
        if section["ms_per_event"]["median"] is not None:
            yield _time(section["ms_per_event"])
    if events := sections.get("events"):
        unplanted = [row for row in events if row["stratum"] == "misreading"]
        yield _other_events([row for row in events if row not in unplanted])
        yield _misreadings(unplanted)
        yield _refusals([row for row in events if row["stratum"] == "refusal"])


def _plain(title: str, rows: Sequence[Row]) -> Table:
    columns = tuple(rows[0]) if rows else ()
    return Table(title, columns, tuple(tuple(str(row[name]) for name in columns) for row in rows))


def _source(row: Row) -> str:
    return "own" if row["dataset"] == OWN else "public"


def _having(rows: Iterable[Row], **values: str) -> list[Row]:
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def _measures(row: Row) -> str:
    return ", ".join(f"{row[name]:.3f}" for name in ("dacc", "fpr", "fnr"))


def _cell(row: Row | None) -> str:
    return "" if row is None else f"{_measures(row)} ({row['events']})"


def _wrong_answers(section: Mapping[str, Any]) -> Table:
    poisoned = [row for row in _having(section["poisoned"], **_METHOD) if row["kind"] in MAIN_KINDS]
    clean = _having(section["clean"], **_METHOD)
    lines = []
    for row in _having(section["summary"], **_METHOD):
        strata = [one for one in _having(poisoned, form=row["form"]) if _source(one) == row["data"]]
        innocent = [one for one in clean if _source(one) == row["data"]]
        blamed = sum(round(one["blamed"] * one["events"]) for one in innocent)
        lines.append(
            (
                row["data"],
                _FORMS[row["form"]],
                str(sum(stratum["events"] for stratum in strata)),
                *(f"{row[name]:.3f}" for name in ("dacc", "fpr", "fnr", "fnr_stating")),
                _worst(strata),
                f"{blamed} of {sum(one['events'] for one in innocent)}",
            )
        )
    return Table(
        "Attribution: wrong answers",
        (
            *("data", "form", "events", "DACC", "FPR", "FNR", "FNR, stating"),
            *("worst stratum: DACC, FPR, FNR (events)", "clean events blamed"),
        ),
        tuple(lines),
    )


def _worst(strata: Sequence[Row]) -> str:
    """Return the stratum of the least DACC, unless there is only one."""
    worst = min(strata, key=lambda stratum: stratum["dacc"])
    return f"{worst['dataset']}, {worst['kind']}: {_cell(worst)}" if len(strata) > 1 else ""


def _one_text(rows: Sequence[Row]) -> Table:
    lines = []
    for source, form in dict.fromkeys((_source(row), row["form"]) for row in rows):
        part = [row for row in _having(rows, form=form) if _source(row) == source]
        events = sum(row["events"] for row in part)
        found = sum(round(row["recall"] * row["events"]) for row in part)
        lines.append(
            (
                source,
                _FORMS[form],
                str(events),
                f"{found} ({share(found, events)})",
                str(sum(row["causes"]["unclear"] for row in part)),
                *(f"{mean(row[name] for row in part):.3f}" for name in ("dacc", "fpr")),
            )
        )
    return Table(
        "Attribution: one planted text",
        ("data", "form", "events", "found", "ended as unclear", "DACC", "FPR"),
        tuple(sorted(lines, key=lambda line: line[0] == "own")),
    )


def _time(milliseconds: Mapping[str, float]) -> Table:
    return Table(
        "Attribution: processor time of an event",
        ("median", "95th percentile"),
        (tuple(f"{milliseconds[name]:.1f} ms" for name in ("median", "p95")),),
    )


def _other_events(rows: Sequence[Row]) -> Table:
    cells = {
        (row["stratum"], row["case"], "plain" if row["form"] == "plain" else "prepend"): row
        for row in rows
        if row["data"] == "public" and (row["stratum"], row["case"]) != _UNPLANTED
    }
    order = list(_EVENTS)
    cases = sorted(
        dict.fromkeys((stratum, case) for stratum, case, _ in cells),
        key=lambda key: order.index(key) if key in _EVENTS else len(order),
    )
    return Table(
        "Attribution of other events, public data: DACC, FPR, FNR (events)",
        ("event", *_FORMS.values()),
        tuple(
            (_EVENTS.get(key, key[1]), *(_cell(cells.get((*key, form))) for form in _FORMS))
            for key in cases
        ),
    )


def _misreadings(rows: Sequence[Row]) -> Table:
    return Table(
        "Attribution of misread passages",
        ("data", "reports", "benign passages blamed", "reports that end in blame"),
        tuple(
            (
                row["data"],
                str(row["events"]),
                f"{100 * row['fpr']:.2f} %",
                share(row["causes"]["poisoning"], row["events"]),
            )
            for row in rows
        ),
    )


def _refusals(rows: Sequence[Row]) -> Table:
    order = list(_FORMS)
    lines = []
    for row in sorted(
        rows,
        key=lambda row: (row["data"], -int(row["case"].split()[0]), order.index(row["form"])),
    ):
        planted = row["case"].split()[0]
        if planted == "0" and row["form"] != "prepend":
            continue  # where nothing is planted the forms are the same event
        lines.append(
            (
                row["data"],
                planted,
                "" if planted == "0" else _FORMS[row["form"]],
                str(row["events"]),
                "" if planted == "0" else f"{100 * row['recall']:.1f} %",
                f"{100 * row['fpr']:.2f} %",
                str(row["causes"]["poisoning"]),
            )
        )
    return Table(
        "Attribution of refusals",
        (
            *("data", "planted", "form", "reports", "planted texts found"),
            *("benign passages blamed", "reports that end in blame"),
        ),
        tuple(lines),
    )
