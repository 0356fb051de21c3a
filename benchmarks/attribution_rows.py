"""Rows of results about attribution: the strata of each dataset, and their means over datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from benchmarks.misgeneration import MAIN_KINDS, OWN, Event, Tally, rounded
from ragguard.attribution import Attribution

MEASURES = ("dacc", "fpr", "fnr", "fnr_stating", "scope")
"""What a summary gives means of; `benchmarks.misgeneration.Tally.row` says what they are."""

Row = Mapping[str, Any]
_Stratum = tuple[tuple[str, str], ...]


def source(dataset: str) -> str:
    """Return "own" for the project's own data, which are reported apart, else "public"."""
    return "own" if dataset == OWN else "public"


class Outcomes:
    """What was found in the events of datasets, counted stratum by stratum."""

    def __init__(self) -> None:
        self._poisoned: dict[_Stratum, Tally] = {}
        self._clean: dict[_Stratum, list[bool]] = {}

    def add(self, dataset: str, event: Event, attribution: Attribution, **stratum: str) -> None:
        """Count one attribution.

        Args:
            dataset: Whose event it is.
            event: Without poison it counts as clean, and any blame is false.
            attribution: Whom a method blamed.
            **stratum: Further columns of the row that it counts in.
        """
        key = (("dataset", dataset), ("data", source(dataset)), *stratum.items())
        if event.poison:
            self._poisoned.setdefault(key, Tally()).add(event, attribution)
        else:
            self._clean.setdefault(key, []).append(bool(attribution.responsible))

    def poisoned(self) -> list[dict[str, Any]]:
        """Return a row for each dataset and stratum of events with poison: its measures."""
        return [{**dict(key), **tally.row()} for key, tally in self._poisoned.items()]

    def clean(self) -> list[dict[str, Any]]:
        """Return a row for each dataset and stratum of clean events: the share that was blamed."""
        return [
            {**dict(key), "events": len(blamed), "blamed": rounded(mean(blamed))}
            for key, blamed in self._clean.items()
        ]


def summary(
    poisoned: Sequence[Row], clean: Sequence[Row], *, by: Sequence[str]
) -> list[dict[str, Any]]:
    """Return means over datasets, each of which is the mean over its rows of main kinds.

    Args:
        poisoned: Rows of `Outcomes.poisoned`; one without a kind is of all main kinds together.
        clean: Rows of `Outcomes.clean`.
        by: Columns for whose values there is a row each; where clean rows lack one, they count
            for all of its values.

    Returns:
        Rows of the columns `by`, "events" (a sum), `MEASURES`, "clean_blamed" (a mean over
        datasets as well) and "clean_blamed_pooled" (over all clean events alike).
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in poisoned:
        if row.get("kind") in (None, *MAIN_KINDS):
            groups.setdefault(tuple(row[column] for column in by), []).append(row)
    rows = []
    for key, group in groups.items():
        values = dict(zip(by, key, strict=True))
        innocent = [row for row in clean if all(row.get(c, v) == v for c, v in values.items())]
        rows.append({**values, **_means(group), **_shares_blamed(innocent)})
    return rows


def _means(rows: Sequence[Row]) -> dict[str, float]:
    by_dataset: dict[str, list[Row]] = {}
    for row in rows:
        by_dataset.setdefault(row["dataset"], []).append(row)
    means = {
        measure: mean(mean(row[measure] for row in group) for group in by_dataset.values())
        for measure in MEASURES
    }
    return {
        "events": sum(row["events"] for row in rows),
        **{measure: rounded(value) for measure, value in means.items()},
    }


def _shares_blamed(rows: Sequence[Row]) -> dict[str, float]:
    pooled = sum(row["blamed"] * row["events"] for row in rows) / sum(row["events"] for row in rows)
    return {
        "clean_blamed": rounded(mean(row["blamed"] for row in rows)),
        "clean_blamed_pooled": rounded(pooled),
    }
