"""`ragguard audit` and `store`: who did what, whether the record is whole, and its tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ragguard.cli import options
from ragguard.cli.output import FINDING, SHOWN_KEY, show_table, write_json
from ragguard.text import printable

audit = typer.Typer(
    name="audit",
    cls=options.DefaultListGroup,
    help="List who did what to quarantine, allow-list, policy and calibration, and verify it.",
)

store = typer.Typer(
    name="store", no_args_is_help=True, help="Look after the database of an audit store."
)

_UPGRADE_S = 3_600.0
_SHOWN_FINDINGS = 50
_LONGEST = 1_000  # characters of details; whoever writes to the store can write any


@audit.command("list")
def list_rows(
    store: options.Store,
    limit: Annotated[int, typer.Option(min=1, help="The newest so many.")] = 100,
    tenant: options.EveryTenant = None,
    as_json: options.AsJson = False,
) -> None:
    """List the newest rows of the trail, the newest first (UTC); they are not verified."""
    from ragguard.audit.encoding import unescape

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
        shown.append((str(row.seq), when, row.tenant, who, row.action, what, details[:_LONGEST]))
    columns = ("row", "when", "tenant", "who", "what", "of", "details")
    show_table(columns, shown, wrapped=["details"])


@audit.command("verify")
def verify(
    store: options.Store,
    head: Annotated[
        list[str] | None,
        typer.Option(help="A head that was kept elsewhere; the trail must still reach it."),
    ] = None,
    unsigned: Annotated[
        int, typer.Option(min=0, help="So many rows, from before there was a key, may have none.")
    ] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Verify that no row of the trail was changed, and that the store is as the trail tells.

    The key comes from RAGGUARD_TRAIL_KEY, or from the file that RAGGUARD_TRAIL_KEY_FILE names.
    Exits with 1 if anything is wrong.
    """
    from ragguard.audit.trail import KEY, Keys
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
def upgrade(store: options.Store, as_json: options.AsJson = False) -> None:
    """Move the tables of an earlier release on to what this ragguard needs.

    Stop what writes to the store, and make a backup before. All of it is done, or nothing.
    """
    from ragguard.audit.database import Database
    from ragguard.audit.schema import HEAD

    options.require_there(store)
    database = Database(store, statement_s=_UPGRADE_S, any_schema=True)
    try:
        before = database.upgrade()
    finally:
        database.close()
    if as_json:
        write_json({"before": before, "schema": HEAD})
    elif before == HEAD:
        typer.echo(f"the tables have schema {HEAD} already; nothing to do")
    else:
        typer.echo(f"moved the tables on from schema {before} to {HEAD}")
