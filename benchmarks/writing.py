"""What each step of reading a passage as it is meant is worth.

Runnable alone: `python -m benchmarks.writing --data DIR --json FILE`. One step at a time is left
out, and then all, and the gate, as shipped, judges one planted text (of the first kind of a
dataset) written in each of the ways that the steps are there for, and the clean sets (report half,
built-in embedder, k = 5 and 10). Nothing is fitted or chosen here; the steps themselves were
written with forms like these in mind.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console
from rich.progress import track

from benchmarks.clean import SIZES
from benchmarks.command import run_built_in
from benchmarks.datasets import Dataset, Record
from benchmarks.forms import WRITTEN_FORMS
from benchmarks.retrieval import RetrievedSet, planted, retrieve
from benchmarks.tables import Table, share
from ragguard.embedding import Embedder
from ragguard.inline.normalize import STEPS
from ragguard.inline.normalize.alignment import PIECES, WHOLE
from ragguard.inline.pipeline import ConformalFilter
from ragguard.lru import forget_all
from ragguard.passage import as_passages

__all__ = ["CLEAN", "FORMS", "READINGS", "main", "run", "tables"]

CLEAN = "clean"
FORMS = ("prepend", *WRITTEN_FORMS)


def _without(name: str, parts: tuple[Any, ...], *left_out: str) -> dict[str, Any]:
    return {name: tuple(part for part in parts if part.__name__ not in left_out)}


_AS_IT_IS = dict.fromkeys(
    ("tokens.strip_markup", "features.consensus.strip_markup"), lambda text: text
)
_STEPS: Mapping[str, Mapping[str, Any]] = {
    "no markup": _AS_IT_IS,
    "no signs": _without("normalize.STEPS", STEPS, "unleet"),
    "no gaps": _without("normalize.alignment.WHOLE", WHOLE, "regap"),
    "no alike": _without("normalize.alignment.WHOLE", WHOLE, "align"),
    "no words between": _without("normalize.alignment.PIECES", PIECES, "interleaved"),
    "no two pieces": _without("normalize.alignment.PIECES", PIECES, "rotated"),
    "no misspelt": _without("normalize.STEPS", STEPS, "respell"),
}
READINGS: Mapping[str, Mapping[str, Any]] = {
    "all": {},
    **_STEPS,
    "none": {**_AS_IT_IS, "normalize.STEPS": ()},
}
"""All steps, all but one, and none: what takes the place of what in `ragguard.inline`."""


@contextmanager
def _reading(name: str) -> Iterator[None]:
    with ExitStack() as patched:
        for place, instead in READINGS[name].items():
            patched.enter_context(patch(f"ragguard.inline.{place}", instead))
        # What was read with other steps is no longer how these would read it.
        patched.callback(_forget)
        _forget()
        yield


def _forget() -> None:
    forget_all()


def run(
    _: Path, datasets: Sequence[Dataset], embedder: Embedder, console: Console
) -> list[dict[str, Any]]:
    """Return a row for every reading, form and k: sets, and those in which the gate fired."""
    judge = ConformalFilter(embedder)
    records = [(record, next(iter(d.kinds), "")) for d in datasets for record in d.report]
    rows = []
    for form in track((CLEAN, *FORMS), "forms", console=console):
        for k in SIZES:
            sets = [found for one in records for found in _sets(*one, embedder, form, k)]
            for reading in READINGS:
                with _reading(reading):
                    fired = sum(_fires(judge, found, k) for found in sets)
                rows.append(
                    {"reading": reading, "form": form, "k": k, "sets": len(sets), "fired": fired}
                )
    return rows


def _sets(
    record: Record, kind: str, embedder: Embedder, form: str, k: int
) -> Iterator[RetrievedSet]:
    if form == CLEAN:
        yield retrieve(record, embedder, k)
    elif poison := planted(record, kind, form, 1):
        ranked = retrieve(record, embedder, k, poison)
        if ranked.poisoned.any():
            yield ranked


def _fires(judge: ConformalFilter, found: RetrievedSet, k: int) -> bool:
    return judge.decide(found.question, as_passages(found.texts), k).attacked


def tables(rows: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
    """Yield the table of the rows of `run`, both k together."""
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for row in rows:
        key = row["form"], row["reading"]
        sets, fired = counts.get(key, (0, 0))
        counts[key] = sets + row["sets"], fired + row["fired"]
    forms = list(dict.fromkeys(row["form"] for row in rows))
    readings = list(dict.fromkeys(row["reading"] for row in rows))
    cells = {key: share(fired, sets) for key, (sets, fired) in counts.items()}
    lines = [
        (
            form,
            str(counts[form, readings[0]][0]),
            *_differing([cells[form, one] for one in readings]),
        )
        for form in forms
    ]
    title = "Sets in which the gate fires, steps of reading left out"
    yield Table(title, ("form", "sets", *readings), tuple(lines))


def _differing(cells: Sequence[str]) -> list[str]:
    """Leave out what is as with all steps, so that the eye finds the rest."""
    return [cells[0], *("" if cell == cells[0] else cell for cell in cells[1:])]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return run_built_in("writing", __doc__, argv, run, tables)


if __name__ == "__main__":
    sys.exit(main())
