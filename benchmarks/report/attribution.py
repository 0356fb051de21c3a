"""The tables of attribution: the section "attribution", and "events" of other kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from benchmarks.datasets import OWN
from benchmarks.misgeneration import MAIN_KINDS
from benchmarks.report.table import Row, Table, as_is, crossed, grouped, listed, share
from benchmarks.strata import WORDS

_METHOD = {"response": "short", "method": "ragorigin"}
_FORMS = {"prepend": "question in front", "plain": "plain"}
_HEADS = {"DACC": "dacc", "FPR": "fpr", "FNR": "fnr", "FNR, stating": "fnr_stating"}


def source(dataset: str) -> str:
    """Return "own" for the project's own data, which are reported apart, else "public"."""
    return "own" if dataset == OWN else "public"


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables of the sections "attribution" and "events"."""
    if section := sections.get("attribution"):
        yield from (
            as_is(f"Attribution: {part}", section[part]) for part in ("summary", "scopes", "clean")
        )
        yield _wrong_answers(section)
        yield _one_text(section["single"])
        if section["ms_per_event"]["median"] is not None:
            columns = {"median": _ms("median"), "95th percentile": _ms("p95")}
            title = "Attribution: processor time of an event"
            yield listed(title, [section["ms_per_event"]], columns)
    # The archived result of the Influence Score has a section of this name as well.
    if events := [row for row in sections.get("events", ()) if "stratum" in row]:
        yield _other_events([row for row in events if row["stratum"] != "misreading"])
        yield listed(
            "Attribution of misread passages",
            [row for row in events if row["stratum"] == "misreading"],
            {
                **{"data": "data", "reports": "events"},
                "benign passages blamed": lambda row: f"{100 * row['fpr']:.2f} %",
                "reports that end in blame": lambda row: share(
                    row["causes"]["poisoning"], row["events"]
                ),
            },
        )
        yield _refusals([row for row in events if row["stratum"] == "refusal"])


def _having(rows: Iterable[Row], **values: str) -> list[Row]:
    return [row for row in rows if values.items() <= row.items()]


def _ms(name: str) -> Callable[[Row], str]:
    return lambda row: f"{row[name]:.1f} ms"


def _three(name: str) -> Callable[[Row], str]:
    return lambda row: f"{row[name]:.3f}"


def _cell(row: Row) -> str:
    return f"{', '.join(_three(name)(row) for name in ('dacc', 'fpr', 'fnr'))} ({row['events']})"


def _wrong_answers(section: Mapping[str, Any]) -> Table:
    lines = []
    for line in _having(section["summary"], **_METHOD):
        found = _having(section["poisoned"], **_METHOD, form=line["form"])
        clean = _having(section["clean"], **_METHOD)
        strata, clean = (
            [row for row in part if source(row["dataset"]) == line["data"]]
            for part in ([row for row in found if row["kind"] in MAIN_KINDS], clean)
        )
        worst = min(strata, key=lambda stratum: float(stratum["dacc"]))
        place = f"{worst['dataset']}, {worst['kind']}: {_cell(worst)}" if len(strata) > 1 else ""
        blamed = sum(round(row["blamed"] * row["events"]) for row in clean)
        lines.append(
            {
                **{"data": line["data"], "form": _FORMS[line["form"]]},
                "events": sum(row["events"] for row in strata),
                **{head: _three(name)(line) for head, name in _HEADS.items()},
                "worst stratum: DACC, FPR, FNR (events)": place,
                "clean events blamed": f"{blamed} of {sum(row['events'] for row in clean)}",
            }
        )
    return as_is("Attribution: wrong answers", lines)


def _one_text(rows: Sequence[Row]) -> Table:
    lines = []
    by_source = [{**row, "source": source(row["dataset"])} for row in rows]
    for (data, form), part in grouped(by_source, "source", "form").items():
        events = sum(row["events"] for row in part)
        found = sum(round(row["recall"] * row["events"]) for row in part)
        lines.append(
            {
                **{"data": data, "form": _FORMS[form], "events": events},
                "found": f"{found} ({share(found, events)})",
                "ended as unclear": sum(row["causes"]["unclear"] for row in part),
                **{m.upper(): f"{mean(row[m] for row in part):.3f}" for m in ("dacc", "fpr")},
            }
        )
    lines.sort(key=lambda line: line["data"] == "own")
    return as_is("Attribution: one planted text", lines)


def _other_events(rows: Sequence[Row]) -> Table:
    order = {key: place for place, key in enumerate(WORDS)}
    keyed = [((row["stratum"], row["case"]), row) for row in _having(rows, data="public")]
    shown = [(key, row) for key, row in keyed if key != ("refusal", "0 planted")]
    shown.sort(key=lambda pair: order.get(pair[0], len(order)))
    return crossed(
        "Attribution of other events, public data: DACC, FPR, FNR (events)",
        [{**row, "words": WORDS.get(key, row["case"])} for key, row in shown],
        {"event": "words"},
        lambda row: _FORMS["plain" if row["form"] == "plain" else "prepend"],
        lambda part: _cell(part[0]),
        order=_FORMS.values(),
    )


def _refusals(rows: Sequence[Row]) -> Table:
    order, lines = list(_FORMS), []
    numbered = [
        (row["data"], -int(row["case"].split()[0]), order.index(row["form"]), row) for row in rows
    ]
    for data, count, form, row in sorted(numbered, key=lambda one: one[:3]):
        if count or not form:  # where nothing is planted the forms are the same event
            lines.append(
                {
                    **{"data": data, "planted": -count},
                    "form": _FORMS[row["form"]] if count else "",
                    "reports": row["events"],
                    "planted texts found": f"{100 * row['recall']:.1f} %" if count else "",
                    "benign passages blamed": f"{100 * row['fpr']:.2f} %",
                    "reports that end in blame": row["causes"]["poisoning"],
                }
            )
    return as_is("Attribution of refusals", lines)
