"""What the buttons of the page do, by the functions that the guard and the command line use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, time

from ragguard.audit.allowing import Allowance, Effect, is_key
from ragguard.audit.decisions import Decisions
from ragguard.audit.quarantine import QuarantineEntry, QuarantineStatus
from ragguard.errors import InvalidInputError
from ragguard.passage import Passage
from ragguard.review.visit import Answer, Visit

__all__ = ["ACTIONS", "decide"]

_Action = Callable[[Visit, Decisions, str], list[str]]

_LONGEST_WHY = 1_000  # characters
_PAGES = (
    *("/", "/event", "/events", "/verdict", "/verdicts", "/quarantine", "/entry", "/allowed"),
    *("/reporters", "/history", "/charts"),
)


def decide(visit: Visit) -> Answer:
    """Do what a form asks for, and keep why.

    Raises:
        InvalidInputError: It does not say what, of which passages, or why.
        RagguardError: As `Decisions`.
    """
    wanted, why = visit.filled("do"), visit.filled("why")
    if wanted not in ACTIONS:
        raise InvalidInputError("this form asks for nothing that the page can do; reload the page")
    if not why:
        raise InvalidInputError("say why: whoever looks at this later must understand it")
    keys = ACTIONS[wanted](visit, Decisions(visit.store), why[:_LONGEST_WHY])
    path = visit.filled("back")
    return Answer(path if path.partition("?")[0] in _PAGES else "/", wanted, len(keys))


def _named(visit: Visit) -> list[str]:
    keys = [key for key in visit.form.get("key", ()) if is_key(key)]
    if not keys:
        raise InvalidInputError("tick the passages that you mean, one at least")
    return keys


def _keys(changed: Iterable[QuarantineEntry | Allowance]) -> list[str]:
    return [one.key for one in changed]


def _until(visit: Visit) -> datetime | None:
    day = visit.filled("until")
    if not day:
        return None
    try:
        # The whole of that day still counts.
        return datetime.combine(datetime.fromisoformat(day).date(), time.max, UTC)
    except ValueError as error:
        raise InvalidInputError(f"{day[:40]!r} is no day; write it as 2030-12-31") from error


def _become(status: QuarantineStatus) -> _Action:
    def change(visit: Visit, decisions: Decisions, why: str) -> list[str]:
        actor = visit.person.name
        return _keys(decisions.decide(*_named(visit), status=status, actor=actor, said=why))

    return change


def _vouch(effect: Effect) -> _Action:
    def put(visit: Visit, decisions: Decisions, why: str) -> list[str]:
        actor, until = visit.person.name, _until(visit)
        named = _named(visit)
        entries = {entry.key: entry for entry in visit.store.quarantine(keys=named)}
        targets: list[Passage | str] = []
        proposed = []
        for key in named:
            known = entries.get(key)
            targets.append(key if known is None else Passage(known.text))
            if known is not None and known.status == "proposed":
                proposed.append(known)
        put = [
            decisions.allow(target, why=why, effect=effect, until=until, actor=actor, said=why)
            for target in targets
        ]
        # What a person vouches for is proposed no longer.
        decisions.decide(*proposed, status="rejected", actor=actor, said=why)
        return _keys(put)

    return put


def _vouch_for_name(effect: Effect) -> _Action:
    def put(visit: Visit, decisions: Decisions, why: str) -> list[str]:
        name, until = visit.filled("name"), _until(visit)
        actor = visit.person.name
        return _keys(
            [decisions.allow(name, why=why, effect=effect, until=until, actor=actor, said=why)]
        )

    return put


def _disallow(visit: Visit, decisions: Decisions, why: str) -> list[str]:
    target = visit.exact("source") or _named(visit)[0]
    return _keys(decisions.disallow(target, actor=visit.person.name, said=why))


def _undo(visit: Visit, decisions: Decisions, why: str) -> list[str]:
    event, reporter = visit.exact("event") or None, visit.exact("reporter") or None
    actor = visit.person.name
    return _keys(decisions.undo(event=event, reporter=reporter, actor=actor, said=why))


ACTIONS: Mapping[str, _Action] = {
    "confirm": _become("confirmed"),
    "reject": _become("rejected"),
    "release": _become("released"),
    "allow": _vouch("allowed"),
    "protect": _vouch("protected"),
    "allow-name": _vouch_for_name("allowed"),
    "protect-name": _vouch_for_name("protected"),
    "disallow": _disallow,
    "undo": _undo,
}
"""What a form may ask for, by the word that it says."""
