"""What the buttons of the page do, by the functions that the guard and the command line use."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time

from ragguard.audit.allowing import Effect, is_key
from ragguard.audit.decisions import Decisions
from ragguard.audit.quarantine import QuarantineStatus
from ragguard.errors import InvalidInputError
from ragguard.passage import Passage
from ragguard.review.visit import Answer, Visit

__all__ = ["ACTIONS", "decide"]

logger = logging.getLogger(__name__)

_PAGES = (
    *("/", "/event", "/events", "/verdict", "/verdicts", "/quarantine", "/entry", "/allowed"),
    *("/reporters", "/charts"),
)


def decide(visit: Visit) -> Answer:
    """Do what a form asks for.

    Raises:
        InvalidInputError: It does not say what, of which passages, or why.
        RagguardError: As `Decisions`.
    """
    wanted, why = visit.filled("do"), visit.filled("why")
    if wanted not in ACTIONS:
        raise InvalidInputError("this form asks for nothing that the page can do; reload the page")
    if not why:
        raise InvalidInputError("say why: whoever looks at this later must understand it")
    count = ACTIONS[wanted](visit, Decisions(visit.store), why)
    # The name and the reason are of people who are logged in, and on one line all the same.
    logger.info("%s: %s %d, because %r", visit.person.name, wanted, count, why[:200])
    path = visit.filled("back")
    return Answer(path if path.partition("?")[0] in _PAGES else "/", wanted, count)


def _named(visit: Visit) -> list[str]:
    keys = [key for key in visit.form.get("key", ()) if is_key(key)]
    if not keys:
        raise InvalidInputError("tick the passages that you mean, one at least")
    return keys


def _until(visit: Visit) -> datetime | None:
    day = visit.filled("until")
    if not day:
        return None
    try:
        # The whole of that day still counts.
        return datetime.combine(datetime.fromisoformat(day).date(), time.max, UTC)
    except ValueError as error:
        raise InvalidInputError(f"{day[:40]!r} is no day; write it as 2030-12-31") from error


def _become(status: QuarantineStatus) -> Callable[[Visit, Decisions, str], int]:
    def change(visit: Visit, decisions: Decisions, why: str) -> int:  # noqa: ARG001
        actor = visit.person.name
        return len(decisions.decide(*_named(visit), status=status, actor=actor))

    return change


def _vouch(effect: Effect) -> Callable[[Visit, Decisions, str], int]:
    def put(visit: Visit, decisions: Decisions, why: str) -> int:
        actor, until = visit.person.name, _until(visit)
        entries = {entry.key: entry for entry in visit.store.quarantine()}
        targets: list[Passage | str] = []
        proposed = []
        for key in _named(visit):
            known = entries.get(key)
            targets.append(key if known is None else Passage(known.text))
            if known is not None and known.status == "proposed":
                proposed.append(known)
        for target in targets:
            decisions.allow(target, why=why, effect=effect, until=until, actor=actor)
        # What a person vouches for is proposed no longer.
        decisions.decide(*proposed, status="rejected", actor=actor)
        return len(targets)

    return put


def _vouch_for_name(effect: Effect) -> Callable[[Visit, Decisions, str], int]:
    def put(visit: Visit, decisions: Decisions, why: str) -> int:
        name, until = visit.filled("name"), _until(visit)
        decisions.allow(name, why=why, effect=effect, until=until, actor=visit.person.name)
        return 1

    return put


def _disallow(visit: Visit, decisions: Decisions, why: str) -> int:  # noqa: ARG001
    target = visit.exact("source") or _named(visit)[0]
    return len(decisions.disallow(target, actor=visit.person.name))


def _undo(visit: Visit, decisions: Decisions, why: str) -> int:  # noqa: ARG001
    event, reporter = visit.exact("event") or None, visit.exact("reporter") or None
    return len(decisions.undo(event=event, reporter=reporter, actor=visit.person.name))


ACTIONS: Mapping[str, Callable[[Visit, Decisions, str], int]] = {
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
