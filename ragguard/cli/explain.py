"""`ragguard explain`: a picture of one verdict."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from ragguard.cli.options import (
    AlphaOption,
    CalibrationOption,
    JsonOption,
    KOption,
    Strategy,
    StrategyOption,
    opened_store,
    optional_store,
    output_option,
    source_argument,
)
from ragguard.cli.output import write_json
from ragguard.cli.traffic import opened_traffic, read_traffic
from ragguard.errors import InvalidInputError

__all__ = ["explain"]


def explain(
    source: Annotated[str, source_argument("JSON lines as for `filter`; - is stdin.")] = "-",
    line: Annotated[int, typer.Option(min=1, help="Which of the queries to explain.")] = 1,
    output: Annotated[Path, output_option("The picture: .svg or .png.")] = Path("explain.svg"),
    alpha: AlphaOption = 0.01,
    strategy: StrategyOption = Strategy.auto,
    calibration: CalibrationOption = None,
    store: Annotated[
        str | None,
        optional_store("Audit store whose quarantine is dropped."),
    ] = None,
    k: KOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw one query's passages in similarity space: what is dropped, and why.

    Takes the options of `filter`, and judges as `filter` does. Of many passages those dropped and
    the best are drawn, the others counted. Needs the extra `explain` (matplotlib).
    """
    from ragguard import Guard
    from ragguard.audit import MemoryStore
    from ragguard.drawing import draw
    from ragguard.embedding import as_embedder
    from ragguard.explain import explain as explained
    from ragguard.inline.calibration_file import gate_threshold, load_calibration

    with opened_traffic(source) as stream:
        found = next(islice(read_traffic(stream, source, progress=False), line - 1, None), None)
    if found is None:
        raise InvalidInputError(f"{source} has no query number {line}; pass a smaller --line")
    # A copy of the quarantine: looking at a query must not count it, nor record what it scored.
    held = MemoryStore()
    if store is not None:
        with opened_store(store) as opened:
            held.add_quarantine(opened.quarantine())
    measure = None if calibration is None else load_calibration(calibration)
    with Guard(alpha=alpha, strategy=strategy.value, calibration=measure, store=held) as guard:
        verdict = guard.filter(found.query, found.passages, k=k)
    threshold = gate_threshold(measure, alpha, len(found.passages), k) if found.passages else None
    explanation = explained(
        found.query, found.passages, verdict, as_embedder(None), threshold=threshold
    )
    draw(explanation, output)
    reserve = explanation.fates.count("reserve")
    left_out = sum(explanation.not_drawn.values())
    if as_json:
        write_json(
            {
                "picture": str(output),
                "query": found.query,
                "attacked": verdict.attacked,
                "p_value": verdict.p_value,
                "dropped": [passage.id for passage in verdict.dropped],
                "reserve": reserve,
                "threshold": threshold,
                "drawn": len(explanation.drawn),
                "shown": explanation.shown,
            }
        )
    else:
        spare = f", {reserve} in reserve" if reserve else ""
        some = f"; {left_out} are counted, but not drawn" if left_out else ""
        typer.echo(
            f"wrote {output}: {len(verdict.dropped)} of {len(found.passages)} dropped{spare}{some}"
        )
