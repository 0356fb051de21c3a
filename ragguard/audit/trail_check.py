"""Looks whether the trail is whole, and whether quarantine and allow-list are as it tells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ragguard.audit.allow_list import Allowance
from ragguard.audit.encoding import escape
from ragguard.audit.quarantine import QuarantineEntry
from ragguard.audit.records import AuditStore
from ragguard.audit.trail import (
    UNSIGNED,
    Change,
    Keys,
    TrailRow,
    head_of,
    of_allowance,
    of_entry,
    signature_of,
)
from ragguard.content import content_key
from ragguard.errors import InvalidInputError

_HEAD = re.compile(r"([1-9]\d{0,18}):([0-9a-f]{8})?:([0-9a-f]{64}):[0-9a-f]{64}")
_PAGE = 10_000
_SHOWN = 12  # hex digits of a key
_LAPSED = "quarantine.lapsed"

_Place = tuple[str, ...]


@dataclass(frozen=True)
class Stretch:
    """Rows from `first` to `last` that are signed with one key; "" is none."""

    key: str
    first: int
    last: int

    def __str__(self) -> str:
        return (
            f"row {self.first}" if self.first == self.last else f"rows {self.first} to {self.last}"
        )


@dataclass(frozen=True)
class Checked:
    """What a check of the trail found.

    Attributes:
        head: The head to keep elsewhere, or None for an empty trail or one whose last row is signed
            with a key that is not here.
        findings: What is wrong, in words.
        signed: Whether a key was given. Without one a check finds careless edits only.
    """

    rows: int
    head: str | None
    stretches: tuple[Stretch, ...]
    findings: tuple[str, ...]
    signed: bool


@dataclass
class _Walk:
    keys: Keys
    rows: int = 0
    last: TrailRow | None = None
    stretches: list[Stretch] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    heads: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    told: dict[_Place, TrailRow] = field(default_factory=dict)  # the last row about each

    def take(self, row: TrailRow) -> None:
        if type(row.seq) is not int:
            self.findings.append(f"a row of the trail has no whole number, but {row.seq!r:.40}")
            return
        seq, mac = (0, "") if self.last is None else (self.last.seq, self.last.mac)
        if row.seq != seq + 1:
            gone = Stretch("", seq + 1, row.seq - 1)
            self.findings.append(f"{gone} {'is' if gone.first == gone.last else 'are'} missing")
        known = self.keys.rank(row.key) is not None
        if known and row.mac != signature_of(row, mac, self.keys):
            self.findings.append(
                f"row {row.seq} is not what was written there: it was changed, moved or slipped "
                "in, or what was before it is gone"
            )
        same = self.stretches and self.stretches[-1].key == row.key
        first = self.stretches.pop().first if same else row.seq
        self.stretches.append(Stretch(row.key, first, row.seq))
        for given in self.heads.pop(row.seq, ()):
            if given != (row.key, row.mac):
                self.findings.append(f"row {row.seq} is not the one that the given head tells of")
        if str(row.action).startswith(("quarantine.", "allow-list.")):
            self._tell(row)
        self.rows, self.last = self.rows + 1, row

    def _tell(self, row: TrailRow) -> None:
        """Keep what a row tells, and look whether it follows from the row before about the same.

        Whoever writes to the store could have changed that in between, the time of its end as well.
        """
        place = _place_of(row)
        before = self.told.get(place)
        told = row.told
        was = None if before is None else before.action.partition(".")[2]
        name = f"{place[1]} {str(row.subject)[:_SHOWN]}"
        if before is None and told.get("was") is not None:
            self.findings.append(f"row {row.seq}: nothing before it tells of {name}")
        elif before is not None and (told.get("was", was) != was or _differ(before, row)):
            self.findings.append(
                f"row {row.seq}: {name} was changed between row {before.seq} and this one, and not "
                "by ragguard"
            )
        if row.action == _LAPSED and before is not None and row.details == "{}":
            until = before.told.get("until")
            if not isinstance(until, str) or until > str(row.at):
                self.findings.append(
                    f"row {row.seq}: it lapsed before its time, which row {before.seq} tells"
                )
            row = replace(row, details=before.details)  # of the rest it tells nothing again
        self.told[place] = row


def check(
    store: AuditStore, keys: Keys, *, heads: Sequence[str] = (), unsigned: int = 0
) -> Checked:
    """Check all rows, and then what the tables say.

    Args:
        store: The store as it was opened: all tenants' rows are one trail.
        keys: Those that the rows are signed with.
        heads: What `head_of` returned once, kept where nobody could change it.
        unsigned: So many rows at the beginning may be without a key: from the time before there was
            one.

    Raises:
        InvalidInputError: A head is none.
        StoreError: The store fails.
    """
    walk = _Walk(keys, heads=_heads(heads, keys))
    for row in _pages(store, 0):
        walk.take(row)
    amiss = _disagreements(store, walk.told)
    end = 0 if walk.last is None else walk.last.seq
    # What was done since the trail was read, the tables may tell already.
    for row in _pages(store, end):
        amiss.pop(_place_of(row), None)
    findings = walk.findings + _of_keys(walk.stretches, keys, unsigned)
    findings += [
        f"the trail ends at row {end}, and a given head tells of row {seq}: what came after is gone"
        for seq in sorted(walk.heads)
    ]
    head = None
    if walk.last is not None and keys.rank(walk.last.key) is not None:
        head = head_of(walk.last, keys)
    findings += amiss.values()
    signed = keys.newest != UNSIGNED
    return Checked(walk.rows, head, tuple(walk.stretches), tuple(findings), signed)


def _pages(store: AuditStore, after: int) -> Iterator[TrailRow]:
    while page := store.trail(after=after, limit=_PAGE):
        yield from page
        after = page[-1].seq


def _heads(heads: Sequence[str], keys: Keys) -> dict[int, list[tuple[str, str]]]:
    found: dict[int, list[tuple[str, str]]] = {}
    for head in heads:
        parts = _HEAD.fullmatch(head.strip())
        if parts is None:
            raise InvalidInputError(
                f"{head[:80]!r} is no head of a trail; pass what the log or `ragguard audit "
                "verify` told: seq:key:mac:signature"
            )
        seq, key, mac = int(parts[1]), parts[2] or "", parts[3]
        if keys.rank(key) is None:
            raise InvalidInputError(
                f"the head {head[:20]}... is signed with a key that is not here"
            )
        if head.strip() != head_of(TrailRow(seq, "", "", None, "", "", "", key, mac), keys):
            raise InvalidInputError(f"the head {head[:20]}... is forged: its signature is wrong")
        found.setdefault(seq, []).append((key, mac))
    return found


def _of_keys(stretches: Sequence[Stretch], keys: Keys, unsigned: int) -> list[str]:
    findings, newest = [], 0
    for one in stretches:
        rank = keys.rank(one.key)
        if rank is None:
            findings.append(f"{one}: signed with key {one.key!r}, which is not here")
            continue
        if rank < newest:
            with_what = "no key" if one.key == UNSIGNED else f"the older key {one.key}"
            findings.append(f"{one}: signed with {with_what}, after rows with a newer one")
        elif one.key == UNSIGNED and keys.newest != UNSIGNED and one.last > unsigned:
            findings.append(
                f"{one}: signed with no key, so whoever could write to the store could make them; "
                f"if they are from before there was a key, pass --unsigned {one.last}"
            )
        newest = max(newest, rank)
    return findings


def _disagreements(store: AuditStore, told: Mapping[_Place, TrailRow]) -> dict[_Place, str]:
    findings: dict[_Place, str] = {}
    left = dict(told)
    for tenant, one in store.standing():
        if isinstance(one, str):
            findings[(one,)] = one
            continue
        change = of_allowance(one, tenant) if isinstance(one, Allowance) else of_entry(one, tenant)
        what, _, done = change.action.partition(".")
        whose, subject = escape(change.tenant), escape(change.subject)
        place = _place(whose, change.action, subject, change.details)
        row = left.pop(place, None)
        name = f"{what} {change.subject[:_SHOWN]}"
        if row is None:
            findings[place] = f"{name} is {done}, and the trail does not tell by whom"
        elif not _tells_of(row, change):
            findings[place] = f"{name} is {done}, but not as row {row.seq} tells ({row.action})"
        elif isinstance(one, QuarantineEntry) and one.key != content_key(one.text):
            findings[place] = f"{name} has a text of another key"
    for place, row in left.items():
        name = f"{row.action.partition('.')[0]} {str(row.subject)[:_SHOWN]}"
        findings[place] = f"{name} is gone, and the trail does not tell by whom (row {row.seq})"
    return findings


def _differ(before: TrailRow, row: TrailRow) -> bool:
    """Return whether a row tells another thing than that before it where no change of ours does."""
    then, told = before.told, row.told
    if "was" not in told:
        return False  # by somebody who says all anew
    what, _, done = row.action.partition(".")
    names: tuple[str, ...] = ("event", "text", "reporters", "rest", "lapsed_at")
    if what == "allow-list":
        names = ("until", "why", "rest")
    elif done in ("proposed", "quarantined"):  # accused once more
        known = _reporters(then) if told["was"] == "proposed" else []
        if _reporters(told)[: len(known)] != known:
            return True
        names = ("event", "text", "lapsed_at") if done == "proposed" else ("lapsed_at",)
        names = names if told["was"] == "proposed" else ()
    return any(name in then and then[name] != told.get(name) for name in names)


def _reporters(told: Mapping[str, Any]) -> list[Any]:
    found = told.get("reporters")
    return found if isinstance(found, list) else []


def _tells_of(row: TrailRow, change: Change) -> bool:
    over = ("was", "until") if change.action == _LAPSED else ("was",)
    wanted = {name: value for name, value in change.details.items() if name not in over}
    actor = None if change.actor is None else escape(change.actor)
    same = (row.action, row.actor) == (change.action, actor)
    return same and wanted.items() <= row.told.items()


def _place_of(row: TrailRow) -> _Place:
    return _place(row.tenant, str(row.action), row.subject, row.told)


def _place(tenant: str, action: str, subject: str, details: Mapping[str, object]) -> _Place:
    what = action.partition(".")[0]
    source = details.get("source")
    # Sources whose names differ in case alone have one key.
    rest = str(details.get("rest", "")) if source else ""
    return tenant, what, subject, str(details.get("effect")), str(source), rest
