"""What a person decides about the quarantine."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ragguard import Passage
from ragguard.attribution.result import Attribution, PassageScore
from ragguard.audit import Event, QuarantineEntry
from ragguard.audit.allow_list import Allowance
from ragguard.audit.decisions import Decisions, match
from ragguard.audit.encoding import escape
from ragguard.audit.quarantine import Limits
from ragguard.audit.trail import Keys, this_process
from ragguard.audit.trail_check import check
from ragguard.content import content_key
from ragguard.errors import (
    AllowanceNotFoundError,
    EventNotFoundError,
    InvalidInputError,
    QuarantineNotFoundError,
    StoreError,
)
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.repair import restore

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
TEXT = "The pier was built by Bob Crane."
KEY = content_key(TEXT)


def at(hour):
    return NOON + timedelta(hours=hour)


def entry(key, status="quarantined", event="e", reporters=("ann",), hour=0, **fields):
    moment = at(hour)
    return QuarantineEntry(
        key, f"id-{key}", TEXT, "why", event, status, moment, moment, None, reporters, **fields
    )


@pytest.fixture
def decisions(store):
    store.add_quarantine([entry(KEY), entry("ab1", "proposed"), entry("ab2", "confirmed")])
    return Decisions(store)


@pytest.mark.parametrize("target", [KEY, KEY[:8].upper(), f"id-{KEY}", TEXT, Passage(f" {TEXT} ")])
def test_a_target_is_a_key_its_beginning_an_id_the_text_or_the_passage(decisions, store, target):
    (one,) = decisions.decide(target, status="released", actor="bo")
    assert (one.key, one.status, one.actor) == (KEY, "released", "bo")
    assert store.quarantine(status="released") == [one]
    assert decisions.decide(one, status="confirmed")[0].status == "confirmed"


def test_a_key_that_begins_another_one_is_itself(store):
    store.add_quarantine([entry("ab" * 5), entry("ab" * 5 + "1"), entry("ab" * 5 + "2")])
    decisions = Decisions(store)
    assert decisions.decide("ab" * 5, status="confirmed")[0].key == "ab" * 5
    with pytest.raises(InvalidInputError, match="names 3 quarantined passages"):
        decisions.decide("ab" * 4, status="confirmed")


@pytest.mark.parametrize("target", [None, 3, b"id", ["id"]])
def test_what_names_nothing_is_refused(decisions, target):
    with pytest.raises(InvalidInputError, match="names nothing in quarantine"):
        decisions.decide(target, status="confirmed")


@pytest.mark.parametrize("target", ["", "nothing", Passage("nothing")])
def test_one_unknown_target_changes_nothing(decisions, store, target):
    before = store.quarantine()
    with pytest.raises(QuarantineNotFoundError):
        decisions.decide("ab1", target, status="confirmed")
    assert store.quarantine() == before


def test_only_proposals_are_rejected(decisions):
    assert [one.key for one in decisions.proposals()] == ["ab1"]
    assert decisions.decide("ab1", status="rejected")[0].status == "rejected"
    assert decisions.proposals() == []
    with pytest.raises(InvalidInputError, match="release it instead"):
        decisions.decide("ab2", status="rejected")


def test_undo_by_event_reporter_and_time(store):
    store.add_quarantine(
        [
            entry("1", event="e1", reporters=("ann", "bob")),
            entry("2", "proposed", event="e2", reporters=("bob",), hour=1),
            entry("3", "confirmed", event="e1"),
            entry("4", "released", event="e1"),
            entry("5", event=None, reporters=()),
            entry("6", event="e1", reporters=(None,), hour=2),
        ]
    )
    decisions = Decisions(store)
    with pytest.raises(InvalidInputError, match="event="):
        decisions.undo()
    with pytest.raises(EventNotFoundError):
        decisions.undo(event="e9")
    with pytest.raises(InvalidInputError, match="pass a datetime, not str"):
        decisions.undo(since="2024")
    assert decisions.undo(event="e1", reporter="carl") == []
    assert [one.key for one in decisions.undo(event="e1", since=NOON.replace(hour=13))] == ["6"]
    assert [one.key for one in decisions.undo(since=NOON.replace(hour=13, tzinfo=None))] == ["2"]
    (one,) = decisions.undo(reporter="bob", actor="zoe")
    assert (one.key, one.status, one.actor, one.reporters) == ("1", "proposed", "zoe", ("ann",))
    (one,) = decisions.undo(reporter="ann", event="e1", actor="zoe")
    assert (one.key, one.status, one.actor) == ("1", "lapsed", "zoe")
    assert store.quarantine_keys() == {"3", "5"}


@pytest.mark.slow
@pytest.mark.parametrize("decided", ["confirmed", "released"])
def test_what_somebody_else_decides_meanwhile_stays(store, monkeypatch, decided):
    store.add_quarantine([entry("1"), entry("2", "proposed"), entry("3", hour=1)])
    change = store.set_quarantine_status

    def later(key, status, **how):
        if status != decided:  # the other person is faster by as little as can be
            for other in "12":
                change(other, decided, actor="bo")
        return change(key, status, **how)

    monkeypatch.setattr(store, "set_quarantine_status", later)
    assert [one.key for one in Decisions(store).undo(reporter="ann", actor="eve")] == ["3"]
    change("2", "proposed")
    with pytest.raises(InvalidInputError, match=f"2 is {decided}"):
        Decisions(store).decide("2", status="rejected", actor="eve")
    found = {one.key: (one.status, one.actor) for one in store.quarantine()}
    assert found == {"1": (decided, "bo"), "2": (decided, "bo"), "3": ("lapsed", "eve")}


def test_the_quarantine_is_told_in_parts_and_counted(store):
    kinds = ["proposed", "released", "proposed", "confirmed", "released", "released", "proposed"]
    store.add_quarantine(
        [
            entry(f"{n}", kind, reporters=("ann", "bo")[: 1 + n % 2], hour=n)
            for n, kind in enumerate(kinds)
        ]
    )
    store.of_tenant("acme").add_quarantine([entry("0", hour=9)])
    every = [one.key for one in store.quarantine()]
    assert every == list("6543210")
    for status in (None, "released"):
        whole = store.quarantine(status=status)
        for limit in (0, 1, 2, 7, None):
            for offset in (0, 1, 3, 99):
                end = None if limit is None else offset + limit
                part = store.quarantine(status=status, limit=limit, offset=offset)
                assert part == whole[offset:end]
    counts = {one: count for one, count in store.quarantine_counts().items() if count}
    assert counts == {"proposed": 3, "released": 3, "confirmed": 1}
    tally = {one: count for one, count in store.quarantine_tally().items() if count}
    assert tally["released", ("ann", "bo")] == 2
    assert tally["released", ("ann",)] == tally["confirmed", ("ann", "bo")] == 1
    assert sum(tally.values()) == len(every)


def test_the_allow_list_is_told_in_parts(decisions, store):
    for n in range(3):
        decisions.allow(f"source-{n}", why="ours")
    decisions.disallow("source-1")
    decisions.decide(KEY, "ab2", status="released")
    parts = [decisions.some_allowed(2, first) for first in (0, 2, 4)]
    assert [[one.source or one.key for one in part] for part in parts] == [
        ["source-2", "source-0"],
        [one.key for one in store.quarantine(status="released")],
        [],
    ]
    assert decisions.some_allowed(3, 1) == [*parts[0][1:], *parts[1]]


@pytest.mark.parametrize("name", ["20240117", "65a7f3c2e4b0a1d2c3f4e5a6", "a" * 31])
def test_an_id_may_look_like_the_beginning_of_a_key(decisions, store, name):
    store.add_quarantine([replace(entry("f" * 32), passage_id=name)])
    assert decisions.decide(name, status="released")[0].key == "f" * 32


def test_an_id_that_is_the_beginning_of_another_key_names_neither():
    honest = entry(KEY)
    planted = replace(entry("f" * 32), passage_id=KEY[:12])
    with pytest.raises(InvalidInputError, match=f"pass more of the key .*{KEY}"):
        match([planted, honest], KEY[:12])
    assert match([planted, honest], KEY[:13]) == honest
    assert match([planted, honest], "f" * 8) == planted


def reported(store, *reporters, limits=None):
    """Have each reporter file an event of their own that accuses one text; return the ids."""
    passage = Passage(TEXT, id="d1")
    for name in reporters:
        store.add_event(Event(f"by {name}", "q", "r", (passage,), name))
        claimed = store.claim_event(lease_s=60)
        scored = [PassageScore(passage, 0.9, -1.0, -1.0, 1.5, responsible=True)]
        found = Attribution("q", "r", "m", [passage], scored, 1, "poisoning", "so")
        store.finish_event(claimed.id, found)
        accused = QuarantineEntry(KEY, "d1", TEXT, "so", claimed.id, reporters=(name,))
        store.accuse([accused], limits or Limits(quorum=9))
    return [f"by {name}" for name in reporters]


def test_what_others_accuse_as_well_stays_proposed_in_their_name(store, caplog):
    reported(store, "mal", "ann", "bob")
    decisions = Decisions(store)
    (one,) = decisions.undo(reporter="mal", actor="eve")
    assert (one.status, one.reporters, one.actor) == ("proposed", ("ann", "bob"), "eve")
    assert f"ragguard quarantine confirm {KEY[:12]}" in caplog.text
    assert store.quarantine() == [one]
    assert decisions.undo(reporter="mal") == decisions.undo(event="by mal") == []
    (one,) = decisions.undo(event="by bob")  # not the event that came first
    assert (one.status, one.reporters) == ("proposed", ("ann",))
    assert [one.status for one in decisions.undo(event="by ann")] == ["lapsed"]
    assert all("text of another key" in one for one in check(store, Keys()).findings)


def test_what_is_in_force_by_several_is_proposed_for_those_who_are_left(store):
    first, second = reported(store, "mal", "ann", limits=Limits(quorum=2))
    assert store.quarantine_keys() == {KEY}
    (one,) = Decisions(store).undo(event=first)
    assert (one.status, one.reporters) == ("proposed", ("ann",))
    # Reports put a passage into force once.
    accused = QuarantineEntry(KEY, "d1", TEXT, "so", second, reporters=("cy",))
    assert not store.accuse([accused], Limits(quorum=2))[0].quarantined


def test_those_who_give_no_name_are_not_one_person(store):
    first, second = (Event(name, "q", "r", (Passage(TEXT, id="d1"),)) for name in ("e1", "e2"))
    honest = entry("f" * 32)
    for event, accused in ((first, [KEY]), (second, [KEY, honest.key])):
        store.add_event(event)
        store.claim_event(lease_s=60)
        texts = [Passage(TEXT, id="d1"), Passage(honest.text, id="h")][: len(accused)]
        scores = [PassageScore(one, 0.9, -1.0, -1.0, 1.5, responsible=True) for one in texts]
        found = Attribution("q", "r", "m", texts, scores, len(texts), "poisoning", "so")
        store.finish_event(event.id, found)
        store.accuse(
            [
                QuarantineEntry(key, "d1", TEXT, "so", event.id, reporters=(None,))
                for key in accused
            ],
            Limits(),
        )
    assert [one.key for one in Decisions(store).undo(event="e2")] == [honest.key]
    assert [one.status for one in store.quarantine(keys=[KEY])] == ["quarantined"]


def test_what_cannot_be_proposed_for_others_is_named(store, caplog, monkeypatch):
    def fails(*_, **__):
        raise StoreError("the disk is full")

    reported(store, "mal", "ann")
    monkeypatch.setattr(type(store), "accuse", fails)
    with pytest.raises(StoreError):
        Decisions(store).undo(reporter="mal")
    assert f"ragguard quarantine confirm {KEY[:12]}" in caplog.text


def test_what_was_confirmed_is_allowed_no_more_though_another_could_not_be(store):
    decisions = Decisions(store)
    store.add_quarantine([entry(KEY, "proposed"), entry("f" * 32, "proposed")])
    read = store.quarantine()
    decisions.allow(KEY, why="ours")
    store.set_quarantine_status("f" * 32, "quarantined")
    with pytest.raises(InvalidInputError, match="is quarantined"):
        decisions.decide(KEY, "f" * 32, status="confirmed", read=read)
    assert [one.status for one in store.quarantine(keys=[KEY])] == ["confirmed"]
    assert decisions.allowed() == []


def test_a_text_that_is_the_id_of_another_passage_names_neither():
    mine, planted = entry(KEY), replace(entry("ef" * 16), passage_id=TEXT)
    with pytest.raises(InvalidInputError, match="names 2 quarantined passages"):
        match([mine, planted], TEXT)


@pytest.mark.parametrize("planted", [{"passage_id": KEY.upper()}, {"key": content_key(KEY)}])
def test_a_key_that_is_also_an_id_or_a_text_names_neither(store, planted):
    mine, other = entry(KEY), replace(entry("ef" * 16), **planted)
    store.add_quarantine([other, mine])
    decisions = Decisions(store)
    name = planted.get("passage_id", KEY)
    told = f"pass its entry, or as little of the key of the one that you mean: .*{KEY[:12]}"
    with pytest.raises(InvalidInputError, match=told):
        decisions.decide(name, status="released")
    for target in (mine, KEY[:12]):
        assert decisions.found(target)[0].key == KEY
    assert decisions.found(other.key)[0].key == other.key
    # A page lists entries, and a click names one of them by its key.
    (one,) = decisions.decide(KEY, status="released", read=store.quarantine())
    assert one.key == KEY


@pytest.mark.parametrize("name", [TEXT, KEY[:10]])
def test_of_many_that_have_a_name_as_their_id_the_one_that_it_tells_comes_first(name):
    honest = replace(entry(KEY), key=content_key(TEXT)) if name == TEXT else entry(KEY)
    planted = [replace(entry(f"{i}" * 32), passage_id=name) for i in range(2, 9)]
    with pytest.raises(InvalidInputError, match=f"that you mean: {honest.key[:12]}"):
        match([*planted, honest], name)


def test_a_long_text_that_names_nothing_is_not_told_whole(decisions):
    with pytest.raises(QuarantineNotFoundError) as raised:
        decisions.decide("an oak " * 1_000, status="released")
    assert len(str(raised.value)) < 300


def test_a_passage_names_no_other_by_its_id():
    planted = replace(entry("f" * 32), passage_id=KEY)
    for target in (Passage(TEXT), replace(entry(KEY))):
        with pytest.raises(QuarantineNotFoundError):
            match([planted], target)


def test_whose_word_is_left_of_a_forgotten_event_is_asked(store, caplog):
    store.add_quarantine([entry(KEY, "proposed", reporters=("mal", "ann"))])
    assert [one.status for one in Decisions(store).undo(event="e")] == ["lapsed"]
    assert "the event is forgotten" in caplog.text


def test_sources_are_told_apart_letter_by_letter(store):
    decisions = Decisions(store)
    for name in ("HR", "hr"):
        decisions.allow(name, why="ours")
    assert [one.source for one in decisions.disallow("hr")] == ["hr"]
    with pytest.raises(AllowanceNotFoundError, match="letter by letter"):
        decisions.disallow("hr")
    assert [one.source for one in decisions.disallow(Passage("hr"))] == ["HR"]  # the text of it


def test_undo_ends_what_still_waits_of_a_reporter(store, caplog):
    for name, reporter, hour in (("e1", "mal", 0), ("e2", "ann", 0), ("e3", "mal", 2)):
        store.add_event(Event(name, f"q {name}", "r", reporter=reporter, created_at=at(hour)))
    claimed = store.claim_event(lease_s=60)
    assert Decisions(store).undo(reporter="mal", actor="eve") == []
    statuses = {one.id: one.status for one in store.events()}
    assert statuses == {"e1": "failed", "e2": statuses["e2"], "e3": "failed"}
    assert statuses["e2"] in ("pending", "running")
    assert "not attributed any more: 2" in caplog.text
    # The worker that had begun on one of them cannot finish it.
    found = Attribution("q", "r", "listing", [], [], 0, "unclear", "listed")
    if claimed.id != "e2":
        assert not store.finish_event(claimed.id, found, attempt=claimed.attempts)
    assert store.retry_events(["e1"]) == ["e1"]


def test_undo_by_event_and_by_time_ends_what_waits_as_well(store):
    for hour in range(4):
        store.add_event(Event(f"e{hour}", f"q {hour}", "r", created_at=at(hour)))
    decisions = Decisions(store)
    assert decisions.undo(event="e0") == decisions.undo(since=at(2)) == []
    statuses = {one.id: one.status for one in store.events()}
    assert statuses == {"e0": "failed", "e1": "pending", "e2": "failed", "e3": "failed"}


def test_a_short_id_names_the_passage_and_no_key_that_begins_so(store):
    store.add_quarantine([entry("12" + "a" * 30), replace(entry("3" * 32), passage_id="7")])
    decisions = Decisions(store)
    with pytest.raises(QuarantineNotFoundError):
        decisions.decide("12", status="released")
    assert [one.key for one in decisions.decide("7", status="released")] == ["3" * 32]
    assert [one.key for one in decisions.decide("12aaaaaa", status="released")] == ["12" + "a" * 30]


@pytest.mark.parametrize(
    "named", [TEXT, KEY, Passage(TEXT), Allowance(KEY, TEXT, "allowed", "so", TEXT)]
)
@pytest.mark.parametrize("put", [TEXT, KEY, Passage(TEXT)])
def test_what_is_allowed_is_taken_back_by_whatever_names_it(store, put, named):
    decisions = Decisions(store)
    decisions.allow(put, why="so")
    if isinstance(named, Allowance):
        (named,) = decisions.allowed()
    assert [one.key for one in decisions.disallow(named)] == [KEY]
    assert decisions.allowed() == []


def test_nothing_that_is_taken_back_stays_allowed_in_another_form(store):
    decisions = Decisions(store)
    decisions.allow(TEXT, why="so")
    decisions.allow(Passage(TEXT), why="so")
    assert len(decisions.disallow(Passage(TEXT))) == 2
    assert decisions.allowed() == []


class NoTime(datetime):
    """What pandas has for no moment at all."""

    def __eq__(self, other):
        return False

    __ne__ = object.__ne__
    __hash__ = datetime.__hash__


def test_no_moment_at_all_is_none_and_others_become_plain_ones(store):
    decisions = Decisions(store)
    for refuse in (
        lambda: decisions.allow(TEXT, why="so", until=NoTime(2999, 1, 1)),
        lambda: decisions.undo(since=NoTime(2024, 1, 1)),
    ):
        with pytest.raises(InvalidInputError, match="pass a datetime, not NoTime"):
            refuse()

    class Stamp(datetime):
        pass

    made = decisions.allow(TEXT, why="so", until=Stamp(2999, 1, 1, tzinfo=UTC))
    assert type(made.until) is datetime


@pytest.mark.parametrize("unnamed", [None, ""])
def test_who_decides_without_a_name_is_no_worker(store, unnamed):
    store.add_quarantine([entry(key, "proposed") for key in ("aa1", "bb1", "cc1", "dd1")])
    by, decisions = {"actor": unnamed}, Decisions(store)
    decisions.decide("aa1", status="confirmed", **by)
    decisions.decide("bb1", status="rejected", **by)
    decisions.decide("cc1", status="released", **by)
    decisions.undo(event="e", **by)
    decisions.allow(TEXT, why="ours", **by)
    decisions.allow("wiki", why="ours", effect="protected", **by)
    decisions.disallow("wiki", **by)
    restore(store, KnowledgeBase([]), ["aa1"], **by)
    assert {one.actor for one in store.quarantine()} == {this_process()}
    told = [row.actor for row in store.newest_trail(100) if row.action != "quarantine.proposed"]
    assert told == [escape(this_process())] * 8


def test_who_decides_and_who_reported_are_named_by_a_str(decisions, store):
    before = store.quarantine()
    for decide in (
        lambda: decisions.decide(KEY, status="confirmed", actor=5),
        lambda: decisions.allow(Passage(TEXT), why="ours", actor=5),
        lambda: decisions.disallow(Passage(TEXT), actor=5),
        lambda: decisions.undo(event="e", actor=5),
    ):
        with pytest.raises(InvalidInputError, match="actor must be a str or None, not the int 5"):
            decide()
    with pytest.raises(InvalidInputError, match="reporter must be a str"):
        decisions.undo(reporter=5)
    assert store.quarantine() == before


def test_undo_leaves_waiting_what_others_reported_as_well(store, caplog):
    for name, who in {"e1": "mal ann", "e2": "ann mal", "e3": "mal mal", "e4": "ann bo"}.items():
        store.add_events([Event(name, f"q {name}", "r", reporter=one) for one in who.split()])
    store.add_events([Event("e5", "q e5", "r", reporter=one) for one in ("mal", None)])
    assert Decisions(store).undo(reporter="mal", actor="eve") == []
    found = {one.id: (one.status, one.reporter, one.reporters) for one in store.events()}
    assert found == {
        "e1": ("pending", None, 1),
        "e2": ("pending", "ann", 1),
        "e3": ("failed", "mal", 1),
        "e4": ("pending", "ann", 2),
        "e5": ("pending", None, 1),
    }
    assert "not attributed any more: 1;" in caplog.text
    assert "others reported as well: 3;" in caplog.text
    # Once more there is nothing of his to take out.
    caplog.clear()
    assert Decisions(store).undo(reporter="mal", actor="eve") == []
    assert {one.id: (one.status, one.reporter, one.reporters) for one in store.events()} == found
    assert caplog.text == ""


def test_undo_by_reporter_takes_out_of_the_events_that_it_means_alone(store):
    for hour in range(3):
        two = [Event(f"e{hour}", "q", "r", reporter=one, created_at=at(hour)) for one in ("a", "b")]
        store.add_events(two)
    decisions = Decisions(store)
    decisions.undo(reporter="a", event="e0")
    decisions.undo(reporter="a", since=at(2))
    assert [one.reporters for one in store.events()] == [1, 2, 1]
    decisions.undo(event="e1")  # whoever reported it
    assert [one.status for one in store.events()] == ["pending", "failed", "pending"]


def meanwhile(store, monkeypatch, status):
    """Let bo decide about each entry right after somebody has looked it up."""
    look = type(store).quarantine

    def looked(self, **asked):
        found = look(self, **asked)
        monkeypatch.setattr(type(store), "quarantine", look)
        for one in found:
            store.set_quarantine_status(one.key, status, actor="bo")
        return found

    monkeypatch.setattr(type(store), "quarantine", looked)


def test_what_was_read_is_decided_about_only_as_it_was_read(store, monkeypatch):
    store.add_quarantine([entry(KEY, "proposed")])
    decisions, read = Decisions(store), store.quarantine()
    decisions.allow(Passage(TEXT), why="ours")
    meanwhile(store, monkeypatch, "rejected")
    with pytest.raises(InvalidInputError, match="is rejected, and only what is proposed can"):
        decisions.decide(KEY, status="confirmed", actor="ann", read=read)
    assert [one.why for one in decisions.allowed()] == ["ours"]
    assert [(one.status, one.actor) for one in store.quarantine()] == [("rejected", "bo")]
    (one,) = decisions.decide(KEY, status="confirmed", read=store.quarantine())
    assert one.status == "confirmed"


def test_what_somebody_confirms_meanwhile_is_not_said_to_be_taken_off(store, monkeypatch):
    store.add_quarantine([entry(KEY, "released")])
    meanwhile(store, monkeypatch, "confirmed")
    with pytest.raises(AllowanceNotFoundError):
        Decisions(store).disallow(KEY, actor="ann")
    assert [(one.status, one.actor) for one in store.quarantine()] == [("confirmed", "bo")]
