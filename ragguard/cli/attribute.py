"""`ragguard attribute`: which passages of a knowledge base taught a response."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragguard.arguments import require_whole
from ragguard.cli.exits import FINDING
from ragguard.cli.options import JsonOption, flag, opened_store, optional_store
from ragguard.cli.output import excerpt, printable, show_table, write_json
from ragguard.errors import InvalidInputError
from ragguard.jsonl import kind_of, read_json

if TYPE_CHECKING:
    from ragguard.attribution import Attribution

__all__ = ["attribute", "attribution_to_dict", "show_attribution"]


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
        optional_store("Audit store whose quarantine is left out of the search, as a worker does."),
    ] = None,
    fail_on_poisoning: Annotated[
        bool,
        flag("--fail-on-poisoning", "Exit with 1 if the cause is poisoning."),
    ] = False,
    as_json: JsonOption = False,
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
        event_alone = Event(id="attribute", query=asked, response=answered)
        with opened_store(store) as opened:
            events = EventAttributor(opened, base.retrieve, attributor=origin)
            attribution = events.attribute(event_alone)
    if as_json:
        write_json(attribution_to_dict(attribution))
    else:
        show_attribution(attribution)
    if fail_on_poisoning and attribution.cause == "poisoning":
        raise typer.Exit(FINDING)


def attribution_to_dict(attribution: Attribution) -> dict[str, Any]:
    """Return an attribution's JSON form, with the ids of the responsible passages in front."""
    return {
        "responsible": [passage.id for passage in attribution.responsible],
        **attribution.to_dict(),
    }


def show_attribution(attribution: Attribution) -> None:
    """Show an attribution to a person."""
    typer.echo(f"query     {printable(attribution.query)}")
    typer.echo(f"response  {printable(attribution.response)}")
    typer.echo(f"cause     {attribution.cause}: {printable(attribution.reason)}")
    typer.echo(f"method    {attribution.method}, {attribution.scope_size} passages in scope")
    typer.echo("")
    show_table(
        ["", "id", "ES", "SC", "GC", "RS", "text"],
        [
            [
                "responsible" if score.responsible else "",
                score.passage.id,
                f"{score.embedding_similarity:.3f}",
                f"{score.semantic_correlation:.3f}",
                f"{score.generation_influence:.3f}",
                f"{score.responsibility:.3f}",
                excerpt(score.passage.text, 100),
            ]
            for score in attribution.scores
        ],
        wrapped=["text"],
    )


def _question(event: Path | None, query: str | None, response: str | None) -> tuple[str, str]:
    if event is None:
        if query is None or response is None:
            raise InvalidInputError("pass --query and --response, or --event FILE")
        return query, response
    if query is not None or response is not None:
        raise InvalidInputError("pass either --event, or --query and --response")
    value = read_json(event)
    expected = f'{event}: expected an object with "query" (str) and "response" (str), got '
    if not isinstance(value, dict):
        raise InvalidInputError(expected + kind_of(value))
    for field in ("query", "response"):
        if not isinstance(value.get(field), str):
            raise InvalidInputError(f'{expected}one whose "{field}" is {kind_of(value.get(field))}')
    return value["query"], value["response"]
