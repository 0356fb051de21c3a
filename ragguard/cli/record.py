"""`ragguard verdicts`, `audit` and `store`: what is on record, whether it is whole, its tables."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from datetime import datetime
from typing import Any

import typer

from ragguard.audit.encoding import unescape
from ragguard.audit.trail import KEY, Keys
from ragguard.audit.verdicts import VerdictRecord, retold
from ragguard.cli import options
from ragguard.cli.options import option
from ragguard.cli.output import (
    FINDING,
    SHOWN_KEY,
    excerpt,
    minute,
    show_facts,
    show_table,
    write_json,
)
from ragguard.text import printable

_SENTENCE = 400  # characters
_DETAILS = 1_000  # characters; whoever writes to the store can write any
_SHOWN_FINDINGS = 50
_UPGRADE_S = 3_600.0

verdicts = typer.Typer(
    name="verdicts",
    cls=options.DefaultListGroup,
    help="Show what guards dropped, and with `show ID` or `explain ID` one verdict.",
)


@verdicts.command("list")
def list_verdicts(
    store: str = options.STORE,
    limit: int = option("At most this many.", min=1, default=20),
    before: datetime | None = option("Only those that were recorded before then (UTC)."),
    passage: str | None = option("Only those that did not simply keep this passage."),
    tenant: str | None = options.TENANT,
    as_json: bool = options.AS_JSON,
) -> None:
    """List the newest verdicts first (UTC)."""
    with options.opened_store(store, tenant=tenant) as opened:
        found = opened.verdicts(limit=limit, before=before, passage_id=passage)
    if as_json:
        write_json([_to_dict(record) for record in found])
        return
    rows = []
    for record in found:
        when, dropped = minute(record.recorded_at), f"{record.dropped} of {record.size}"
        p, asked = f"{record.p_value:.2g}", record.query or record.question
        reasons = list(dict.fromkeys(one.reason for one in record.passages))[:2]
        why = "; ".join([*reasons, *([record.error] if record.error else [])])
        rows.append([record.id, when, dropped, p, asked, why])
    columns = ("id", "recorded", "dropped", "p", "question", "why")
    show_table(columns, rows, wrapped=["question", "why"])


@verdicts.command("show")
def show_verdict(
    verdict_id: str = typer.Argument(metavar="ID"),
    store: str = options.STORE,
    tenant: str | None = options.TENANT,
    as_json: bool = options.AS_JSON,
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
        ("error", record.error or None),
        ("judged by", f"ragguard {record.version}, scorer {record.scorer}"),
        ("calibrated", record.calibration),
    )
    rows = []
    for one in record.passages:
        what = (one.passage_id, one.key[:SHOWN_KEY], one.outcome, one.signal)
        strength, nats = f"{one.strength:.2f}", f"{one.suspicion:.2f}"
        rows.append([*what, strength, nats, one.reason, excerpt(one.text or "", 100)])
    if rows:
        typer.echo("")
        columns = ("passage", "key", "what", "signal", "strength", "nats", "why", "text")
        show_table(columns, rows, wrapped=["why", "text"])


@verdicts.command("explain")
def explain_verdict(
    verdict_id: str = typer.Argument(metavar="ID"),
    store: str = options.STORE,
    tenant: str | None = options.TENANT,
    as_json: bool = options.AS_JSON,
) -> None:
    """Tell one verdict in words: what was found, what became of each passage, and why.

    Where the guard recorded texts the sentences are shown that count most.
    """
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


def _to_dict(record: VerdictRecord) -> dict[str, Any]:
    return {**asdict(record), "dropped": record.dropped}


audit = typer.Typer(
    name="audit",
    cls=options.DefaultListGroup,
    help="List who did what to quarantine, allow-list, policy and calibration, and verify it.",
)

store = typer.Typer(
    name="store", no_args_is_help=True, help="Look after the database of an audit store."
)


@audit.command("list")
def list_rows(
    store: str = options.STORE,
    limit: int = option("The newest so many.", min=1, default=100),
    tenant: str | None = options.EVERY_TENANT,
    as_json: bool = options.AS_JSON,
) -> None:
    """List the newest rows of the trail, the newest first (UTC); they are not verified."""
    with options.opened_store(store, tenant=tenant) as opened:
        rows = opened.newest_trail(limit)[::-1]
    if as_json:
        write_json([{**asdict(row), "details": row.told} for row in rows])
        return
    shown = []
    for row in rows:
        details = ", ".join(f"{name} {value}" for name, value in row.told.items() if value)
        who, what = unescape(row.actor or "worker"), unescape(row.subject)[:SHOWN_KEY]
        when = row.at[:19].replace("T", " ")
        shown.append((str(row.seq), when, row.tenant, who, row.action, what, details[:_DETAILS]))
    columns = ("row", "when", "tenant", "who", "what", "of", "details")
    show_table(columns, shown, wrapped=["details"])


@audit.command("verify")
def verify(
    store: str = options.STORE,
    head: list[str] | None = option(
        "A head that was kept elsewhere; the trail must still reach it."
    ),
    unsigned: int = option(
        "So many rows, from before there was a key, may have none.", min=0, default=0
    ),
    as_json: bool = options.AS_JSON,
) -> None:
    """Verify that no row of the trail was changed, and that the store is as the trail tells.

    The key comes from RAGGUARD_TRAIL_KEY, or from the file that RAGGUARD_TRAIL_KEY_FILE names.
    Exits with 1 if anything is wrong.
    """
    from ragguard.audit.trail_check import check

    keys = Keys.from_environment()
    with options.opened_store(store) as opened:
        found = check(opened, keys, heads=head or (), unsigned=unsigned)
    if as_json:
        write_json(asdict(found))
    else:
        signed = "; ".join(f"{one} with {one.key or 'no key'}" for one in found.stretches[-5:])
        typer.echo(f"{found.rows} rows" + (f", signed: {printable(signed)}" if signed else ""))
        for finding in found.findings[:_SHOWN_FINDINGS]:
            typer.echo(f"- {printable(finding)}")
        more = len(found.findings) - _SHOWN_FINDINGS
        if more > 0:
            typer.echo(f"- and {more} more")
        if not found.findings:
            typer.echo("the trail is whole, and the store is as it tells")
        if not found.signed:
            typer.echo(
                "no key is given: only careless edits are found, since whoever can write to the "
                f"store can write such rows as well; set {KEY}"
            )
        if found.head is not None:
            typer.echo(f"head {found.head}")
    if found.findings:
        raise typer.Exit(FINDING)


@store.command("upgrade")
def upgrade(store: str = options.STORE, as_json: bool = options.AS_JSON) -> None:
    """Move the tables of an earlier release on to what this ragguard needs.

    Stop what writes to the store, and make a backup before. All of it is done, or nothing.
    """
    from ragguard.audit.database import Database
    from ragguard.audit.schema import HEAD

    database = Database(store, access="keep", statement_s=_UPGRADE_S, any_schema=True)
    with closing(database):
        before = database.upgrade()
    if as_json:
        write_json({"before": before, "schema": HEAD})
    elif before == HEAD:
        typer.echo(f"the tables have schema {HEAD} already; nothing to do")
    else:
        typer.echo(f"moved the tables on from schema {before} to {HEAD}")
