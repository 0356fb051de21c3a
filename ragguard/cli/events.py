"""`ragguard report` and `events`: what was reported, what became of it, and once more."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ragguard.cli import options
from ragguard.cli.attribute import show, to_dict
from ragguard.cli.output import excerpt, minute, show_facts, show_table, write_json
from ragguard.content import content_keys
from ragguard.errors import InvalidInputError
from ragguard.jsonl import read_passages
from ragguard.text import printable

if TYPE_CHECKING:
    from ragguard.audit.records import AuditStore, Event

events = typer.Typer(
    name="events",
    cls=options.DefaultListGroup,
    help="Show reported responses: all of them, or with `show ID` one; `retry` tries them again.",
)


_EVENT = (
    *("id", "query", "response", "reporter", "status", "created_at", "attempts", "failures"),
    *("error", "reports", "reporters", "cut", "tenant"),
)


def _event_to_dict(event: Event) -> dict[str, Any]:
    """Return an event's fields, but for what only the worker that holds it needs."""
    fields = ("id", "text", "score", "metadata")  # of a passage; the embedding is left out
    seen = [{name: getattr(passage, name) for name in fields} for passage in event.passages]
    return {**{name: getattr(event, name) for name in _EVENT}, "passages": seen}


def report(
    store: options.Store,
    query: Annotated[str, typer.Option(help="The user's question.")],
    response: Annotated[str, typer.Option(help="The response that is wrong.")],
    passages: Annotated[
        Path | None,
        typer.Option(help="JSON lines of the passages that the generator saw, best first."),
    ] = None,
    reporter: Annotated[str | None, typer.Option(help="Who says that it is wrong.")] = None,
    tenant: options.Tenant = None,
    as_json: options.AsJson = False,
) -> None:
    """File a wrong response for attribution, and print the event's id.

    A `ragguard worker` on the same store attributes it, or any process that holds a Guard on it.
    What a reporter reports again within the hour is counted, and has the same id.
    """
    from ragguard.background.reports import as_event

    options.require_not_blank(("--query", query), ("--response", response))
    seen = [] if passages is None else read_passages(passages)
    with options.opened_store(store, create=True, tenant=tenant) as opened:
        event = as_event(
            *(query, response, seen, reporter),
            quarantine_version=opened.quarantine_version(),
            tenant=opened.tenant,
        )
        opened.add_event(event)
    if as_json:
        write_json(_event_to_dict(event))
    else:
        typer.echo(event.id)


@events.command("list")
def list_events(
    store: options.Store,
    status: Annotated[
        Literal["pending", "running", "done", "failed"] | None, typer.Option(help="Only these.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most this many.")] = 100,
    tenant: options.Tenant = None,
    as_json: options.AsJson = False,
) -> None:
    """List the newest events first (UTC): their cause, and what became of the accused passages."""
    with options.opened_store(store, tenant=tenant) as opened:
        found = [_outcome(opened, one) for one in opened.events(status=status, limit=limit)]
    if as_json:
        write_json(
            [
                {**_event_to_dict(event), "cause": cause, "effect": effect}
                for event, cause, effect in found
            ]
        )
        return
    rows = [
        (
            *(e.id, minute(e.created_at), str(e.reports), e.status, cause or ""),
            ", ".join(f"{count} {status}" for status, count in effect.items()),
            *(e.reporter or "", e.query),
        )
        for e, cause, effect in found
    ]
    columns = ("id", "reported", "times", "status", "cause", "effect", "reporter", "query")
    show_table(columns, rows, wrapped=["effect", "query"])


def _outcome(store: AuditStore, event: Event) -> tuple[Event, str | None, Counter[str]]:
    """Return an event, its cause, and how many of the accused have which status in quarantine."""
    found = store.attribution(event.id)
    if found is None:
        return event, None, Counter()
    keys = content_keys([passage.text for passage in found.accused])
    entries = store.quarantine(keys=keys) if keys else []
    return event, found.cause, Counter(entry.status for entry in entries)


@events.command("show")
def show_event(
    event_id: Annotated[str, typer.Argument(metavar="ID")],
    store: options.Store,
    tenant: options.Tenant = None,
    as_json: options.AsJson = False,
) -> None:
    """Show one event, and its attribution when there is one."""
    with options.opened_store(store, tenant=tenant) as opened:
        event = opened.event(event_id)
        attribution = opened.attribution(event_id)
    if as_json:
        found = None if attribution is None else to_dict(attribution)
        write_json({**_event_to_dict(event), "attribution": found})
        return
    who = "" if event.reporter is None else f" by {event.reporter}"
    times = f"{event.reports} reports" + ("" if event.reporters < 2 else f" by {event.reporters}")
    attempts = f"{event.attempts} attempts, {event.failures} failed"
    show_facts(
        ("event", f"{event.id}, reported {minute(event.created_at)} UTC{who}"),
        ("status", f"{event.status}, {attempts}; {times}"),
        *((name, text) for name, text in (("left out", event.cut), ("error", event.error)) if text),
    )
    if attribution is not None:
        if event.status != "done":
            show_facts(("earlier", "what follows is shown until the next attribution is there"))
        show(attribution)
        return
    seen = (f"{passage.id}: {excerpt(passage.text, 100)}" for passage in event.passages)
    show_facts(
        ("query", event.query), ("response", event.response), *(("passage", one) for one in seen)
    )


@events.command("retry")
def retry_events(
    store: options.Store,
    event_ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Events that are done or failed.")
    ] = None,
    failed: Annotated[bool, options.flag("--failed", "All that failed.")] = False,
    tenant: options.Tenant = None,
    as_json: options.AsJson = False,
) -> None:
    """Have events attributed again: they wait for a worker as if they were new.

    For what failed while a model or a service was down, and for what a better proxy or a knowledge
    base that was missing would decide otherwise. The earlier attribution is shown until the next
    one takes its place; what it did to quarantine stays, unless `quarantine undo --event ID` takes
    it back. An event that waits or is being attributed is left alone.
    """
    if failed == bool(event_ids):
        raise InvalidInputError(
            "name the events to try again, or pass --failed for all that failed"
        )
    with options.opened_store(store, tenant=tenant) as opened:
        again = opened.retry_events(event_ids or None)
    left = [one for one in dict.fromkeys(event_ids or ()) if one not in again]
    if as_json:
        write_json({"pending": again, "left_alone": left})
        return
    for event_id in again:
        typer.echo(f"{printable(event_id)} waits for a worker")
    for event_id in left:
        typer.echo(f"{printable(event_id)} is left alone: it waits or is being attributed already")
    if failed:
        typer.echo(f"{len(again)} failed events will be tried again")
