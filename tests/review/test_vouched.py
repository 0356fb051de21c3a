"""Who vouches for a passage or its source is not overridden, and is not overlooked."""

from __future__ import annotations

import pytest

from ragguard import Guard, Passage
from ragguard.content import content_key

from .browser import browser, press, read

LIE = Passage("The ferry leaves at nine.", id="d1", metadata={"source": "handbook"})
KEY = content_key(LIE.text)


@pytest.fixture
def guard(tmp_path):
    with Guard(store=str(tmp_path / "a.db")) as made:
        yield made


@pytest.fixture
def event(guard):
    seen = [LIE, Passage("Geese nest on the fort.")]
    found = guard.report("who built it", "Marek Dove", passages=seen, wait=True)
    guard.attribution(found, timeout=60)
    return f"/event?id={found}"


@pytest.fixture
def client(guard):
    return browser(guard.store)


def stale(client, monkeypatch, address, do, meanwhile, **fields):
    """Press a button of a page after somebody else has decided."""
    get = client.get

    def loaded(*given, **named):
        page = get(*given, **named)
        meanwhile()
        return page

    with monkeypatch.context() as patch:
        patch.setattr(client, "get", loaded)
        return press(client, address, do, **fields)


@pytest.mark.parametrize("target", [LIE, "handbook"])
@pytest.mark.parametrize("effect", ["allow", "protect"])
@pytest.mark.parametrize("do", ["confirm", "protect"])
def test_what_somebody_vouches_for_meanwhile_is_not_overridden(
    client, guard, event, monkeypatch, target, effect, do
):
    def meanwhile():
        getattr(guard, effect)(target, why="our own timetable", actor="bo")

    late = stale(client, monkeypatch, event, do, meanwhile, key=KEY)
    assert late.status_code == 400
    assert "bo has decided since you loaded the page" in read(late).words
    assert [(one.actor, one.effect[:4]) for one in guard.allowed()] == [("bo", effect[:4])]
    assert guard.store.quarantine() == []
    assert press(client, event, do, key=KEY).status_code == 303  # who has looked may


def test_what_somebody_else_disallows_meanwhile_is_not_allowed_unseen(
    client, guard, event, monkeypatch
):
    guard.allow(LIE, why="so")
    late = stale(client, monkeypatch, event, "allow", lambda: guard.disallow(LIE), key=KEY)
    assert late.status_code == 400
    assert "is taken off the allow-list" in read(late).words
    assert guard.allowed() == []


def test_the_list_and_the_form_of_a_source_heed_others_as_well(client, guard, monkeypatch):
    def meanwhile():
        guard.protect("handbook", why="curated", actor="bo")

    for do, fields in (("allow-name", {"name": "handbook"}), ("disallow", {})):
        guard.allow("handbook", why="ours", actor="cy")
        late = stale(client, monkeypatch, "/allowed", do, meanwhile, **fields)
        assert late.status_code == 400
        assert 'bo has decided since you loaded the page: the source "handbook" is protected' in (
            read(late).words
        )
        assert len(guard.allowed()) == 2


def test_what_others_vouch_for_beside_it_hinders_nothing(client, guard, event, monkeypatch):
    def meanwhile():
        guard.allow("archive", why="curated", actor="bo")

    done = stale(client, monkeypatch, event, "confirm", meanwhile, key=KEY)
    assert done.status_code == 303
    assert "dropped from now on" in read(client.get(done.headers["location"])).words


def test_what_others_vouch_for_does_not_hinder_a_key_by_name(client, guard, monkeypatch):
    def meanwhile():
        guard.allow("Another page of ours.", why="so", actor="bo")

    fields = {"name": KEY, "why": "seen"}
    assert stale(
        client, monkeypatch, "/allowed", "allow-name", meanwhile, **fields
    ).status_code == (303)


def test_the_page_says_that_what_was_confirmed_passes(client, guard, event, caplog):
    guard.allow("handbook", why="only we write it", actor="bo")
    done = press(client, event, "confirm", key=KEY).headers["location"]
    shown = read(client.get(done)).words
    assert "1 confirmed as an attack." in shown
    assert "dropped from now on" not in shown
    told = (
        'its source "handbook" is allowed, so it is not dropped; take that off the allow-list first'
    )
    assert told in shown
    assert told in caplog.text
    assert guard.filter("a pier", [LIE]).dropped == []
    guard.disallow("handbook")
    assert told not in read(client.get(done)).words
