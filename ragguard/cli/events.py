"""`ragguard attribute`, `report` and `events`: which passages a wrong response rests on."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import typer

from ragguard.arguments import require_whole
from ragguard.attribution import Attribution
from ragguard.audit import AuditStore, Event
from ragguard.audit.by_hand import to_look_at, unranked
from ragguard.background.attribute_event import EventAttributor
from ragguard.background.reports import as_event
from ragguard.cli import options
from ragguard.cli.options import flag, option
from ragguard.cli.output import (
    FINDING,
    SHOWN_KEY,
    excerpt,
    minute,
    show_facts,
    show_table,
    write_json,
)
from ragguard.content import content_key, content_keys
from ragguard.errors import InvalidInputError
from ragguard.files import read_json, read_passages, require_fields
from ragguard.text import printable

events = typer.Typer(
    name="events",
    cls=options.DefaultListGroup,
    help="Show reported responses: all of them, or with `show ID` one; `retry` tries them again.",
)

_EVENT = (
    *("id", "query", "response", "reporter", "status", "created_at", "attempts", "failures"),
    *("error", "reports", "reporters", "cut", "tenant"),
)
_SCORES = (  # ES, SC, GC, RS
    *("embedding_similarity", "semantic_correlation", "generation_influence", "responsibility"),
)


def attribute(
    knowledge_base: Path = option(
        'JSON lines of {"id", "text"}: what is searched.', "--knowledge-base", "-b", default=...
    ),
    event: Path | None = option('JSON file of {"query", "response"}, instead of the two options.'),
    query: str | None = option("The user's question."),
    response: str | None = option("The response that is wrong."),
    top_k: int = option("How many passages the generator was given, K.", default=5),
    store: str | None = options.store(
        "Audit store whose quarantine is left out of the search, as a worker does."
    ),
    tenant: str | None = options.TENANT,
    fail_on_poisoning: bool = flag("--fail-on-poisoning", "Exit with 1 if the cause is poisoning."),
    as_json: bool = options.AS_JSON,
) -> None:
    """Search a knowledge base for the passages responsible for a wrong response.

    Runs RAGOrigin with the proxy that `ragguard info` names; nothing leaves this machine. Per
    passage in scope it shows the embedding similarity (ES), the semantic correlation (SC) and the
    generation influence (GC), both in nats per token, and the responsibility (RS).
    """
    from ragguard.attribution.ragorigin import MAX_SCOPE, RAGOrigin
    from ragguard.knowledge.memory import KnowledgeBase

    asked, answered = _question(event, query, response)
    require_whole("--top-k", top_k)
    base = KnowledgeBase.from_jsonl(knowledge_base)
    # Two segments of K at least: what leads to the response is told from what does not.
    origin = RAGOrigin(top_k=top_k, max_scope=max(MAX_SCOPE, 2 * top_k))
    if store is None:
        attribution = origin.attribute(asked, answered, base)
    else:
        with options.opened_store(store, tenant=tenant) as opened:
            event_alone = Event("attribute", query=asked, response=answered, tenant=opened.tenant)
            attributor = EventAttributor(opened, base.retrieve, attributor=origin)
            attribution = attributor.attribute(event_alone)
    if as_json:
        write_json(_to_dict(attribution))
    else:
        _show(attribution)
    if fail_on_poisoning and attribution.cause == "poisoning":
        raise typer.Exit(FINDING)


def _question(event: Path | None, query: str | None, response: str | None) -> tuple[str, str]:
    if event is not None and query is None and response is None:
        value = read_json(event)
        require_fields(value, str(event), query=str, response=str)
        return value["query"], value["response"]
    if event is not None:
        raise InvalidInputError("pass either --event, or --query and --response")
    if query is None or response is None:
        raise InvalidInputError("pass --query and --response, or --event FILE")
    options.require_not_blank(("--query", query), ("--response", response))
    return query, response


def _to_dict(attribution: Attribution) -> dict[str, Any]:
    responsible = [passage.id for passage in attribution.responsible]
    return {"responsible": responsible, **attribution.to_dict()}


def _show(attribution: Attribution) -> None:
    traced = attribution.details.get("claim")
    show_facts(
        ("query", attribution.query),
        ("response", attribution.response),
        ("traced", traced if isinstance(traced, str) else None),
        ("cause", f"{attribution.cause}: {attribution.reason}"),
        ("method", f"{attribution.method}, {attribution.scope_size} passages in scope"),
    )
    typer.echo("")
    rows = []
    for score in attribution.scores:
        figures = [f"{getattr(score, name):.3f}" for name in _SCORES]
        held = "responsible" if score.responsible else ""
        rows.append([held, score.passage.id, *figures, excerpt(score.passage.text, 100)])
    show_table(["", "id", "ES", "SC", "GC", "RS", "text"], rows, wrapped=["text"])


def _event_to_dict(event: Event) -> dict[str, Any]:
    """Return an event's fields, but for what only the worker that holds it needs."""
    fields = ("id", "text", "score", "metadata")  # of a passage; the embedding is left out
    seen = [{name: getattr(passage, name) for name in fields} for passage in event.passages]
    return {**{name: getattr(event, name) for name in _EVENT}, "passages": seen}


def report(
    store: str = options.STORE,
    query: str = option("The user's question.", default=...),
    response: str = option("The response that is wrong.", default=...),
    passages: Path | None = option(
        "JSON lines of the passages that the generator saw, best first."
    ),
    reporter: str | None = option("Who says that it is wrong."),
    tenant: str | None = options.TENANT,
    as_json: bool = options.AS_JSON,
) -> None:
    """File a wrong response for attribution, and print the event's id.

    A `ragguard worker` on the same store attributes it, or any process that holds a Guard on it.
    What a reporter reports again within the hour is counted, and has the same id.
    """
    options.require_not_blank(("--query", query), ("--response", response))
    seen = [] if passages is None else read_passages(passages)
    with options.opened_store(store, access="make", tenant=tenant) as opened:
        version, whose = opened.quarantine_version(), opened.tenant
        event = as_event(query, response, seen, reporter, quarantine_version=version, tenant=whose)
        opened.add_event(event)
    if as_json:
        write_json(_event_to_dict(event))
    else:
        typer.echo(event.id)


@events.command("list")
def list_events(
    store: str = options.STORE,
    status: Literal["pending", "running", "done", "failed"] | None = option("Only these."),
    limit: int = option("At most this many.", min=1, default=100),
    tenant: str | None = options.TENANT,
    as_json: bool = options.AS_JSON,
) -> None:
    """List the newest events first (UTC): their cause, and what became of the accused passages."""
    with options.opened_store(store, tenant=tenant) as opened:
        found = [_outcome(opened, one) for one in opened.events(status=status, limit=limit)]
    if as_json:
        write_json([{**_event_to_dict(e), "cause": why, "effect": did} for e, why, did in found])
        return
    rows = []
    for e, why, did in found:
        effect = ", ".join(f"{count} {status}" for status, count in did.items())
        what = (e.id, minute(e.created_at), str(e.reports), e.status, why or "")
        rows.append([*what, effect, e.reporter or "", e.query])
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
    event_id: str = typer.Argument(metavar="ID"),
    store: str = options.STORE,
    tenant: str | None = options.TENANT,
    as_json: bool = options.AS_JSON,
) -> None:
    """Show one event, and its attribution when there is one."""
    with options.opened_store(store, tenant=tenant) as opened:
        event, attribution = opened.event(event_id), opened.attribution(event_id)
    if as_json:
        found = None if attribution is None else _to_dict(attribution)
        write_json({**_event_to_dict(event), "attribution": found})
        return
    who = "" if event.reporter is None else f" by {event.reporter}"
    times = f"{event.reports} reports" + ("" if event.reporters < 2 else f" by {event.reporters}")
    attempts = f"{event.attempts} attempts, {event.failures} failed"
    show_facts(
        ("event", f"{event.id}, reported {minute(event.created_at)} UTC{who}"),
        ("status", f"{event.status}, {attempts}; {times}"),
        ("left out", event.cut or None),
        ("error", event.error or None),
    )
    if attribution is not None:
        if event.status != "done":
            show_facts(("earlier", "what follows is shown until the next attribution is there"))
        _show(attribution)
        show_whom_to_look_at(event, attribution, store)
        return
    seen = [("passage", f"{one.id}: {excerpt(one.text, 100)}") for one in event.passages]
    show_facts(("query", event.query), ("response", event.response), *seen)


@events.command("retry")
def retry_events(
    store: str = options.STORE,
    event_ids: list[str] | None = typer.Argument(
        None, metavar="ID", help="Events that are done, failed, or wait after a failed attempt."
    ),
    failed: bool = flag("--failed", "All that failed."),
    tenant: str | None = options.TENANT,
    as_json: bool = options.AS_JSON,
) -> None:
    """Have events attributed again: they wait for a worker as if they were new.

    For what failed while a model or a service was down, and for what a better proxy or a knowledge
    base that was missing would decide otherwise. The earlier attribution is shown until the next
    one takes its place; what it did to quarantine stays, unless `quarantine undo --event ID` takes
    it back. One that waits after a failed attempt begins at once if it is named; what else waits,
    or is being attributed, is left alone.
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


def show_whom_to_look_at(event: Event, found: Attribution, store: str) -> None:
    """Write who stands out where nobody is blamed, what else the generator saw, and what to do.

    `store` is what the command was given; a password in it is not shown.
    """
    first, seen = to_look_at(event, found), unranked(event, found)
    if first:
        typer.echo("\nNobody is blamed. These stand out most; look at them first:")
        show_facts(*((_key(one.text), excerpt(one.text, 100)) for one in first))
    if seen:
        also = "these as well; the search did not find them any more:" if found.scores else "these:"
        typer.echo(f"\nThe generator saw {also}")
        show_facts(*((_key(one.text), f"{one.id}: {excerpt(one.text, 100)}") for one in seen))
    if first or seen:
        words = ["ragguard", "quarantine", "add", "--store", _without_password(store)]
        whose = ["--tenant", event.tenant] if event.tenant else []
        words += [*whose, "--event", printable(event.id), "--why", "REASON"]
        words.append(_key((seen or first)[0].text))
        typer.echo(f"What is an attack goes into quarantine by: {shlex.join(words)}")


def _key(text: str) -> str:
    return content_key(text)[:SHOWN_KEY]


def _without_password(store: str) -> str:
    """Return a path or a URL as it was given, or dots for a URL that may hold a password."""
    from sqlalchemy import make_url

    if "://" in store:
        url = make_url(store)
        if url.password is not None or set(url.query) - {"host", "port"}:
            return "..."
    return printable(store)
