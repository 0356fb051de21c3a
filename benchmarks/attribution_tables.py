"""The tables of attribution: the section "attribution", and `benchmarks.events`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from benchmarks.misgeneration import MAIN_KINDS, OWN
from benchmarks.report.table import Row, Table, as_is, crossed, grouped, listed, share

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
        yield from (as_is(f"Attribution: {name}", section[name]) for name in _PLAIN)
        yield _wrong_answers(section)
        yield _one_text(section["single"])
        if section["ms_per_event"]["median"] is not None:
            yield _time(section["ms_per_event"])
    # The archived result of the Influence Score has a section of this name as well.
    if events := [row for row in sections.get("events", ()) if "stratum" in row]:
        unplanted = [row for row in events if row["stratum"] == "misreading"]
        yield _other_events([row for row in events if row not in unplanted])
        yield _misreadings(unplanted)
        yield _refusals([row for row in events if row["stratum"] == "refusal"])


def _source(row: Row) -> str:
    return "own" if row["dataset"] == OWN else "public"


def _having(rows: Iterable[Row], **values: str) -> list[Row]:
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def _measures(row: Row) -> str:
    return ", ".join(f"{row[name]:.3f}" for name in ("dacc", "fpr", "fnr"))


def _cell(row: Row) -> str:
    return f"{_measures(row)} ({row['events']})"


def _wrong_answers(section: Mapping[str, Any]) -> Table:
    poisoned = [row for row in _having(section["poisoned"], **_METHOD) if row["kind"] in MAIN_KINDS]
    clean = _having(section["clean"], **_METHOD)

    def strata(line: Row) -> list[Row]:
        return [row for row in _having(poisoned, form=line["form"]) if _source(row) == line["data"]]

    def blamed(line: Row) -> str:
        innocent = [row for row in clean if _source(row) == line["data"]]
        count = sum(round(row["blamed"] * row["events"]) for row in innocent)
        return f"{count} of {sum(row['events'] for row in innocent)}"

    return listed(
        "Attribution: wrong answers",
        _having(section["summary"], **_METHOD),
        {
            "data": "data",
            "form": lambda line: _FORMS[line["form"]],
            "events": lambda line: str(sum(row["events"] for row in strata(line))),
            "DACC": lambda line: f"{line['dacc']:.3f}",
            "FPR": lambda line: f"{line['fpr']:.3f}",
            "FNR": lambda line: f"{line['fnr']:.3f}",
            "FNR, stating": lambda line: f"{line['fnr_stating']:.3f}",
            "worst stratum: DACC, FPR, FNR (events)": lambda line: _worst(strata(line)),
            "clean events blamed": blamed,
        },
    )


def _worst(strata: Sequence[Row]) -> str:
    """Return the stratum of the least DACC, unless there is only one."""
    worst = min(strata, key=lambda stratum: stratum["dacc"])
    return f"{worst['dataset']}, {worst['kind']}: {_cell(worst)}" if len(strata) > 1 else ""


def _one_text(rows: Sequence[Row]) -> Table:
    lines = []
    by_source = [{**row, "source": _source(row)} for row in rows]
    for (source, form), part in grouped(by_source, "source", "form").items():
        events = sum(row["events"] for row in part)
        found = sum(round(row["recall"] * row["events"]) for row in part)
        lines.append(
            {
                **{"data": source, "form": _FORMS[form], "events": events},
                "found": f"{found} ({share(found, events)})",
                "ended as unclear": sum(row["causes"]["unclear"] for row in part),
                "DACC": f"{mean(row['dacc'] for row in part):.3f}",
                "FPR": f"{mean(row['fpr'] for row in part):.3f}",
            }
        )
    lines.sort(key=lambda line: line["data"] == "own")
    return as_is("Attribution: one planted text", lines)


def _time(milliseconds: Mapping[str, float]) -> Table:
    return listed(
        "Attribution: processor time of an event",
        [milliseconds],
        {
            "median": lambda row: f"{row['median']:.1f} ms",
            "95th percentile": lambda row: f"{row['p95']:.1f} ms",
        },
    )


def _other_events(rows: Sequence[Row]) -> Table:
    order = list(_EVENTS)

    def place(row: Row) -> int:
        key = row["stratum"], row["case"]
        return order.index(key) if key in _EVENTS else len(order)

    public = [row for row in rows if row["data"] == "public"]
    return crossed(
        "Attribution of other events, public data: DACC, FPR, FNR (events)",
        sorted((r for r in public if (r["stratum"], r["case"]) != _UNPLANTED), key=place),
        {"event": lambda row: _EVENTS.get((row["stratum"], row["case"]), row["case"])},
        lambda row: _FORMS["plain" if row["form"] == "plain" else "prepend"],
        lambda part: _cell(part[0]),
        order=_FORMS.values(),
    )


def _misreadings(rows: Sequence[Row]) -> Table:
    return listed(
        "Attribution of misread passages",
        rows,
        {
            **{"data": "data", "reports": "events"},
            "benign passages blamed": lambda row: f"{100 * row['fpr']:.2f} %",
            "reports that end in blame": lambda row: share(
                row["causes"]["poisoning"], row["events"]
            ),
        },
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
            {
                **{"data": row["data"], "planted": planted},
                "form": "" if planted == "0" else _FORMS[row["form"]],
                "reports": row["events"],
                "planted texts found": "" if planted == "0" else f"{100 * row['recall']:.1f} %",
                "benign passages blamed": f"{100 * row['fpr']:.2f} %",
                "reports that end in blame": row["causes"]["poisoning"],
            }
        )
    return as_is("Attribution of refusals", lines)
