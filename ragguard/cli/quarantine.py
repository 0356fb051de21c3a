"""`ragguard quarantine`: see what is accused, and say what a person thinks of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragguard.cli.options import (
    ActorOption,
    DefaultListGroup,
    JsonOption,
    StoreOption,
    TenantOption,
    login_name,
    opened_store,
)
from ragguard.cli.output import excerpt, minute, show_table, write_json

if TYPE_CHECKING:
    from ragguard.audit import QuarantineEntry, QuarantineStatus

__all__ = ["quarantine"]

quarantine = typer.Typer(
    cls=DefaultListGroup, help="List what is proposed or quarantined, and decide about it."
)

_SHOWN_KEY = 12  # hex digits: 48 bits tell the entries of any store apart

TargetsArgument = Annotated[
    list[str], typer.Argument(metavar="TARGET...", help="A key, its beginning, or a passage id.")
]


@quarantine.command("list")
def list_entries(
    store: StoreOption,
    status: Annotated[
        Literal["proposed", "quarantined", "confirmed", "released", "rejected", "lapsed"] | None,
        typer.Option(help="Only these."),
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the newest entries first (UTC)."""
    with opened_store(store, tenant=tenant) as opened:
        _write(opened.quarantine(status=status), as_json=as_json)


@quarantine.command("release")
def release(
    targets: TargetsArgument,
    store: StoreOption,
    actor: ActorOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let passages through again, and allow them from now on: they were no attack."""
    _decide(store, targets, "released", actor, tenant, as_json=as_json)


@quarantine.command("confirm")
def confirm(
    targets: TargetsArgument,
    store: StoreOption,
    actor: ActorOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Confirm that passages are an attack: they are dropped until they are released."""
    _decide(store, targets, "confirmed", actor, tenant, as_json=as_json)


@quarantine.command("reject")
def reject(
    targets: TargetsArgument,
    store: StoreOption,
    actor: ActorOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Turn proposals down: they were no attack, and no report proposes them again."""
    _decide(store, targets, "rejected", actor, tenant, as_json=as_json)


@quarantine.command("undo")
def undo(
    store: StoreOption,
    event: Annotated[str | None, typer.Option(help="What this event accused.")] = None,
    reporter: Annotated[str | None, typer.Option(help="What this reporter accused.")] = None,
    since: Annotated[
        datetime | None, typer.Option(help="What was accused or came into force since then (UTC).")
    ] = None,
    actor: ActorOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take back what attributions did: proposals, and entries that nobody has confirmed."""
    from ragguard.audit.decisions import Decisions

    who = actor or login_name()
    with opened_store(store, tenant=tenant) as opened:
        decisions = Decisions(opened)
        undone = decisions.undo(event=event, reporter=reporter, since=since, actor=who)
    _write(undone, as_json=as_json)


def _decide(
    url: str,
    targets: Sequence[str],
    status: QuarantineStatus,
    actor: str | None,
    tenant: str | None,
    *,
    as_json: bool,
) -> None:
    from ragguard.audit.decisions import Decisions

    who = actor or login_name()
    with opened_store(url, tenant=tenant) as store:
        changed = Decisions(store).decide(*targets, status=status, actor=who)
    _write(changed, as_json=as_json)


def _write(entries: Sequence[QuarantineEntry], *, as_json: bool) -> None:
    if as_json:
        plain = [asdict(entry) for entry in entries]
        for fields in plain:
            del fields["signature"]  # for the filter alone
        write_json(plain)
        return
    rows, above = [], ""
    for entry in entries:
        reason = "as above" if entry.reason == above else entry.reason
        above = entry.reason
        who, event = entry.actor or "worker", entry.event_id or ""
        key, changed = entry.key[:_SHOWN_KEY], minute(entry.updated_at)
        text = excerpt(entry.text, 100)
        rows.append([key, entry.passage_id, event, entry.status, changed, who, reason, text])
    columns = ("key", "passage", "event", "status", "changed", "by", "reason", "text")
    show_table(columns, rows, wrapped=["reason", "text"])
