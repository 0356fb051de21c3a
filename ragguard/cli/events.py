"""`ragguard report` and `ragguard events`: file a wrong response, and see what became of it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ragguard.cli.attribute import attribution_to_dict, show_attribution
from ragguard.cli.exits import DefaultListGroup
from ragguard.cli.options import JsonOption, StoreOption, opened_store
from ragguard.cli.output import (
    event_to_dict,
    minute,
    printable,
    show_table,
    write_json,
)
from ragguard.errors import InvalidInputError
from ragguard.jsonl import open_input, passage_from_json, read_lines

__all__ = ["events", "report"]

events = typer.Typer(
    cls=DefaultListGroup, help="Show reported responses: all of them, or with `show ID` one."
)


class Status(StrEnum):
    """How far the attribution of an event is."""

    pending = "pending"
    running = "running"
    done = "done"
    failed = "failed"


def report(
    store: StoreOption,
    query: Annotated[str, typer.Option(help="The user's question.")],
    response: Annotated[str, typer.Option(help="The response that is wrong.")],
    passages: Annotated[
        Path | None,
        typer.Option(help="JSON lines of the passages that the generator saw, best first."),
    ] = None,
    reporter: Annotated[str | None, typer.Option(help="Who says that it is wrong.")] = None,
    as_json: JsonOption = False,
) -> None:
    """File a wrong response for attribution, and print the event's id.

    A `ragguard worker` on the same store attributes it, or any process that holds a Guard on it.
    What is reported again within the hour is counted, and has the same id.
    """
    from ragguard.background.reports import as_event

    for option, text in (("--query", query), ("--response", response)):
        if not text.strip():
            raise InvalidInputError(f"{option} is blank; pass the text")
    seen = []
    if passages is not None:
        with open_input(passages) as stream:
            lines = read_lines(stream, str(passages))
            seen = [passage_from_json(line.value, line.place) for line in lines]
    with opened_store(store, create=True) as opened:
        version = opened.quarantine_version()
        event = as_event(query, response, seen, reporter, quarantine_version=version)
        opened.add_event(event)
    if as_json:
        write_json(event_to_dict(event))
    else:
        typer.echo(event.id)


@events.command("list")
def list_events(
    store: StoreOption,
    status: Annotated[Status | None, typer.Option(help="Only these.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most this many.")] = 100,
    as_json: JsonOption = False,
) -> None:
    """List the newest events first (UTC)."""
    with opened_store(store) as opened:
        found = opened.events(status=None if status is None else status.value, limit=limit)
    if as_json:
        write_json([event_to_dict(event) for event in found])
        return
    show_table(
        ["id", "reported", "times", "status", "reporter", "query"],
        [
            [
                event.id,
                minute(event.created_at),
                str(event.reports),
                event.status,
                event.reporter or "",
                event.query,
            ]
            for event in found
        ],
        wrapped=["query"],
    )


@events.command("show")
def show_event(
    event_id: Annotated[str, typer.Argument(metavar="ID")],
    store: StoreOption,
    as_json: JsonOption = False,
) -> None:
    """Show one event, and its attribution when there is one."""
    with opened_store(store) as opened:
        event = opened.event(event_id)
        attribution = opened.attribution(event_id)
    if as_json:
        found = None if attribution is None else attribution_to_dict(attribution)
        write_json({**event_to_dict(event), "attribution": found})
        return
    who = "" if event.reporter is None else f" by {printable(event.reporter)}"
    typer.echo(f"event     {event.id}, reported {minute(event.created_at)} UTC{who}")
    times = f"{event.reports} reports" + ("" if event.reporters < 2 else f" by {event.reporters}")
    attempts = f"{event.attempts} attempts, {event.failures} failed"
    typer.echo(f"status    {event.status}, {attempts}; {times}")
    if event.cut is not None:
        typer.echo(f"left out  {printable(event.cut)}")
    if event.error is not None:
        typer.echo(f"error     {printable(event.error)}")
    if attribution is not None:
        show_attribution(attribution)
        return
    typer.echo(f"query     {printable(event.query)}")
    typer.echo(f"response  {printable(event.response)}")
    for passage in event.passages:
        typer.echo(f"passage   {printable(passage.id)}: {printable(passage.text, 100)}")
