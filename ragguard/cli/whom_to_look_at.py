"""What `ragguard events show` says of passages to look at, and the command that holds them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import typer

from ragguard.cli.output import SHOWN_KEY, excerpt, show_facts
from ragguard.content import content_key
from ragguard.text import printable

if TYPE_CHECKING:
    from ragguard.attribution import Attribution
    from ragguard.audit.records import Event

_SAID = 100  # characters of a text


def show_whom_to_look_at(event: Event, found: Attribution, store: str) -> None:
    """Write who stands out where nobody is blamed, what else the generator saw, and what to do.

    `store` is what the command was given; a password in it is not shown.
    """
    from ragguard.audit.by_hand import to_look_at, unranked

    first, seen = to_look_at(event, found), unranked(event, found)
    if first:
        typer.echo("\nNobody is blamed. These stand out most; look at them first:")
        show_facts(*((_key(one.text), excerpt(one.text, _SAID)) for one in first))
    if seen:
        also = "these as well; the search did not find them any more:" if found.scores else "these:"
        typer.echo(f"\nThe generator saw {also}")
        show_facts(*((_key(one.text), f"{one.id}: {excerpt(one.text, _SAID)}") for one in seen))
    if first or seen:
        last = (seen or first)[0]
        command = f"{_adding(event, store)} {_key(last.text)}"
        typer.echo(f"What is an attack goes into quarantine by: {command}")


def _key(text: str) -> str:
    return content_key(text)[:SHOWN_KEY]


def _adding(event: Event, store: str) -> str:
    words = ["ragguard", "quarantine", "add", "--store", _without_password(store)]
    if event.tenant:
        words += ["--tenant", event.tenant]
    return shlex.join([*words, "--event", printable(event.id), "--why", "REASON"])


def _without_password(store: str) -> str:
    """Return a path or a URL as it was given, or dots for a URL that may hold a password."""
    from sqlalchemy import make_url

    if "://" in store:
        url = make_url(store)
        if url.password is not None or set(url.query) - {"host", "port"}:
            return "..."
    return printable(store)
