"""`ragguard allow`, `protect`, `disallow` and `allowed`: what a person vouches for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragguard.cli.options import (
    ActorOption,
    JsonOption,
    StoreOption,
    TenantOption,
    flag,
    login_name,
    opened_store,
)
from ragguard.cli.output import excerpt, minute, show_table, write_json
from ragguard.errors import InvalidInputError
from ragguard.jsonl import read_passages

if TYPE_CHECKING:
    from ragguard.audit import AuditStore
    from ragguard.audit.allowing import Allowance, Effect
    from ragguard.passage import Passage

__all__ = ["allow", "allowed", "disallow", "protect"]

TargetsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TARGET]...", help="A content key, or what `quarantine list` names."),
]
SourceOption = Annotated[bool, flag("--source", "The targets are names of sources.")]
PassagesOption = Annotated[
    Path | None, typer.Option(help="JSON lines of passages, instead of targets or beside them.")
]
WhyOption = Annotated[str, typer.Option(help="The reason, for whoever looks at it later.")]
UntilOption = Annotated[datetime | None, typer.Option(help="When it ends (UTC).")]


def allow(
    store: StoreOption,
    why: WhyOption,
    targets: TargetsArgument = None,
    source: SourceOption = False,
    passages: PassagesOption = None,
    until: UntilOption = None,
    actor: ActorOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let passages, or a source, through: neither filter nor quarantine drops them."""
    _put(store, "allowed", why, _named(targets, passages), source, until, actor, tenant, as_json)


def protect(
    store: StoreOption,
    why: WhyOption,
    targets: TargetsArgument = None,
    source: SourceOption = False,
    passages: PassagesOption = None,
    until: UntilOption = None,
    actor: ActorOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Have passages, or what a source says, dropped by a person only."""
    _put(store, "protected", why, _named(targets, passages), source, until, actor, tenant, as_json)


def disallow(
    store: StoreOption,
    targets: TargetsArgument = None,
    source: SourceOption = False,
    passages: PassagesOption = None,
    actor: ActorOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take back what was allowed, protected or released."""
    from ragguard.audit.decisions import Decisions

    who, wanted = actor or login_name(), _named(targets, passages)
    with opened_store(store, tenant=tenant) as opened:
        found = _found(opened, wanted, source=source)
        ended = [one for name in found for one in Decisions(opened).disallow(name, actor=who)]
    _write(ended, as_json=as_json)


def allowed(store: StoreOption, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """List what is allowed or protected now, the newest first (UTC)."""
    from ragguard.audit.decisions import Decisions

    with opened_store(store, tenant=tenant) as opened:
        found = Decisions(opened).allowed()
    _write(found, as_json=as_json)


def _put(
    url: str,
    effect: Effect,
    why: str,
    wanted: Sequence[str | Passage],
    source: bool,
    until: datetime | None,
    actor: str | None,
    tenant: str | None,
    as_json: bool,
) -> None:
    from ragguard.audit.decisions import Decisions

    who = actor or login_name()
    with opened_store(url, tenant=tenant) as opened:
        found, put = _found(opened, wanted, source=source), Decisions(opened).allow
        made = [put(name, why=why, effect=effect, until=until, actor=who) for name in found]
    _write(made, as_json=as_json)


def _named(targets: Sequence[str] | None, passages: Path | None) -> list[str | Passage]:
    found = [*(targets or ()), *(() if passages is None else read_passages(passages))]
    if not found:
        raise InvalidInputError("name a passage or, with --source, a source; or pass --passages")
    return found


def _found(
    store: AuditStore, wanted: Sequence[str | Passage], *, source: bool
) -> list[str | Passage]:
    """Return what targets name; all of them are looked up before the first is changed."""
    from ragguard.audit.allowing import is_key
    from ragguard.audit.decisions import match
    from ragguard.passage import Passage

    entries = None
    found: list[str | Passage] = []
    for one in wanted:
        if isinstance(one, Passage) or source or is_key(one):
            found.append(one)
            continue
        entries = store.quarantine() if entries is None else entries
        found.append(Passage(match(entries, one).text))
    return found


def _write(found: Sequence[Allowance], *, as_json: bool) -> None:
    if as_json:
        write_json([asdict(one) for one in found])
        return
    rows = []
    for one in found:
        ends = one.ended_at or one.until
        what = one.source or one.key[:12]
        since, until = minute(one.created_at), "" if ends is None else minute(ends)
        text = "" if one.source else excerpt(one.text, 100)
        rows.append([what, one.effect, since, until, one.actor or "", one.why, text])
    columns = ("what", "effect", "since", "until", "by", "why", "text")
    show_table(columns, rows, wrapped=["why", "text"])
