"""The tables of the section "attribution"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from benchmarks.datasets import OWN
from benchmarks.misgeneration import MAIN_KINDS
from benchmarks.report.table import Row, Table, as_is, grouped, share

_METHOD = {"response": "short", "method": "ragorigin"}
_FORMS = {"prepend": "question in front", "plain": "plain"}
_HEADS = {"DACC": "dacc", "FPR": "fpr", "FNR": "fnr", "FNR, stating": "fnr_stating"}


def source(dataset: str) -> str:
    """Return "own" for the project's own data, which are reported apart, else "public"."""
    return "own" if dataset == OWN else "public"


def tables(sections: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the tables."""
    if section := sections.get("attribution"):
        yield from (
            as_is(f"Attribution: {part}", section[part]) for part in ("summary", "scopes", "clean")
        )
        yield _wrong_answers(section)
        yield _one_text(section["single"])
        times = section["ms_per_event"]
        if times["median"] is not None:
            line = {
                "median": f"{times['median']:.1f} ms",
                "95th percentile": f"{times['p95']:.1f} ms",
            }
            yield as_is("Attribution: processor time of an event", [line])


def _having(rows: Iterable[Row], **values: str) -> list[Row]:
    return [row for row in rows if values.items() <= row.items()]


def _wrong_answers(section: Mapping[str, Any]) -> Table:
    lines = []
    for line in _having(section["summary"], **_METHOD):
        found, clean = (
            [
                row
                for row in _having(section[part], **_METHOD)
                if source(row["dataset"]) == line["data"]
            ]
            for part in ("poisoned", "clean")
        )
        strata = [row for row in _having(found, form=line["form"]) if row["kind"] in MAIN_KINDS]
        worst = min(strata, key=lambda stratum: float(stratum["dacc"]))
        figures = "{dacc:.3f}, {fpr:.3f}, {fnr:.3f} ({events})".format_map(worst)
        place = f"{worst['dataset']}, {worst['kind']}: {figures}" if len(strata) > 1 else ""
        blamed = sum(round(row["blamed"] * row["events"]) for row in clean)
        lines.append(
            {
                **{"data": line["data"], "form": _FORMS[line["form"]]},
                "events": sum(row["events"] for row in strata),
                **{head: f"{line[name]:.3f}" for head, name in _HEADS.items()},
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
