"""`ragguard quarantine`: see what is quarantined, and say what a person thinks of it."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragguard.cli.options import DefaultListGroup, JsonOption, StoreOption, opened_store
from ragguard.cli.output import excerpt, minute, show_table, write_json
from ragguard.errors import InvalidInputError, QuarantineNotFoundError

if TYPE_CHECKING:
    from ragguard.audit import QuarantineEntry, QuarantineStatus

__all__ = ["quarantine"]

quarantine = typer.Typer(
    cls=DefaultListGroup, help="List, release or confirm quarantined passages."
)

_SHOWN_KEY = 12  # hex digits: 48 bits tell the entries of any store apart

TargetsArgument = Annotated[
    list[str], typer.Argument(metavar="TARGET...", help="A key, its beginning, or a passage id.")
]
ActorOption = Annotated[
    str | None, typer.Option(help="Who decides this, for the audit; else your login name.")
]


@quarantine.command("list")
def list_entries(
    store: StoreOption,
    status: Annotated[
        Literal["quarantined", "confirmed", "released"] | None, typer.Option(help="Only these.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the newest entries first (UTC)."""
    with opened_store(store) as opened:
        _write(opened.quarantine(status=status), as_json=as_json)


@quarantine.command("release")
def release(
    targets: TargetsArgument,
    store: StoreOption,
    actor: ActorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let passages through again: they were no attack."""
    _decide(store, targets, "released", actor, as_json=as_json)


@quarantine.command("confirm")
def confirm(
    targets: TargetsArgument,
    store: StoreOption,
    actor: ActorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Confirm that passages are an attack: they stay quarantined."""
    _decide(store, targets, "confirmed", actor, as_json=as_json)


def _decide(
    url: str, targets: Sequence[str], status: QuarantineStatus, actor: str | None, *, as_json: bool
) -> None:
    who = actor or _login_name()
    with opened_store(url) as store:
        entries = store.quarantine()
        # All of them are looked up before the first is changed: a typo changes nothing.
        keys = [_match(entries, target).key for target in targets]
        changed = [store.set_quarantine_status(key, status, actor=who) for key in keys]
    _write(changed, as_json=as_json)


def _match(entries: Sequence[QuarantineEntry], target: str) -> QuarantineEntry:
    matches = [
        entry
        for entry in entries
        if target and (entry.key.startswith(target.lower()) or entry.passage_id == target)
    ]
    if not matches:
        raise QuarantineNotFoundError(
            f"no quarantined passage has the id or key {target!r}; "
            "`ragguard quarantine list` shows what there is"
        )
    if len(matches) > 1:
        keys = ", ".join(entry.key[:_SHOWN_KEY] for entry in matches[:5])
        raise InvalidInputError(
            f"{target!r} names {len(matches)} quarantined passages; pass more of the key "
            f"of the one that you mean: {keys}"
        )
    return matches[0]


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError) as error:
        raise InvalidInputError("your login name is unknown here; pass --actor NAME") from error


def _write(entries: Sequence[QuarantineEntry], *, as_json: bool) -> None:
    if as_json:
        write_json([asdict(entry) for entry in entries])
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
