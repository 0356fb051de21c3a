"""`ragguard quarantine`, `allow`, `protect`, `disallow` and `allowed`: what a person decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Literal

import typer

from ragguard.audit import QuarantineEntry, QuarantineStatus, by_hand
from ragguard.audit.allow_list import Allowance, Effect, is_key
from ragguard.audit.decisions import Decisions
from ragguard.cli import options
from ragguard.cli.options import flag, option
from ragguard.cli.output import SHOWN_KEY, complain, excerpt, minute, show_table, write_json
from ragguard.errors import InvalidInputError
from ragguard.files import read_passages
from ragguard.passage import Passage

quarantine = typer.Typer(
    name="quarantine",
    cls=options.DefaultListGroup,
    help="List what is proposed or quarantined, and decide about it.",
)

_ENTRIES = typer.Argument(metavar="TARGET", help="A key, its beginning, a passage id or a text.")
_NAMES = "A content key, or what `quarantine list` names."
_TARGETS = typer.Argument(None, metavar="TARGET", help=_NAMES)
_SOURCE = flag("--source", "The targets are names of sources.")
_PASSAGES = option("JSON lines of passages, instead of targets or beside them.")


@quarantine.command("list")
def list_entries(
    store: str = options.STORE,
    status: Literal["proposed", "quarantined", "confirmed", "released", "rejected", "lapsed"]
    | None = option("Only these."),
    tenant: str | None = options.TENANT,
    as_json: bool = options.AS_JSON,
) -> None:
    """List the newest entries first (UTC)."""
    with options.opened_store(store, tenant=tenant) as opened:
        _write_entries(opened.quarantine(status=status), as_json=as_json)


def _deciding(name: str, status: QuarantineStatus, help: str) -> None:
    @quarantine.command(name, help=help)
    def decide(
        targets: list[str] = _ENTRIES,
        store: str = options.STORE,
        why: str | None = options.WHY,
        actor: str | None = options.ACTOR,
        tenant: str | None = options.TENANT,
        as_json: bool = options.AS_JSON,
    ) -> None:
        who = options.decider(actor)
        with options.opened_store(store, tenant=tenant) as opened:
            changed = Decisions(opened).decide(*targets, status=status, actor=who, why=why)
        _write_entries(changed, as_json=as_json)


_deciding(
    "release",
    "released",
    "Let passages through again, and allow them from now on: they were no attack.",
)
_deciding(
    "confirm",
    "confirmed",
    "Confirm that passages are an attack: they are dropped until they are released.",
)
_deciding(
    "reject",
    "rejected",
    "Turn proposals down: they were no attack, and no report proposes them again.",
)


@quarantine.command("add")
def add(
    store: str = options.STORE,
    why: str = options.REASON,
    targets: list[str] | None = typer.Argument(
        None, metavar="TARGET", help="A passage of the event: its id, or content key."
    ),
    event: str | None = option("The event that the targets are passages of."),
    passages: Path | None = _PASSAGES,
    actor: str | None = options.ACTOR,
    tenant: str | None = options.TENANT,
    as_json: bool = options.AS_JSON,
) -> None:
    """Put passages into quarantine by hand, accused or not, until they are released."""
    who, read = options.decider(actor), [] if passages is None else read_passages(passages)
    if not (targets or read) or (targets and event is None):
        raise InvalidInputError("name passages of an --event, or pass --passages FILE")
    with options.opened_store(store, tenant=tenant) as opened:
        if event is not None:
            of = opened.event(event), opened.attribution(event)
            read = [*by_hand.named(*of, targets or ()), *read]
        entries = by_hand.put(opened, *read, why=why, event=event, actor=who)
    _write_entries(entries, as_json=as_json)


@quarantine.command("undo")
def undo(
    store: str = options.STORE,
    event: str | None = option("What this event accused."),
    reporter: str | None = option("What this reporter accused."),
    since: datetime | None = option("What was accused or came into force since then (UTC)."),
    why: str | None = options.WHY,
    actor: str | None = options.ACTOR,
    tenant: str | None = options.TENANT,
    as_json: bool = options.AS_JSON,
) -> None:
    """Take back what attributions did: proposals, and entries that nobody has confirmed."""
    who = options.decider(actor)
    with options.opened_store(store, tenant=tenant) as opened:
        decisions = Decisions(opened)
        undone = decisions.undo(event=event, reporter=reporter, since=since, actor=who, why=why)
        left = decisions.accused(event=event, reporter=reporter, since=since)
    if undone or as_json:
        _write_entries(undone, as_json=as_json)
    confirmed = sum(entry.status == "confirmed" for entry in left)
    if confirmed:
        are = "is" if confirmed == 1 else "are"
        complain(f"{confirmed} {are} confirmed by a person; use release")
    elif not undone:
        complain("nothing of that is proposed or in quarantine")


def _write_entries(entries: Sequence[QuarantineEntry], *, as_json: bool) -> None:
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
        key, changed = entry.key[:SHOWN_KEY], minute(entry.updated_at)
        text = excerpt(entry.text, 100)
        rows.append([key, entry.passage_id, event, entry.status, changed, who, reason, text])
    columns = ("key", "passage", "event", "status", "changed", "by", "reason", "text")
    show_table(columns, rows, wrapped=["reason", "text"])


def _vouching(name: str, effect: Effect, help: str) -> Callable[..., None]:
    def vouch(
        store: str = options.STORE,
        why: str = options.REASON,
        targets: list[str] | None = _TARGETS,
        source: bool = _SOURCE,
        passages: Path | None = _PASSAGES,
        until: datetime | None = option("When it ends (UTC)."),
        actor: str | None = options.ACTOR,
        tenant: str | None = options.TENANT,
        as_json: bool = options.AS_JSON,
    ) -> None:
        who, wanted = options.decider(actor), _named(targets, passages)
        with options.opened_store(store, tenant=tenant) as opened:
            decisions = Decisions(opened)
            # All of them are looked up before the first is changed.
            found, put = [_found(decisions, one, source=source) for one in wanted], decisions.allow
            made = [put(name, why=why, effect=effect, until=until, actor=who) for name in found]
        _write_allowances(made, as_json=as_json)

    vouch.__name__, vouch.__doc__ = name, help
    return vouch


allow = _vouching(
    "allow",
    "allowed",
    "Let passages, or a source, through: neither filter nor quarantine drops them.",
)
protect = _vouching(
    "protect", "protected", "Have passages, or what a source says, dropped by a person only."
)


def disallow(
    store: str = options.STORE,
    targets: list[str] | None = _TARGETS,
    source: bool = _SOURCE,
    passages: Path | None = _PASSAGES,
    why: str | None = options.WHY,
    actor: str | None = options.ACTOR,
    tenant: str | None = options.TENANT,
    as_json: bool = options.AS_JSON,
) -> None:
    """Take back what was allowed, protected or released."""
    who, wanted = options.decider(actor), _named(targets, passages)
    with options.opened_store(store, tenant=tenant) as opened:
        decisions = Decisions(opened)
        found = [
            (None if source else _allowed(decisions, one)) or _found(decisions, one, source=source)
            for one in wanted
        ]
        # All of them are looked up before the first is taken off.
        ended = decisions.disallow(*found, actor=who, why=why)
    _write_allowances(ended, as_json=as_json)


def allowed(
    store: str = options.STORE, tenant: str | None = options.TENANT, as_json: bool = options.AS_JSON
) -> None:
    """List what is allowed or protected now, the newest first (UTC)."""
    with options.opened_store(store, tenant=tenant) as opened:
        _write_allowances(Decisions(opened).allowed(), as_json=as_json)


def _named(targets: Sequence[str] | None, passages: Path | None) -> list[str | Passage]:
    found = [*(targets or ()), *(() if passages is None else read_passages(passages))]
    if not found:
        raise InvalidInputError("name a passage or, with --source, a source; or pass --passages")
    if any(isinstance(one, str) and not one.strip() for one in found):
        raise InvalidInputError("a TARGET is blank; name a passage or, with --source, a source")
    return found


def _found(decisions: Decisions, target: str | Passage, *, source: bool) -> str | Passage:
    if isinstance(target, Passage) or source or is_key(target):
        return target
    return Passage(decisions.found(target)[0].text)


def _allowed(decisions: Decisions, target: str | Passage) -> Allowance | None:
    """Return what the beginning of a key names on the allow-list, as it is shown, if it does."""
    if not isinstance(target, str) or len(target) < SHOWN_KEY:
        return None
    named = [one for one in decisions.allowed() if one.key.startswith(target.lower())]
    if len({one.key for one in named}) > 1:
        raise InvalidInputError(f"{target!r} names several that are allowed; pass more of the key")
    return named[0] if named else None


def _write_allowances(found: Sequence[Allowance], *, as_json: bool) -> None:
    if as_json:
        write_json([asdict(one) for one in found])
        return
    rows = []
    for one in found:
        ends = one.ended_at or one.until
        what = one.source or one.key[:SHOWN_KEY]
        since, until = minute(one.created_at), "" if ends is None else minute(ends)
        text = "" if one.source else excerpt(one.text, 100)
        rows.append([what, one.effect, since, until, one.actor or "", one.why, text])
    columns = ("what", "effect", "since", "until", "by", "why", "text")
    show_table(columns, rows, wrapped=["why", "text"])
