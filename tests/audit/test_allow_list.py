"""The allow-list, on every store."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from ragguard import Passage
from ragguard.audit import QuarantineEntry
from ragguard.audit.allow_list import Allowance, allowance, as_allowed
from ragguard.audit.decisions import Decisions
from ragguard.content import content_key
from ragguard.errors import AllowanceNotFoundError, InvalidInputError
from ragguard.inline.quarantined import Allowed

NASTY = "nul \x00, escape \x100000, lone \ud800, \U0001f600"
TEXT = "The pier was built by Bob Crane."
KEY = content_key(TEXT)
LATER = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def watch(store, watch_of):
    return watch_of(store)


@pytest.fixture
def decisions(store):
    return Decisions(store)


def test_it_comes_back_as_it_was_given(store):
    given = Allowance(NASTY, NASTY, "allowed", NASTY, NASTY, NASTY, until=LATER)
    store.allow(given)
    assert store.allowances() == [given]
    (ended,) = store.disallow(NASTY, NASTY, actor=NASTY)
    assert ended.ended_by == NASTY
    assert ended.ended_at <= datetime.now(UTC)
    assert store.allowances() == [ended]
    assert store.disallow(NASTY, NASTY) == []
    store.allow(replace(given, why="again"))
    assert [one.why for one in store.allowances()] == ["again"]


def test_the_filter_is_told_at_once(store, watch, watch_of, decisions):
    assert not watch.held().allowed
    decisions.allow(Passage(TEXT), why="ours")
    decisions.allow("handbook", why="ours", until=LATER)
    decisions.allow("forum", why="ours", effect="protected")
    keys = {KEY: math.inf, content_key("handbook"): LATER.timestamp()}
    protected = Allowed({content_key("forum"): math.inf}, {"forum": math.inf})
    assert watch.held().allowed == Allowed(keys, {"handbook": LATER.timestamp()}, protected)
    store.add_quarantine([QuarantineEntry("k", "p", "t", "r")])
    assert watch.held().allowed.keys == keys
    decisions.disallow("handbook")
    assert watch.held().allowed == Allowed({KEY: math.inf}, {}, protected)
    decisions.disallow("forum")
    assert watch.held().allowed == Allowed({KEY: math.inf})
    assert watch.held().keys == {"k"}
    assert watch_of(store).held().allowed == watch.held().allowed


def test_released_means_allowed_until_it_is_disallowed_or_confirmed(store, watch, decisions):
    store.add_quarantine([QuarantineEntry(KEY, "p", TEXT, "r")])
    decisions.decide("p", status="released", actor="bo")
    assert watch.held().allowed.keys == {KEY: math.inf}
    (listed,) = decisions.allowed()
    assert (listed.key, listed.actor, listed.text) == (KEY, "bo", TEXT)
    (ended,) = decisions.disallow(Passage(TEXT), actor="cy")
    assert (ended.ended_by, decisions.allowed()) == ("cy", [])
    assert store.quarantine()[0].status == "rejected"
    assert not watch.held().allowed
    decisions.allow(Passage(TEXT), why="ours")
    decisions.allow(TEXT, why="ours")
    decisions.decide("p", status="confirmed", actor="cy")
    assert not watch.held().allowed
    assert watch.held().keys == {KEY}


def test_changes_of_the_list_are_read_by_themselves(store, decisions):
    store.add_quarantine([QuarantineEntry("k", "p", "t", "r")])
    since = store.quarantine_version()
    decisions.allow("handbook", why="ours")
    changes = store.quarantine_changes(since)
    assert (changes.complete, changes.held, changes.version) == (False, frozenset(), since + 1)
    assert changes.allowed.sources == {"handbook": math.inf}


NEVER = datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-14)))


@pytest.mark.parametrize("target", [Passage(f" {TEXT} "), KEY, TEXT])
def test_a_target_is_a_passage_a_key_or_a_text(decisions, target):
    assert decisions.allow(target, why="ours").key == KEY
    assert decisions.disallow(target)[0].key == KEY


def test_a_long_text_is_no_source():
    assert allowance("x" * 1001, why="y").source == ""
    assert allowance("x" * 1000, why="y").source == "x" * 1000
    assert len(allowance(Passage("x" * 1000), why="y").text) == 200


def test_what_is_over_is_not_listed(store, decisions):
    store.allow(replace(allowance("a", why="y"), until=datetime.now(UTC)))
    store.allow(allowance("b", why="y"))
    assert [one.source for one in decisions.allowed()] == ["b"]


@pytest.mark.parametrize(
    ("target", "how", "match"),
    [
        ("handbook", {"why": " "}, "say why"),
        ("handbook", {"why": "y", "until": datetime(2020, 1, 1)}, "until is over"),
        ("handbook", {"why": "y", "until": 5}, "must be a datetime"),
        ("handbook", {"why": "y", "until": NEVER}, "outside of the calendar"),
        ("", {"why": "y"}, "pass a Passage"),
        (7, {"why": "y"}, "pass a Passage"),
    ],
)
def test_what_cannot_be_allowed(target, how, match):
    with pytest.raises(InvalidInputError, match=match):
        allowance(target, **how)


@pytest.mark.parametrize("target", ["nobody", KEY, Passage(TEXT, id="p")])
def test_what_is_not_on_the_list(decisions, target):
    decisions.allow("handbook", why="ours")
    with pytest.raises(AllowanceNotFoundError, match="ragguard allowed"):
        decisions.disallow(target)


def test_of_two_that_name_a_text_the_later_end_counts():
    both = [
        replace(allowance(TEXT, why="y"), until=LATER),
        allowance(Passage(TEXT), why="y"),
        replace(allowance("over", why="y"), ended_at=LATER),
    ]
    assert as_allowed(both).keys == as_allowed(both[::-1]).keys == {KEY: math.inf}
