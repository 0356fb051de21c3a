"""What the buttons of a page do: they decide by the functions of the guard and the command line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, time
from functools import partial
from typing import TypedDict

from ragguard.audit import AuditStore, by_hand
from ragguard.audit.allow_list import Allowance, Effect, identity, is_key
from ragguard.audit.decisions import Decisions, sources_of, still_passing
from ragguard.audit.quarantine import QuarantineEntry, QuarantineStatus, as_utc
from ragguard.errors import InvalidInputError
from ragguard.passage import Passage
from ragguard.review.knowledge import Knowledge
from ragguard.review.request import Visit

_LONGEST_WHY = 1_000  # characters
_MOST_SOURCES = 20  # that a page tells of


class _By(TypedDict):
    """Who decides, and why."""

    actor: str
    why: str


_Action = Callable[[Visit, Decisions, _By], Sequence[object]]


def decide(visit: Visit) -> dict[str, str | int | None]:
    """Do what a form asks for, keep why, and return the fields by which the next page says so.

    "stays" counts what was undone and stays proposed, since others accuse it as well; "passing"
    has the keys of allowed sources, for which what was confirmed passes all the same.

    Raises:
        InvalidInputError: It does not say what, of which passages, or why.
        RagguardError: As `Decisions`.
    """
    wanted, why = visit.filled("do"), visit.filled("why")
    if wanted not in ACTIONS:
        raise InvalidInputError("this form asks for nothing that the page can do; reload the page")
    if not why:
        raise InvalidInputError("say why: whoever looks at this later must understand it")
    by = _By(actor=visit.person.name, why=why[:_LONGEST_WHY])
    done = ACTIONS[wanted](visit, Decisions(visit.store), by)
    entries = [one for one in done if isinstance(one, QuarantineEntry)]
    passes = still_passing(visit.store, entries) if wanted == "confirm" else []
    stays = sum(one.status == "proposed" for one in entries) if wanted == "undo" else 0
    sources = list(dict.fromkeys(one.key for _, one in passes))[:_MOST_SOURCES]
    passing = ",".join(sources)
    return {"done": wanted, "count": len(done), "stays": stays or None, "passing": passing}


def _named(visit: Visit) -> tuple[list[str], list[QuarantineEntry]]:
    """Return the keys that a form names, and the entries with them; nobody decided meanwhile."""
    keys = [key for key in visit.form.get("key", ()) if is_key(key)]
    if not keys:
        raise InvalidInputError("tick the passages that you mean, one at least")
    read = _read(visit)
    entries = visit.store.quarantine(keys=keys)
    if late := [one for one in entries if one.actor is not None and one.updated_at > read]:
        raise InvalidInputError(
            f"{late[0].actor} has decided about {len(late)} of these since you loaded the page: "
            f"{late[0].key[:12]} is {late[0].status}; go back, load it again and look"
        )
    events = [visit.exact("event") or None, *(one.event_id for one in entries)]
    _require_as_vouched(visit.store, read, keys, events=events)
    return keys, entries


def _read(visit: Visit) -> datetime:
    """Return when the page of a form was loaded."""
    try:
        return as_utc(datetime.fromisoformat(visit.filled("read")))
    except ValueError as error:
        raise InvalidInputError("the form says not when it was loaded; reload the page") from error


def _require_as_vouched(
    store: AuditStore,
    read: datetime,
    keys: Collection[str],
    sources: Collection[str] = (),
    events: Collection[str | None] = (),
) -> None:
    """Require that nobody has put these on the allow-list or off it, nor one of their sources.

    Those of passages are what their events tell.
    """
    late = [one for one in store.allowances() if (one.ended_at or one.created_at) > read]
    if any(one.source for one in late):
        told = sources_of(store, events)
        sources = {*sources, *(name for key in keys for name in told.get(key, ()))}
    for one in late:
        if (one.source and one.source in sources) or one.key in keys:
            who = one.actor if one.ended_at is None else one.ended_by
            what = f'the source "{one.source[:80]}"' if one.source else one.key[:12]
            did = one.effect if one.ended_at is None else "taken off the allow-list"
            raise InvalidInputError(
                f"{who or 'somebody'} has decided since you loaded the page: {what} is {did}; go "
                "back, load it again and look"
            )


def _until(visit: Visit) -> datetime | None:
    day = visit.filled("until")
    if not day:
        return None
    try:
        # The whole of that day still counts.
        return datetime.combine(datetime.fromisoformat(day).date(), time.max, UTC)
    except ValueError as error:
        raise InvalidInputError(f"{day[:40]!r} is no day; write it as 2030-12-31") from error


def _become(
    status: QuarantineStatus, visit: Visit, decisions: Decisions, by: _By
) -> list[QuarantineEntry]:
    keys, read = _named(visit)
    return decisions.decide(*keys, status=status, read=read, **by)


def _confirm(visit: Visit, decisions: Decisions, by: _By) -> list[QuarantineEntry]:
    """Confirm what is accused, and put into quarantine what an event has beside that."""
    (keys, read), event, store = _named(visit), visit.exact("event"), visit.store
    known = {entry.key for entry in read}
    new = [key for key in keys if key not in known] if event else []
    # All are looked up before the first is changed.
    found = by_hand.named(store.event(event), store.attribution(event), new) if new else []
    done = decisions.decide(
        *(key for key in keys if key not in new), status="confirmed", read=read, **by
    )
    if found:
        done += by_hand.put(store, *found, event=event, **by)
    return done


def _vouch(effect: Effect, visit: Visit, decisions: Decisions, by: _By) -> list[Allowance]:
    until, (named, read) = _until(visit), _named(visit)
    entries = {entry.key: entry for entry in read}
    targets = [Passage(entries[key].text) if key in entries else key for key in named]
    put = [decisions.allow(one, effect=effect, until=until, tell=True, **by) for one in targets]
    # What a person vouches for is proposed no longer.
    proposed = [entry for entry in entries.values() if entry.status == "proposed"]
    decisions.decide(*proposed, status="rejected", **by)
    return put


def _vouch_for_name(effect: Effect, visit: Visit, decisions: Decisions, by: _By) -> list[Allowance]:
    name, until = visit.filled("name"), _until(visit)
    key, source, _ = identity(name)
    keys, sources = ([], [source]) if source else ([key], [])
    _require_as_vouched(visit.store, _read(visit), keys, sources)
    return [decisions.allow(name, effect=effect, until=until, tell=True, **by)]


def _disallow(visit: Visit, decisions: Decisions, by: _By) -> list[Allowance]:
    if source := visit.exact("source"):
        _require_as_vouched(visit.store, _read(visit), (), [source])
        return decisions.disallow(source, **by)
    return decisions.disallow(_named(visit)[0][0], **by)


def _undo(visit: Visit, decisions: Decisions, by: _By) -> list[QuarantineEntry]:
    event, reporter = visit.exact("event") or None, visit.exact("reporter") or None
    return decisions.undo(event=event, reporter=reporter, **by)


def _repair(
    change: Callable[..., list[Passage]], visit: Visit, _: Decisions, by: _By
) -> list[Passage]:
    with visit.knowledge.alone():
        return change(visit.knowledge, visit.store, _named(visit)[0], **by)


ACTIONS: Mapping[str, _Action] = {
    "confirm": _confirm,
    "reject": partial(_become, "rejected"),
    "release": partial(_become, "released"),
    "allow": partial(_vouch, "allowed"),
    "protect": partial(_vouch, "protected"),
    "allow-name": partial(_vouch_for_name, "allowed"),
    "protect-name": partial(_vouch_for_name, "protected"),
    "disallow": _disallow,
    "undo": _undo,
    "remove": partial(_repair, Knowledge.remove),
    "restore": partial(_repair, Knowledge.restore),
}
"""What a form may ask for, by the word that it says."""
