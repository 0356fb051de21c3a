"""`ragguard filter` and `explain`: judge retrieved passages, and draw one verdict."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import typer

import ragguard
from ragguard.arguments import require_tenant
from ragguard.audit import MemoryStore
from ragguard.cli import options
from ragguard.cli.options import flag, option
from ragguard.cli.output import FINDING, OPERATIONAL, complain, excerpt, write_json
from ragguard.cli.traffic import opened_output, opened_traffic, read_traffic, require_apart
from ragguard.embedding import as_embedder
from ragguard.errors import InvalidInputError
from ragguard.inline.calibration_file import as_calibration, gate_threshold
from ragguard.inline.tokens import tokenize_query
from ragguard.text import printable
from ragguard.verdict import Verdict

_EVIDENCE = (
    *("passage_id", "flagged", "marked", "decided", "signal", "strength", "reason", "signals"),
    "suspicion",
)
_MAX_MS = option("Milliseconds of processor time that a query may take.", min=1, default=50)


def filter_traffic(
    source: str = options.source("JSON lines to read; - is stdin."),
    output: Path | None = options.output("Write JSON lines here, not to stdout.", None),
    alpha: float = options.ALPHA,
    mark_alpha: float | None = options.MARK_ALPHA,
    strategy: Literal["auto", "clustering", "concentration"] = options.STRATEGY,
    mode: Literal["filter", "monitor"] = option(
        "monitor judges everything and drops nothing.", default="filter"
    ),
    calibration: Path | None = options.CALIBRATION,
    store: str | None = options.store(
        "Audit store whose quarantine is dropped and whose counters are kept."
    ),
    tenant: str | None = options.TENANT,
    k: int | None = options.K,
    max_ms: float = _MAX_MS,
    fail_on_attack: bool = flag("--fail-on-attack", "Exit with 1 if any query was attacked."),
    as_json: bool = options.AS_JSON,
) -> None:
    """Judge retrieved passages: JSON lines in, one verdict a line out.

    Each input line is {"query": "...", "passages": [...]}; a passage is a string or
    {"text", "id", "score", "embedding", "metadata"}, of which only "text" is needed. Each output
    line holds the ids of the passages kept and dropped, of the kept ones that are marked as
    unusual, whether the query was attacked, the p-value and the evidence, and is written before
    the next line is read. On a terminal the verdicts are shown in words, unless --json is given.
    The totals go to stderr.
    """
    require_tenant(tenant)
    require_apart({"--output": output}, source, store, calibration=calibration)
    in_words = output is None and not as_json and sys.stdout.isatty()
    seen: Counter[str] = Counter()
    with (
        opened_traffic(source) as stream,
        nullcontext() if output is None else opened_output(output) as out,
        ragguard.Guard(
            alpha=alpha,
            mark_alpha=mark_alpha,
            strategy=strategy,
            mode=mode,
            calibration=calibration,
            store=store,
            max_ms=max_ms,
        ) as guard,
    ):
        # A bar and verdicts on one terminal would overwrite each other.
        bar = output is not None or not sys.stdout.isatty()
        for retrieval in read_traffic(stream, source, progress=bar):
            try:
                verdict = guard.filter(retrieval.query, retrieval.passages, k=k, tenant=tenant)
            except InvalidInputError as error:
                raise InvalidInputError(f"{retrieval.place}: {error}") from error
            seen["queries"] += 1
            seen["attacked"] += verdict.attacked
            seen["flagged"] += sum(evidence.flagged for evidence in verdict.evidence)
            seen["marked"] += len(verdict.marked)
            seen["errors"] += verdict.error is not None
            if in_words:
                _show(retrieval.query, verdict)
            else:
                write_json(_to_dict(retrieval.query, verdict), out, indent=None)
            if verdict.error is not None:
                _say_why(retrieval.place, verdict.error)
    complain(_totals(seen, mode))
    if seen["errors"]:
        raise typer.Exit(OPERATIONAL)
    if fail_on_attack and seen["attacked"]:
        raise typer.Exit(FINDING)


def _totals(seen: Counter[str], mode: str) -> str:
    queries = "1 query" if seen["queries"] == 1 else f"{seen['queries']} queries"
    flagged = "1 passage" if seen["flagged"] == 1 else f"{seen['flagged']} passages"
    fate = "dropped" if mode == "filter" else "would be dropped"
    total = f"{queries}, {seen['attacked']} attacked, {flagged} {fate}, {seen['marked']} marked"
    return total + (f", {seen['errors']} could not be judged" if seen["errors"] else "")


def _to_dict(query: str, verdict: Verdict) -> dict[str, Any]:
    return {
        "query": query,
        "attacked": verdict.attacked,
        "p_value": verdict.p_value,
        "kept": [passage.id for passage in verdict.kept],
        "dropped": [passage.id for passage in verdict.dropped],
        "marked": [passage.id for passage in verdict.marked],
        "mode": verdict.mode,
        "error": verdict.error,
        "evidence": [{name: getattr(one, name) for name in _EVIDENCE} for one in verdict.evidence],
    }


def _show(query: str, verdict: Verdict) -> None:
    word = "attacked" if verdict.attacked else "clean"
    flagged = sum(evidence.flagged for evidence in verdict.evidence)
    marked = f", {len(verdict.marked)} marked" if verdict.marked else ""
    typer.echo(
        f"{word:<8}  p={verdict.p_value:.4f}  "
        f"{flagged} of {len(verdict.evidence)} flagged{marked}  {excerpt(query, 60)}"
    )
    for evidence in verdict.evidence:
        if evidence.flagged or evidence.marked:
            fate = "" if evidence.flagged else "marked: "
            told = f"{printable(evidence.passage_id)}: {fate}{printable(evidence.reason)}"
            typer.echo(f"          {told}")


def explain(
    source: str = options.source("JSON lines as for `filter`; - is stdin."),
    line: int = option("Which of the queries to explain.", min=1, default=1),
    output: Path = options.output("The picture: .svg or .png.", Path("explain.svg")),
    alpha: float = options.ALPHA,
    mark_alpha: float | None = options.MARK_ALPHA,
    strategy: Literal["auto", "clustering", "concentration"] = options.STRATEGY,
    calibration: Path | None = options.CALIBRATION,
    store: str | None = options.store("Audit store whose quarantine is dropped."),
    tenant: str | None = options.TENANT,
    k: int | None = options.K,
    max_ms: float = _MAX_MS,
    as_json: bool = options.AS_JSON,
) -> None:
    """Draw one query's passages in similarity space: what is dropped or marked, and why.

    Takes the options of `filter`, and judges as `filter` does. Of many passages those dropped,
    those marked and the best are drawn, the others counted. Needs the extra `explain` (matplotlib).
    """
    from ragguard.explain import draw
    from ragguard.explain import explain as explained

    require_tenant(tenant)
    require_apart({"--output": output}, source, store, calibration=calibration)
    with opened_traffic(source) as stream:
        found = next(islice(read_traffic(stream, source, progress=False), line - 1, None), None)
    if found is None:
        raise InvalidInputError(f"{source} has no query number {line}; pass a smaller --line")
    # A copy of the quarantine: looking at a query must not count it, nor record what it scored.
    held = MemoryStore()
    if store is not None:
        with options.opened_store(store, tenant=tenant) as opened:
            held.add_quarantine(opened.quarantine())
            for allowance in opened.allowances():
                held.allow(allowance)
    measure = as_calibration(calibration)
    with ragguard.Guard(
        alpha=alpha,
        mark_alpha=mark_alpha,
        strategy=strategy,
        calibration=measure,
        store=held,
        max_ms=max_ms,
    ) as guard:
        verdict = guard.filter(found.query, found.passages, k=k)
    query, count, threshold = found.query, len(found.passages), None
    if judged := min(k or count, count):
        naming = tokenize_query(query).names
        more = count > judged
        threshold = gate_threshold(measure, alpha, judged, with_reference=more, naming=naming)
    shown = explained(query, found.passages, verdict, as_embedder(None), threshold=threshold)
    draw(shown, output)
    reserve, marked = map(shown.fates.count, ("reserve", "marked"))
    left_out = sum(shown.not_drawn.values())
    if as_json:
        write_json(
            {
                "picture": str(output),
                "query": query,
                "attacked": verdict.attacked,
                "p_value": verdict.p_value,
                "dropped": [passage.id for passage in verdict.dropped],
                "marked": [passage.id for passage in verdict.marked],
                "reserve": reserve,
                "threshold": threshold,
                "error": verdict.error,
                "drawn": len(shown.drawn),
                "shown": shown.shown,
            }
        )
    else:
        spare = f", {marked} marked" if marked else ""
        spare += f", {reserve} in reserve" if reserve else ""
        some = f"; {left_out} are counted, but not drawn" if left_out else ""
        typer.echo(f"wrote {output}: {len(verdict.dropped)} of {count} dropped{spare}{some}")
    if verdict.error is not None:
        _say_why(found.place, verdict.error)
        raise typer.Exit(OPERATIONAL)


def _say_why(place: str, error: str) -> None:
    complain(f"{place}: could not be judged: {error.replace('max_ms', '--max-ms')}")
