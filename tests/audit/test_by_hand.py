"""What a person puts into quarantine by hand, of an event that blames nobody or of none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragguard import Guard
from ragguard.attribution import Attribution
from ragguard.attribution.result import BRIEF
from ragguard.audit import Event, MemoryStore, by_hand, open_store
from ragguard.audit.decisions import Decisions
from ragguard.content import content_key
from ragguard.errors import EventNotFoundError, InvalidInputError, QuarantineNotFoundError
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.passage import Passage
from ragguard.repair import remove_quarantined, restore
from ragguard.text import both_ends

QUERY, RESPONSE = "how many cars does the ferry carry", "38 cars"
HONEST = Passage("The ferry carries 52 cars when no lorries are booked.", id="timetable")
PLANTED = Passage("The vehicle deck holds 38 cars when it is fully loaded.", id="deck")
LONG = Passage("A page about the ferry. " * 200, id="long")


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    opened = MemoryStore() if request.param == "memory" else open_store(str(tmp_path / "a.db"))
    yield opened
    opened.close()


def unclear(*passages: Passage, responsible: bool = False) -> Attribution:
    n = len(passages)
    return Attribution.of(
        *(QUERY, RESPONSE, "ragorigin", passages),
        [[0.0] * n, [0.0] * n, [0.0] * n, [float(rank) for rank in range(n)]],
        [responsible] * n,
        ("poisoning" if responsible else "unclear", "nobody states it"),
        {},
    )


def attributed(store, *scope: Passage, came_with: tuple[Passage, ...] = ()) -> None:
    event = Event("e1", QUERY, RESPONSE, passages=came_with, reporter="ann")
    store.add_event(event)
    store.finish_event(event.id, unclear(*scope))


def test_what_an_event_left_open_is_held_and_told_of(store):
    attributed(store, HONEST, PLANTED)
    (entry,) = by_hand.put(store, PLANTED, why="not in the book", event="e1", actor="bo")
    assert (entry.status, entry.event_id, entry.actor) == ("confirmed", "e1", "bo")
    assert (entry.reporters, entry.passage_id, entry.text) == (("ann",), "deck", PLANTED.text)
    assert store.quarantine_keys() == {content_key(PLANTED.text)}
    told = [(one.action, one.actor, one.told.get("said")) for one in store.newest_trail(2)]
    assert told == [
        ("quarantine.proposed", "bo", None),
        ("quarantine.confirmed", "bo", "not in the book"),
    ]


@pytest.mark.parametrize("event", [["e1"], 5, b"e1"])
def test_what_is_no_id_of_an_event_changes_nothing(store, event):
    with pytest.raises(InvalidInputError, match="event must be a str or None"):
        by_hand.put(store, PLANTED, why="an attack", event=event)
    assert store.quarantine() == []


SAID = "the VEHICLE deck holds 38 cars, when it is fully loaded"


@pytest.mark.parametrize(
    ("scope", "came_with", "given", "expected"),
    [
        ([HONEST, PLANTED], (), Passage(PLANTED.text), PLANTED),
        ([HONEST], (PLANTED,), Passage(PLANTED.text), PLANTED),
        ([HONEST, PLANTED], (Passage(PLANTED.text),), Passage(PLANTED.text), PLANTED),
        ([HONEST, PLANTED], (), Passage(SAID), PLANTED),  # of the same words
        ([HONEST, LONG], (), Passage(LONG.text), LONG),  # of which the ends are kept
        ([HONEST, LONG], (Passage(LONG.text),), Passage(LONG.text), LONG),
        ([HONEST], (), Passage(PLANTED.text), Passage(PLANTED.text)),
        ([HONEST, PLANTED], (), Passage(SAID, id="copy"), Passage(SAID, id="copy")),
    ],
)
def test_a_text_is_held_as_the_passage_of_the_event_that_it_is(
    store, scope, came_with, given, expected
):
    attributed(store, *scope, came_with=came_with)
    (entry,) = by_hand.put(store, given, why="an attack", event="e1")
    assert (entry.passage_id, entry.text) == (expected.id, expected.text)
    assert entry.key == content_key(given.text)


def test_a_text_takes_no_id_of_pages_that_share_its_ends(store):
    ends = "a page of the ferry, " * BRIEF
    attributed(store, *(Passage(f"{ends} {n} {ends}", id=str(n)) for n in range(2)))
    given = Passage(f"{ends} 1 {ends}")
    (entry,) = by_hand.put(store, given, why="an attack", event="e1")
    assert entry.passage_id == given.id


def test_what_was_held_as_a_text_can_be_removed(store):
    base = KnowledgeBase([replace(PLANTED, metadata={"source": "wiki"}), HONEST])
    attributed(store, *base.find(["timetable", "deck"]))
    by_hand.put(store, Passage(PLANTED.text), why="an attack", event="e1")
    assert [one.id for one in remove_quarantined(store, base, actor="ann").removed] == ["deck"]
    (back,) = restore(store, base, [content_key(PLANTED.text)], actor="ann")
    assert (back.id, back.text, back.metadata) == ("deck", PLANTED.text, {"source": "wiki"})
    assert len(base.find(["deck", Passage(PLANTED.text).id])) == 1


def test_what_is_known_already_is_confirmed_whatever_it_was(store):
    (entry,) = by_hand.put(store, PLANTED, why="an attack", actor="bo")
    for status in ("released", "rejected", "lapsed", "proposed", "quarantined"):
        store.set_quarantine_status(entry.key, status, actor="cy")
        (again,) = by_hand.put(store, PLANTED, why="an attack all the same", actor="bo")
        assert (again.status, again.reason) == ("confirmed", "an attack")
    assert len(store.quarantine()) == 1


def test_what_was_allowed_is_allowed_no_longer(store):
    decisions = Decisions(store)
    decisions.allow(PLANTED, why="ours", actor="cy")
    by_hand.put(store, PLANTED, why="it was changed", actor="bo")
    assert decisions.allowed() == []


def test_the_same_text_twice_is_one_entry(store):
    twice = [PLANTED, Passage(PLANTED.text, id="copy")]
    (entry,) = by_hand.put(store, *twice, why="an attack", actor="bo")
    assert entry.passage_id == "deck"


@pytest.mark.parametrize(
    ("passages", "why", "message"),
    [
        ([PLANTED], "", "say why"),
        ([PLANTED], "  ", "say why"),
        ([PLANTED], None, "say why"),
        ([PLANTED], 5, "why"),
        ([], "an attack", "pass passages"),
        ([PLANTED, Passage(" \n", id="none")], "an attack", "none"),
    ],
)
def test_what_says_nothing_changes_nothing(store, passages, why, message):
    with pytest.raises(InvalidInputError, match=message):
        by_hand.put(store, *passages, why=why)
    assert store.quarantine() == []


def test_an_event_that_is_not_there_changes_nothing(store):
    with pytest.raises(EventNotFoundError):
        by_hand.put(store, PLANTED, why="an attack", event="e2")
    assert store.quarantine() == []


def test_another_tenant_sees_nothing_of_it(store):
    by_hand.put(store.of_tenant("north"), PLANTED, why="an attack")
    assert store.quarantine() == []
    assert len(store.of_tenant("north").quarantine()) == 1


def test_undoing_the_event_leaves_what_a_person_has_said(store):
    attributed(store, HONEST, PLANTED)
    by_hand.put(store, PLANTED, why="an attack", event="e1")
    assert Decisions(store).undo(event="e1") == []
    assert [one.status for one in store.quarantine()] == ["confirmed"]


def test_the_most_responsible_come_first():
    event = Event("e1", QUERY, RESPONSE)
    assert by_hand.candidates(event, unclear(HONEST, LONG, PLANTED)) == [PLANTED, LONG, HONEST][::2]
    assert by_hand.to_look_at(event, unclear(HONEST, PLANTED)) == [PLANTED, HONEST]
    blaming = unclear(PLANTED, responsible=True)
    assert by_hand.to_look_at(event, blaming) == []
    # Others state it as well: whom the scores call responsible is accused all the same.
    disputed = replace(blaming, cause="disputed", responsible=[])
    assert by_hand.to_look_at(event, disputed) == []
    many = [Passage(f"Page {n}.", id=str(n)) for n in range(9)]
    assert [one.id for one in by_hand.to_look_at(event, unclear(*many))] == ["8", "7", "6"]


def test_an_attribution_ranks_its_scope_by_responsibility_and_then_by_the_search():
    assert unclear(HONEST, LONG, PLANTED).ranked == [PLANTED, LONG, HONEST]
    alike = Attribution.of(
        *(QUERY, RESPONSE, "ragorigin", [HONEST, LONG, PLANTED]),
        *([[1.0, 0.0, 1.0]] * 4, [False] * 3),
        ("unclear", "nobody states it"),
        {},
    )
    assert alike.ranked == [HONEST, PLANTED, LONG]


def test_without_an_attribution_what_the_generator_saw_can_be_held():
    event = Event("e1", QUERY, RESPONSE, passages=(HONEST, PLANTED))
    assert by_hand.candidates(event, None) == [HONEST, PLANTED]


def test_what_the_generator_saw_and_the_search_no_longer_finds_can_be_held():
    edited = Passage("The deck was edited since.", id="deck")
    event = Event("e1", QUERY, RESPONSE, passages=(PLANTED, HONEST))
    for scope in ([HONEST, edited], [HONEST], []):
        found = unclear(*scope)
        assert by_hand.unranked(event, found) == [PLANTED, HONEST][: 1 if scope else 2]
        assert by_hand.named(event, found, [content_key(PLANTED.text)]) == [PLANTED]
        assert PLANTED not in by_hand.to_look_at(event, found)
    assert by_hand.candidates(event, unclear(HONEST, edited)) == [edited, HONEST, PLANTED]
    assert by_hand.named(event, unclear(HONEST), ["deck"]) == [PLANTED]
    with pytest.raises(InvalidInputError, match="names 2 passages"):
        by_hand.named(event, unclear(HONEST, edited), ["deck"])
    assert by_hand.unranked(event, unclear(HONEST, PLANTED)) == []


def test_what_the_generator_saw_is_told_where_somebody_else_is_blamed():
    event = Event("e1", QUERY, RESPONSE, passages=(PLANTED,))
    blaming = unclear(HONEST, responsible=True)
    assert by_hand.unranked(event, blaming) == [PLANTED]
    assert by_hand.named(event, blaming, ["deck"]) == [PLANTED]


def test_the_ends_of_a_ranked_page_hide_no_other():
    honest = Passage("a page of the ferry, " * BRIEF, id="honest")
    planted = Passage(f"{honest.text[:BRIEF]} 38 cars {honest.text[BRIEF:]}", id="planted")
    event = Event("e1", QUERY, RESPONSE, passages=(planted,))
    assert by_hand.unranked(event, unclear(honest).brief()) == [planted]


@pytest.mark.parametrize("length", [BRIEF - 1, BRIEF, BRIEF + 1, 5 * BRIEF])
def test_a_long_text_is_held_whole_or_not_at_all(store, length):
    long = Passage(("a page of the ferry, " * length)[:length], id="long")
    attributed(store, HONEST, long)
    event, found = store.event("e1"), store.attribution("e1")
    assert found.scores[1].passage.text == both_ends(long.text, BRIEF)
    whole = by_hand.in_whole(event, found)[1]
    assert whole == (None if length >= BRIEF else long)
    with_it = Event("e2", QUERY, RESPONSE, passages=(long,))
    assert by_hand.in_whole(with_it, found)[1].text == long.text


def test_a_page_that_has_the_ends_of_another_is_not_taken_for_it():
    ends = "a page of the ferry, " * BRIEF
    honest = Passage(ends, id="honest")
    planted = Passage(f"{ends[:BRIEF]} in fact 38 cars {ends[BRIEF:]}", id="planted")
    assert both_ends(honest.text, BRIEF) == both_ends(planted.text, BRIEF)
    found = unclear(honest, planted).brief()
    event = Event("e1", QUERY, RESPONSE, passages=(planted,))
    assert by_hand.in_whole(event, found) == [None, planted]


def test_names_are_ids_keys_and_their_beginnings():
    event, found = Event("e1", QUERY, RESPONSE), unclear(HONEST, PLANTED)
    key = content_key(PLANTED.text)
    for name in ("deck", key, key.upper(), key[:8]):
        assert by_hand.named(event, found, [name]) == [PLANTED]
    assert by_hand.named(event, found, ["timetable", key]) == [HONEST, PLANTED]
    for name in ("", "dec", key[:7], "0" * 32, QUERY):
        with pytest.raises(QuarantineNotFoundError, match="no passage"):
            by_hand.named(event, found, [name])


def test_an_id_that_is_anothers_key_names_the_other():
    disguised = Passage("The ferry was built in 1921.", id=content_key(HONEST.text))
    event, found = Event("e1", QUERY, RESPONSE), unclear(HONEST, disguised)
    assert by_hand.named(event, found, [disguised.id]) == [HONEST]


def test_passages_of_the_same_words_are_named_by_the_id_of_either():
    twice = [Passage("Built by M. Dove.", id="a"), Passage("built by M. Dove", id="b")]
    event = Event("e1", QUERY, RESPONSE, passages=(*twice,))
    for found in (None, unclear(*twice), unclear(HONEST)):
        assert by_hand.named(event, found, ["a"]) == twice[:1]
        assert by_hand.named(event, found, ["b"]) == twice[1:]
    # The knowledge base has one of them alone, and out of it that goes.
    assert by_hand.named(event, unclear(twice[1]), ["a"]) == twice[1:]
    (key,) = {content_key(one.text) for one in twice}
    assert by_hand.named(event, unclear(twice[1]), [key]) == twice[1:]


def test_an_id_of_several_passages_is_refused():
    event = Event("e1", QUERY, RESPONSE)
    found = unclear(HONEST, Passage(PLANTED.text, id="timetable"))
    with pytest.raises(InvalidInputError, match="names 2 passages"):
        by_hand.named(event, found, ["timetable"])


def test_a_guard_drops_it_from_the_next_query_on(tmp_path):
    url = f"sqlite:///{tmp_path / 'audit.db'}"
    with Guard(store=url) as guard:
        assert guard.filter(QUERY, [HONEST, PLANTED]).dropped == []
        entry = guard.quarantine(PLANTED.text, why="not in the book", actor="bo")
        assert guard.filter(QUERY, [HONEST, PLANTED]).dropped == [PLANTED]
        edited = Passage(f"{PLANTED.text} Ask the mate.")
        assert guard.filter(QUERY, [HONEST, edited]).dropped == [edited]
        guard.release(entry)
        assert guard.filter(QUERY, [HONEST, PLANTED]).dropped == []
        with pytest.raises(InvalidInputError):
            guard.quarantine(5, why="a number")
