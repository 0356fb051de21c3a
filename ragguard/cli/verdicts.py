"""`ragguard verdicts`: what the filter dropped, marked or could not judge, and why."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragguard.cli import options
from ragguard.cli.output import SHOWN_KEY, excerpt, minute, show_facts, show_table, write_json

if TYPE_CHECKING:
    from ragguard.audit.verdicts import VerdictRecord

verdicts = typer.Typer(
    name="verdicts",
    cls=options.DefaultListGroup,
    help="Show what guards dropped, and with `show ID` or `explain ID` one verdict.",
)

_SENTENCE = 400  # characters


@verdicts.command("list")
def list_verdicts(
    store: options.Store,
    limit: Annotated[int, typer.Option(min=1, help="At most this many.")] = 20,
    before: Annotated[
        datetime | None, typer.Option(help="Only those that were recorded before then (UTC).")
    ] = None,
    passage: Annotated[
        str | None, typer.Option(help="Only those that did not simply keep this passage.")
    ] = None,
    tenant: options.Tenant = None,
    as_json: options.AsJson = False,
) -> None:
    """List the newest verdicts first (UTC)."""
    with options.opened_store(store, tenant=tenant) as opened:
        found = opened.verdicts(limit=limit, before=before, passage_id=passage)
    if as_json:
        write_json([_to_dict(record) for record in found])
        return
    rows = [
        (
            record.id,
            minute(record.recorded_at),
            f"{record.dropped} of {record.size}",
            f"{record.p_value:.2g}",
            record.query or record.question,
            _why(record),
        )
        for record in found
    ]
    columns = ("id", "recorded", "dropped", "p", "question", "why")
    show_table(columns, rows, wrapped=["question", "why"])


@verdicts.command("show")
def show_verdict(
    verdict_id: Annotated[str, typer.Argument(metavar="ID")],
    store: options.Store,
    tenant: options.Tenant = None,
    as_json: options.AsJson = False,
) -> None:
    """Show one verdict: every passage that it did not simply keep, and why."""
    with options.opened_store(store, tenant=tenant) as opened:
        record = opened.verdict(verdict_id)
    if as_json:
        write_json(_to_dict(record))
        return
    found = "an attack" if record.attacked else "no attack"
    show_facts(
        ("verdict", f"{record.id}, {minute(record.recorded_at)} UTC, {record.mode} mode"),
        ("question", record.query or f"not recorded; its hash is {record.question}"),
        ("found", f"{found}, p = {record.p_value:.4g}; {record.kept} of {record.size} kept"),
        *((("error", record.error),) if record.error else ()),
        ("judged by", f"ragguard {record.version}, scorer {record.scorer}"),
        ("calibrated", record.calibration),
    )
    rows = [
        (
            one.passage_id,
            one.key[:SHOWN_KEY],
            one.outcome,
            one.signal,
            f"{one.strength:.2f}",
            f"{one.suspicion:.2f}",
            one.reason,
            excerpt(one.text, 100) if one.text else "",
        )
        for one in record.passages
    ]
    if rows:
        typer.echo("")
        columns = ("passage", "key", "what", "signal", "strength", "nats", "why", "text")
        show_table(columns, rows, wrapped=["why", "text"])


@verdicts.command("explain")
def explain_verdict(
    verdict_id: Annotated[str, typer.Argument(metavar="ID")],
    store: options.Store,
    tenant: options.Tenant = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell one verdict in words: what was found, what became of each passage, and why.

    Where the guard recorded texts the sentences are shown that count most.
    """
    from ragguard.audit.verdicts import retold

    with options.opened_store(store, tenant=tenant) as opened:
        record = opened.verdict(verdict_id)
    told = retold(record)
    if as_json:
        write_json({"id": record.id, "query": record.query, **asdict(told)})
        return
    show_facts(
        ("question", record.query or f"not recorded; its hash is {record.question}"),
        ("found", told.found),
    )
    for one in told.passages:
        typer.echo("")
        show_facts(
            ("passage", f"{one.passage_id} ({one.key[:SHOWN_KEY]})"),
            ("why", one.why),
            *[("it says", f'"{excerpt(text, _SENTENCE)}"') for text in one.sentences],
        )
    if any(one.text is None for one in record.passages):
        typer.echo("")
        show_facts(("texts", "not recorded; with Guard(record_texts=True) they would be shown"))


def _why(record: VerdictRecord) -> str:
    reasons = list(dict.fromkeys(one.reason for one in record.passages))
    return "; ".join([*reasons[:2], *([record.error] if record.error else [])])


def _to_dict(record: VerdictRecord) -> dict[str, Any]:
    return {**asdict(record), "dropped": record.dropped}
