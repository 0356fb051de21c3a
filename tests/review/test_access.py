"""Who is let in: by a token, by a link that works once, by a trusted proxy; and how often."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ragguard.errors import InvalidInputError
from ragguard.review.access import SESSION_S, Access, TrustedProxy, named

TOKEN = "a token of some length"
HOME = "127.0.0.1"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def nobody(name):
    return []


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    # Not by the module's name: other tests import the package anew.
    monkeypatch.setitem(Access.wait.__globals__, "time", SimpleNamespace(monotonic=clock))
    return clock


@pytest.fixture
def access(clock):
    return Access(TOKEN)


def test_the_token_opens_a_session_until_it_is_over(access, clock):
    session = access.enter(TOKEN, "ann", HOME)
    person = access.person(session, HOME, nobody)
    assert (person.name, person.session) == ("ann", True)
    clock.now = SESSION_S
    assert access.person(session, HOME, nobody) is None


def test_whoever_leaves_has_to_log_in_again(access):
    session = access.enter(TOKEN, "ann", HOME)
    access.leave(access.person(session, HOME, nobody))
    assert access.person(session, HOME, nobody) is None


@pytest.mark.parametrize("token", ["", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "\ud800"])
def test_no_other_token_does(access, token):
    assert access.enter(token, "ann", HOME) is None
    assert access.wait(HOME) == 0.0


def test_the_link_works_once(access):
    code = access.once
    assert access.enter_once("wrong", "ann", HOME) is None
    assert access.enter_once(code, "ann", HOME)
    assert access.enter_once(code, "ann", HOME) is None
    assert access.once is None


def test_a_session_or_name_that_nobody_has_is_nobody(access):
    assert access.person("", HOME, nobody) is None
    assert access.person("made up", HOME, nobody) is None
    assert access.enter(TOKEN, "", HOME) is None


def test_sessions_are_bounded_and_the_oldest_go(access):
    first = access.enter(TOKEN, "ann", HOME)
    sessions = [access.enter(TOKEN, "bob", HOME) for _ in range(200)]
    assert access.person(first, HOME, nobody) is None
    assert all(access.person(one, HOME, nobody) for one in sessions)


def test_a_short_token_is_refused():
    with pytest.raises(InvalidInputError, match="15 characters; pass 16"):
        Access("x" * 15)


def test_forms_belong_to_a_session(access):
    ann, bob = (
        access.person(access.enter(TOKEN, name, HOME), HOME, nobody) for name in ("ann", "bob")
    )
    assert access.form_holds(ann, access.form_token(ann))
    assert not access.form_holds(bob, access.form_token(ann))
    assert not access.form_holds(ann, "")
    assert not Access(TOKEN).form_holds(ann, access.form_token(ann))


def test_an_address_waits_after_five_failures_and_others_do_not(access, clock):
    for _ in range(5):
        access.enter("wrong", "eve", "10.0.0.1")
        clock.now += 1.0
    assert access.wait("10.0.0.1") == 55.0
    assert access.wait("10.0.0.2") == 0.0
    clock.now = 60.0
    assert access.wait("10.0.0.1") == 0.0


def test_addresses_of_one_ipv6_network_count_as_one_and_all_of_them_are_bounded(access):
    for n in range(5):
        access.enter("wrong", "eve", f"2001:db8::{n}")
        access.enter("wrong", "eve", "::ffff:10.0.0.1" if n % 2 else "10.0.0.1")
    assert access.wait("2001:db8::2%eth0") == 60.0
    assert access.wait("2001:db8:0:1::1") == 0.0
    assert access.wait("10.0.0.1") == 60.0
    for n in range(10_000):
        access.enter("wrong", "eve", f"no address {n}")
    assert len(access._failures) == 10_000
    assert access.wait("2001:db8::1") == 0.0


@pytest.fixture
def behind():
    return Access(TOKEN, proxy=TrustedProxy.of("X-User", ["10.0.0.0/24", "::1"]))


@pytest.mark.parametrize(
    ("address", "values", "name"),
    [
        ("10.0.0.7", ["ann"], "ann"),
        ("::1", ["ann"], "ann"),
        ("10.0.1.7", ["ann"], None),
        ("testclient", ["ann"], None),
        ("10.0.0.7", [], None),
        ("10.0.0.7", ["  "], None),
        ("10.0.0.7", ["ann", "root"], None),
        ("10.0.0.7", ["a\u202enn\n"], r"a\u202enn"),
    ],
)
def test_a_header_counts_from_the_proxy_alone(behind, address, values, name):
    person = behind.person("", address, {"x-user": values}.__getitem__)
    assert (person and person.name) == name


def test_without_a_proxy_no_header_counts(access):
    assert access.person("", "10.0.0.7", lambda name: ["ann"]) is None


def test_the_form_of_one_whom_the_proxy_names_is_not_anothers(behind):
    ann, bob = (behind.person("", "::1", lambda _, n=name: [n]) for name in ("ann", "bob"))
    assert behind.form_holds(ann, behind.form_token(ann))
    assert not behind.form_holds(bob, behind.form_token(ann))


@pytest.mark.parametrize(
    ("header", "addresses", "message"),
    [
        ("X-User", [], "name the addresses"),
        ("X-User", ["proxy.local"], "pass the proxy's address"),
        ("X User\r\n", ["::1"], "is no name of a header"),
        ("", ["::1"], "is no name of a header"),
    ],
)
def test_a_proxy_needs_a_header_and_addresses(header, addresses, message):
    with pytest.raises(InvalidInputError, match=message):
        TrustedProxy.of(header, addresses)


def test_a_name_is_one_short_line():
    assert named("  ann\nlee\x00 ") == r"ann lee\x00"
    assert len(named("x" * 10_000)) == 100
