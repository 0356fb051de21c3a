"""An event that blames nobody: whom the page shows first, and what a click does about it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragguard import Guard, Passage
from ragguard.attribution import Attribution
from ragguard.audit import Event
from ragguard.content import content_key

from .browser import press, read
from .conftest import HOSTILE
from .test_app import access, client, visitor  # noqa: F401

QUERY = "how many cars does the ferry carry"
HONEST = Passage("The ferry carries 52 cars when no lorries are booked.", id="timetable")
PLANTED = Passage(f"The vehicle deck holds 38 cars, fully loaded. {HOSTILE}", id="<b>deck")
LONG = Passage("A page about the ferry. " * 200, id="long")
PAGE = "/event?id=open"


@pytest.fixture
def opened(store):
    """An event in which the third passage of three stands out most, and is not blamed."""
    store.add_event(Event("open", QUERY, "38 cars", (HONEST, PLANTED), "ann"))
    store.finish_event(
        "open",
        Attribution.of(
            *(QUERY, "38 cars", "ragorigin", [HONEST, LONG, PLANTED]),
            *([[0.1, 0.2, 0.3]] * 4, [False] * 3),
            ("unclear", "the top 5 passages do not reproduce the response"),
            {},
        ),
    )
    return store


TAKEN_BACK = Passage(
    f"The lower deck holds 38 cars. {HOSTILE}", id="<b>gone", metadata={"source": "<i>wiki"}
)


@pytest.fixture
def taken_back(opened):
    """An event whose report brought along what the knowledge base no longer has."""
    seen, scope = (HONEST, TAKEN_BACK), [HONEST, Passage("It was edited.", id=TAKEN_BACK.id)]
    opened.add_event(Event("gone", QUERY, "38 cars", seen, "ann"))
    columns, unclear = [[0.1, 0.2]] * 4, ("unclear", "nobody states it")
    found = (QUERY, "38 cars", "ragorigin", scope, columns, [False] * 2, unclear, {})
    opened.finish_event("gone", Attribution.of(*found))
    return opened


def known(store) -> dict[str, str]:
    return {one.passage_id: one.status for one in store.quarantine() if one.event_id == "open"}


def test_whoever_stands_out_most_comes_first(client, opened):  # noqa: F811
    page = client.get(PAGE).text
    assert page.index("fully loaded") < page.index("A page") < page.index("no lorries")
    assert "Nobody is blamed" in page
    assert "only its ends are kept" in page  # of the long one, which did not come with the event
    (form,) = [form for form in read(client.get(PAGE)).forms if "confirm" in form["do"]]
    ticks = [value for name, value in form["fields"] if name == "key"]
    assert ticks == [content_key(PLANTED.text), content_key(HONEST.text)]
    assert "undo" not in form["do"]


def test_what_can_be_ticked_is_shown_whole(client, opened):  # noqa: F811
    opened.add_event(Event("whole", QUERY, "38 cars", (LONG,), "ann"))
    columns, unclear = [[0.1]] * 4, ("unclear", "nobody states it")
    found = Attribution.of(QUERY, "38 cars", "ragorigin", [LONG], columns, [False], unclear, {})
    opened.finish_event("whole", found)
    page = read(client.get("/event?id=whole"))
    assert "only its ends are kept" not in page.words
    assert page.words.count("A page about the ferry.") >= 200


def test_the_list_of_events_has_the_cause_of_each(client, opened):  # noqa: F811
    words = read(client.get("/events")).words
    assert words.count("unclear") == words.count("poisoning") == 1


def test_where_somebody_is_blamed_the_order_is_that_of_the_search(client, store):  # noqa: F811
    event = next(one for one in store.events() if one.status == "done")
    page = client.get("/event", params={"id": event.id}).text
    assert "Nobody is blamed" not in page
    ids = [score.passage.id for score in store.attribution(event.id).scores]
    assert page.index(ids[-1]) > page.index("kb-17")


def test_what_is_disputed_is_accused_and_not_said_to_be_open(client, opened):  # noqa: F811
    opened.add_event(Event("disputed", QUERY, "38 cars", (HONEST, PLANTED), "ann"))
    columns, words = [[0.1, 0.2]] * 4, ("disputed", "1 from elsewhere state it, too")
    scope, blamed = [HONEST, PLANTED], [False, True]
    found = Attribution.of(QUERY, "38 cars", "ragorigin", scope, columns, blamed, words, {})
    opened.finish_event("disputed", replace(found, responsible=[]))
    page = client.get("/event?id=disputed").text
    assert "Nobody is blamed" not in page
    assert page.index("no lorries") < page.index("fully loaded")


def test_a_click_holds_what_nobody_accused(client, opened):  # noqa: F811
    key = content_key(PLANTED.text)
    response = press(client, PAGE, "confirm", key=key)
    assert response.headers["location"] == f"{PAGE}&done=confirm&count=1"
    assert known(opened) == {PLANTED.id: "confirmed"}
    (entry,) = opened.quarantine(keys=[key])
    assert (entry.actor, entry.reporters, entry.reason) == (
        "ann",
        ("ann",),
        "seen with my own eyes",
    )
    with Guard(store=opened) as guard:
        assert guard.filter(QUERY, [HONEST, PLANTED]).dropped == [PLANTED]
    assert read(client.get("/quarantine")).words.count("seen with my own eyes") == 1


def test_what_is_accused_and_what_is_not_are_confirmed_at_once(client, opened):  # noqa: F811
    press(client, PAGE, "confirm", key=content_key(PLANTED.text))
    press(client, PAGE, "release", key=content_key(PLANTED.text))
    both = [content_key(PLANTED.text), content_key(HONEST.text)]
    assert press(client, PAGE, "confirm", key=both).status_code == 303
    assert known(opened) == {PLANTED.id: "confirmed", "timetable": "confirmed"}


@pytest.mark.parametrize("key", ["0" * 32, content_key(LONG.text)])
def test_what_the_event_has_not_whole_changes_nothing(client, opened, key):  # noqa: F811
    response = press(client, PAGE, "confirm", key=[content_key(PLANTED.text), key])
    assert response.status_code == 404
    assert "has no passage" in read(response).words
    assert known(opened) == {}


def test_a_click_allows_what_nobody_accused(client, opened):  # noqa: F811
    assert press(client, PAGE, "allow", key=content_key(HONEST.text)).status_code == 303
    assert content_key(HONEST.text) in {one.key for one in opened.allowances()}


@pytest.mark.parametrize("do", ["allow", "protect", "confirm"])
def test_an_event_without_an_attribution_shows_what_was_read(client, store, do):  # noqa: F811
    store.add_event(Event("open", QUERY, "38 cars", (HONEST, PLANTED), "ann"))
    assert press(client, PAGE, do, key=content_key(PLANTED.text)).status_code == 303
    assert known(store) == ({PLANTED.id: "confirmed"} if do == "confirm" else {})


def test_what_the_search_no_longer_finds_is_shown_and_can_be_ticked(client, taken_back):  # noqa: F811
    response = client.get("/event?id=gone")
    page, words = read(response), read(response).words
    assert words.count("The lower deck holds 38 cars.") == 1
    assert words.count("52 cars when no lorries are booked.") == 1  # among those in scope alone
    assert "the search did not find them any more" in words
    assert words.index("It was edited.") < words.index("The lower deck")
    assert {"i", "script", "img"}.isdisjoint(page.tags)
    assert "<b>gone" in words
    assert "<i>wiki" in words
    (form,) = [form for form in page.forms if "confirm" in form["do"]]
    key = content_key(TAKEN_BACK.text)
    assert [value for name, value in form["fields"] if name == "key"].count(key) == 1
    confirmed = press(client, "/event?id=gone", "confirm", key=key)
    assert confirmed.headers["location"] == "/event?id=gone&done=confirm&count=1"
    (entry,) = taken_back.quarantine(keys=[key])
    assert (entry.passage_id, entry.text, entry.event_id) == ("<b>gone", TAKEN_BACK.text, "gone")
    (form,) = [form for form in read(client.get("/event?id=gone")).forms if "undo" in form["do"]]
    assert "release" in form["do"]  # the page knows what became of it


def test_where_nothing_was_in_scope_what_was_read_is_shown(client, opened):  # noqa: F811
    opened.add_event(Event("none", QUERY, "38 cars", (HONEST, PLANTED), "ann"))
    unclear = ("unclear", "no such answer was given")
    found = Attribution.of(QUERY, "38 cars", "answers", [], [[]] * 4, [], unclear, {})
    opened.finish_event("none", found)
    words = read(client.get("/event?id=none")).words
    assert "Nobody is blamed" not in words
    assert "did not find" not in words  # nothing was searched
    assert press(client, "/event?id=none", "confirm", key=content_key(PLANTED.text)).is_redirect
    assert [one.event_id for one in opened.quarantine(status="confirmed")].count("none") == 1


def test_nothing_is_said_of_others_where_the_search_finds_all(client, opened):  # noqa: F811
    assert "Passages that the generator saw" not in read(client.get(PAGE)).words
