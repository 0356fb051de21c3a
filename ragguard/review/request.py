"""What a request asks of a page, and does by its buttons; without a web framework.

The buttons decide by the functions that the guard and the command line use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from functools import partial
from typing import TypedDict
from urllib.parse import parse_qs, quote, unquote, urlencode

from ragguard.audit import AuditStore, by_hand
from ragguard.audit.allow_list import Allowance, Effect, is_key
from ragguard.audit.decisions import Decisions
from ragguard.audit.quarantine import QuarantineEntry, QuarantineStatus, as_utc, utc_now
from ragguard.errors import InvalidInputError
from ragguard.inline.conformal import Calibration
from ragguard.passage import Passage
from ragguard.review.access import Person
from ragguard.review.knowledge import Knowledge

Fields = Mapping[str, Sequence[str]]

_MOST_FIELDS = 2_000
_LONGEST_WHY = 1_000  # characters


@dataclass(frozen=True)
class Settings:
    """Alpha and calibration (None: the shipped one) of guards on the store, for the charts.

    And the knowledge base that the page may change; None: none.
    """

    alpha: float = 0.01
    calibration: Calibration | None = None
    knowledge: Knowledge | None = None


@dataclass(frozen=True)
class Visit:
    """A request of somebody who may see the page."""

    store: AuditStore
    person: Person
    asked: Fields  # of the query
    form: Fields = field(default_factory=dict)  # empty for what only reads
    settings: Settings = field(default_factory=Settings)
    others: Sequence[str] = ()  # the tenants that this person may see besides
    began: datetime = field(default_factory=utc_now)

    @property
    def here(self) -> dict[str, str]:
        """What of the query leads back to the same page."""
        said = ("done", "count")
        return {name: self.get(name) for name in self.asked if name not in said}

    @property
    def knowledge(self) -> Knowledge:
        """The tenant's knowledge base.

        Raises:
            InvalidInputError: The page was started without it.
        """
        found = self.settings.knowledge
        if found is None:
            raise InvalidInputError(
                "Start `ragguard review` with --knowledge-base to remove passages from it here."
            )
        if found.tenant != self.store.tenant:
            raise InvalidInputError(
                "The knowledge base of this page is another tenant's: start one with --tenant and "
                "--knowledge-base of this one to remove passages from it."
            )
        return found

    def get(self, name: str) -> str:
        """Return a field of the query, or ""."""
        return first(self.asked, name)

    def filled(self, name: str) -> str:
        """Return a field of the form, or ""."""
        return first(self.form, name).strip()

    def exact(self, name: str) -> str:
        """Return a field of the form that a template wrote with `quoted`, as it was."""
        try:
            return unquote(self.filled(name), errors="surrogatepass")
        except UnicodeDecodeError as error:
            raise InvalidInputError("the form cannot be read; reload the page") from error

    def number(self, name: str, default: int) -> int:
        """Return a field of the query that is a whole number, at least 1."""
        found = self.get(name)
        return max(1, int(found)) if found.isdecimal() and len(found) < 9 else default


def first(fields: Fields, name: str) -> str:
    """Return the first value of a field, or ""."""
    return next(iter(fields.get(name, ())), "")


def parsed(encoded: bytes) -> Fields:
    """Return the fields of a query or a form.

    Raises:
        InvalidInputError: It is not how a browser encodes them.
    """
    try:
        return parse_qs(
            encoded.decode("ascii"),
            keep_blank_values=True,
            errors="surrogatepass",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError as error:
        raise InvalidInputError(
            "the address or form cannot be read; go back and try again"
        ) from error


def quoted(text: str) -> str:
    """Return a text of any characters as those that a form and an address carry unchanged."""
    return quote(text, safe="", errors="surrogatepass")


def address_of(path: str, /, **fields: str | int | datetime | None) -> str:
    """Return an address on this page, with the fields that are given, any characters in them."""
    given = {name: value for name, value in fields.items() if value not in (None, "")}
    query = urlencode(given, errors="surrogatepass", quote_via=quote)
    return f"{path}?{query}" if given else path


class _By(TypedDict):
    """Who decides, and why."""

    actor: str
    said: str


_Action = Callable[[Visit, Decisions, _By], Sequence[object]]


def decide(visit: Visit) -> tuple[str, int]:
    """Do what a form asks for, keep why, and return what was done, and to how many passages.

    Raises:
        InvalidInputError: It does not say what, of which passages, or why.
        RagguardError: As `Decisions`.
    """
    wanted, why = visit.filled("do"), visit.filled("why")
    if wanted not in ACTIONS:
        raise InvalidInputError("this form asks for nothing that the page can do; reload the page")
    if not why:
        raise InvalidInputError("say why: whoever looks at this later must understand it")
    by = _By(actor=visit.person.name, said=why[:_LONGEST_WHY])
    return wanted, len(ACTIONS[wanted](visit, Decisions(visit.store), by))


def _named(visit: Visit) -> tuple[list[str], list[QuarantineEntry]]:
    """Return the keys that a form names, and the entries with them; nobody decided meanwhile."""
    keys = [key for key in visit.form.get("key", ()) if is_key(key)]
    if not keys:
        raise InvalidInputError("tick the passages that you mean, one at least")
    try:
        read = as_utc(datetime.fromisoformat(visit.filled("read")))
    except ValueError as error:
        raise InvalidInputError("the form says not when it was loaded; reload the page") from error
    entries = visit.store.quarantine(keys=keys)
    if late := [one for one in entries if one.actor is not None and one.updated_at > read]:
        raise InvalidInputError(
            f"{late[0].actor} has decided about {len(late)} of these since you loaded the page: "
            f"{late[0].key[:12]} is {late[0].status}; go back, load it again and look"
        )
    return keys, entries


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
        done += by_hand.put(store, *found, why=by["said"], event=event, actor=by["actor"])
    return done


def _vouch(effect: Effect, visit: Visit, decisions: Decisions, by: _By) -> list[Allowance]:
    until, (named, read), why = _until(visit), _named(visit), by["said"]
    entries = {entry.key: entry for entry in read}
    targets = [Passage(entries[key].text) if key in entries else key for key in named]
    put = [decisions.allow(one, why=why, effect=effect, until=until, **by) for one in targets]
    # What a person vouches for is proposed no longer.
    proposed = [entry for entry in entries.values() if entry.status == "proposed"]
    decisions.decide(*proposed, status="rejected", **by)
    return put


def _vouch_for_name(effect: Effect, visit: Visit, decisions: Decisions, by: _By) -> list[Allowance]:
    name, until = visit.filled("name"), _until(visit)
    return [decisions.allow(name, why=by["said"], effect=effect, until=until, **by)]


def _disallow(visit: Visit, decisions: Decisions, by: _By) -> list[Allowance]:
    return decisions.disallow(visit.exact("source") or _named(visit)[0][0], **by)


def _undo(visit: Visit, decisions: Decisions, by: _By) -> list[QuarantineEntry]:
    event, reporter = visit.exact("event") or None, visit.exact("reporter") or None
    return decisions.undo(event=event, reporter=reporter, **by)


def _remove(visit: Visit, _: Decisions, by: _By) -> list[Passage]:
    with visit.knowledge.alone():
        return visit.knowledge.remove(visit.store, _named(visit)[0], **by)


def _restore(visit: Visit, _: Decisions, by: _By) -> list[Passage]:
    with visit.knowledge.alone():
        return visit.knowledge.restore(visit.store, _named(visit)[0], **by)


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
    "remove": _remove,
    "restore": _restore,
}
"""What a form may ask for, by the word that it says."""
