"""`ragguard store`: the database behind the audit store."""

from __future__ import annotations

import typer

from ragguard.cli.options import JsonOption, StoreOption, require_there
from ragguard.cli.output import write_json

__all__ = ["store"]

store = typer.Typer(no_args_is_help=True, help="Look after the database of an audit store.")

_HOUR = 3600.0


@store.callback()
def _group() -> None:
    """Look after the database of an audit store."""


@store.command("upgrade")
def upgrade(store: StoreOption, as_json: JsonOption = False) -> None:
    """Move the tables of an earlier release on to what this ragguard needs.

    Stop what writes to the store, and make a backup before. All of it is done, or nothing.
    """
    from ragguard.audit.database import Database
    from ragguard.audit.schema import HEAD

    require_there(store)
    database = Database(store, statement_s=_HOUR, any_schema=True)
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
