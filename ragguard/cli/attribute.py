"""`ragguard attribute`: which passages of a knowledge base taught a wrong response."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragguard.arguments import require_whole
from ragguard.cli import options
from ragguard.cli.output import FINDING, excerpt, show_facts, show_table, write_json
from ragguard.errors import InvalidInputError
from ragguard.jsonl import read_json, require_fields

if TYPE_CHECKING:
    from ragguard.attribution import Attribution


def attribute(
    knowledge_base: Annotated[
        Path,
        typer.Option(
            "--knowledge-base", "-b", help='JSON lines of {"id", "text"}: what is searched.'
        ),
    ],
    event: Annotated[
        Path | None,
        typer.Option(help='JSON file of {"query", "response"}, instead of the two options.'),
    ] = None,
    query: Annotated[str | None, typer.Option(help="The user's question.")] = None,
    response: Annotated[str | None, typer.Option(help="The response that is wrong.")] = None,
    top_k: Annotated[int, typer.Option(help="How many passages the generator was given, K.")] = 5,
    store: Annotated[
        str | None,
        options.optional_store(
            "Audit store whose quarantine is left out of the search, as a worker does."
        ),
    ] = None,
    tenant: options.Tenant = None,
    fail_on_poisoning: Annotated[
        bool, options.flag("--fail-on-poisoning", "Exit with 1 if the cause is poisoning.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Search a knowledge base for the passages responsible for a wrong response.

    Runs RAGOrigin with the proxy that `ragguard info` names; nothing leaves this machine. Per
    passage in scope it shows the embedding similarity (ES), the semantic correlation (SC) and the
    generation influence (GC), both in nats per token, and the responsibility (RS).
    """
    from ragguard.attribution.ragorigin.attributor import MAX_SCOPE, RAGOrigin
    from ragguard.audit import Event
    from ragguard.background.attribute_event import EventAttributor
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
        write_json(to_dict(attribution))
    else:
        show(attribution)
    if fail_on_poisoning and attribution.cause == "poisoning":
        raise typer.Exit(FINDING)


def to_dict(attribution: Attribution) -> dict[str, Any]:
    """Return an attribution's JSON form, with the ids of the responsible passages in front."""
    return {
        "responsible": [passage.id for passage in attribution.responsible],
        **attribution.to_dict(),
    }


def show(attribution: Attribution) -> None:
    """Write an attribution and the scores of every passage in scope."""
    show_facts(
        ("query", attribution.query),
        ("response", attribution.response),
        ("cause", f"{attribution.cause}: {attribution.reason}"),
        ("method", f"{attribution.method}, {attribution.scope_size} passages in scope"),
    )
    typer.echo("")
    rows = []
    for score in attribution.scores:
        figures = (
            score.embedding_similarity,
            score.semantic_correlation,
            score.generation_influence,
            score.responsibility,
        )
        held = "responsible" if score.responsible else ""
        text = excerpt(score.passage.text, 100)
        rows.append([held, score.passage.id, *(f"{figure:.3f}" for figure in figures), text])
    show_table(["", "id", "ES", "SC", "GC", "RS", "text"], rows, wrapped=["text"])


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
