"""`ragguard filter`: judge retrieved passages, line by line."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from ragguard.cli.exits import FINDING, OPERATIONAL, complain
from ragguard.cli.options import (
    AlphaOption,
    CalibrationOption,
    JsonOption,
    KOption,
    Strategy,
    StrategyOption,
    flag,
    optional_store,
    output_option,
    source_argument,
)
from ragguard.cli.output import counted, printable, write_json_line
from ragguard.cli.traffic import opened_traffic, read_traffic
from ragguard.errors import InvalidInputError
from ragguard.private import make_private

if TYPE_CHECKING:
    from ragguard.verdict import Verdict

__all__ = ["Mode", "filter_traffic"]


class Mode(StrEnum):
    """What happens to them."""

    filter = "filter"
    monitor = "monitor"


def filter_traffic(
    source: Annotated[str, source_argument("JSON lines to read; - is stdin.")] = "-",
    output: Annotated[
        Path | None,
        output_option("Write JSON lines here, not to stdout."),
    ] = None,
    alpha: AlphaOption = 0.01,
    strategy: StrategyOption = Strategy.auto,
    mode: Annotated[
        Mode, typer.Option(help="monitor judges everything and drops nothing.")
    ] = Mode.filter,
    calibration: CalibrationOption = None,
    store: Annotated[
        str | None,
        optional_store("Audit store whose quarantine is dropped and whose counters are kept."),
    ] = None,
    k: KOption = None,
    fail_on_attack: Annotated[
        bool,
        flag("--fail-on-attack", "Exit with 1 if any query was attacked."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Judge retrieved passages: JSON lines in, one verdict a line out.

    Each input line is {"query": "...", "passages": [...]}; a passage is a string or
    {"text", "id", "score", "embedding", "metadata"}, of which only "text" is needed. Each output
    line holds the ids of the passages kept and dropped, whether the query was attacked, the
    p-value and the evidence, and is written before the next line is read. On a terminal the
    verdicts are shown in words, unless --json is given. The totals go to stderr.
    """
    from ragguard import Guard

    in_words = output is None and not as_json and sys.stdout.isatty()
    seen: Counter[str] = Counter()
    with (
        opened_traffic(source) as stream,
        _opened_output(output, source) as out,
        Guard(
            alpha=alpha,
            strategy=strategy.value,
            mode=mode.value,
            calibration=calibration,
            store=store,
        ) as guard,
    ):
        # A bar and verdicts on one terminal would overwrite each other.
        bar = output is not None or not sys.stdout.isatty()
        for retrieval in read_traffic(stream, source, progress=bar):
            try:
                verdict = guard.filter(retrieval.query, retrieval.passages, k=k)
            except InvalidInputError as error:
                raise InvalidInputError(f"{retrieval.place}: {error}") from error
            seen.update(_counted(verdict))
            if in_words:
                _show(retrieval.query, verdict)
            else:
                write_json_line(_to_dict(retrieval.query, verdict), out)
            if verdict.error is not None:
                complain(f"{retrieval.place}: could not be judged: {verdict.error}")
    complain(_totals(seen, mode))
    if seen["errors"]:
        raise typer.Exit(OPERATIONAL)
    if fail_on_attack and seen["attacked"]:
        raise typer.Exit(FINDING)


@contextmanager
def _opened_output(output: Path | None, source: str) -> Iterator[IO[str] | None]:
    if output is None:
        yield None
        return
    if output.exists() and source != "-" and output.samefile(source):
        raise InvalidInputError(f"--output {output} is the input; pass another file")
    try:
        make_private(output)
        file = output.open("w", encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(
            f"cannot write {output}: {error.strerror}; pass a path that can be written"
        ) from error
    with file:
        yield file


def _counted(verdict: Verdict) -> dict[str, int]:
    return {
        "queries": 1,
        "attacked": int(verdict.attacked),
        "flagged": sum(evidence.flagged for evidence in verdict.evidence),
        "errors": int(verdict.error is not None),
    }


def _totals(seen: Counter[str], mode: Mode) -> str:
    fate = "dropped" if mode is Mode.filter else "would be dropped"
    parts = [
        counted(seen["queries"], "query", "queries"),
        f"{seen['attacked']} attacked",
        f"{counted(seen['flagged'], 'passage')} {fate}",
    ]
    if seen["errors"]:
        parts.append(f"{seen['errors']} could not be judged")
    return ", ".join(parts)


def _to_dict(query: str, verdict: Verdict) -> dict[str, Any]:
    return {
        "query": query,
        "attacked": verdict.attacked,
        "p_value": verdict.p_value,
        "kept": [passage.id for passage in verdict.kept],
        "dropped": [passage.id for passage in verdict.dropped],
        "mode": verdict.mode,
        "error": verdict.error,
        "evidence": [
            {
                "passage_id": evidence.passage_id,
                "flagged": evidence.flagged,
                "signal": evidence.signal,
                "strength": evidence.strength,
                "reason": evidence.reason,
                "signals": evidence.signals,
                "suspicion": evidence.suspicion,
            }
            for evidence in verdict.evidence
        ],
    }


def _show(query: str, verdict: Verdict) -> None:
    word = "attacked" if verdict.attacked else "clean"
    flagged = [evidence for evidence in verdict.evidence if evidence.flagged]
    typer.echo(
        f"{word:<8}  p={verdict.p_value:.4f}  "
        f"{len(flagged)} of {len(verdict.evidence)} flagged  {printable(query, 60)}"
    )
    for evidence in flagged:
        typer.echo(f"          {printable(evidence.passage_id)}: {printable(evidence.reason)}")
