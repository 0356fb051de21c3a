"""What becomes of an accusation, on every store."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ragguard.audit import QuarantineEntry
from ragguard.audit.decisions import Decisions
from ragguard.audit.holdings import Load, decided
from ragguard.audit.quarantine import Limits
from ragguard.audit.trail import Keys
from ragguard.audit.trail_check import check
from tests.processes import eventually

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
FREE = Limits(quorum=1, per_reporter=100, per_hour=100, days=None)


def accusation(key, *reporters, status="quarantined", event="e", **fields):
    return QuarantineEntry(
        key, f"id of {key}", "text", "because", event, status, NOON, NOON, None, reporters, **fields
    )


def states(store):
    return {entry.key: entry.status for entry in store.quarantine()}


def test_what_the_evidence_allows_comes_into_force_and_the_rest_is_proposed(store):
    done = store.accuse([accusation("k", "ann"), accusation("l", "ann", status="proposed")], FREE)
    assert [one.quarantined for one in done] == [True, False]
    assert [one.entry for one in done] == sorted(store.quarantine(), key=lambda e: e.key)
    assert states(store) == {"k": "quarantined", "l": "proposed"}
    assert store.quarantine_keys() == {"k"}


@pytest.mark.parametrize("status", ["quarantined", "confirmed", "released", "rejected"])
def test_what_is_in_force_or_was_decided_stays_as_it_is(store, status):
    store.add_quarantine([accusation("k", "ann", status=status)])
    before, version = store.quarantine(), store.quarantine_version()
    (one,) = store.accuse([accusation("k", "bob", event="other")], FREE)
    assert (one.entry, one.quarantined) == (before[0], False)
    assert store.quarantine() == before
    assert store.quarantine_version() == version


def test_a_proposal_comes_into_force_with_the_last_reporter_of_the_quorum(store):
    limits = replace(FREE, quorum=3)
    (one,) = store.accuse([accusation("k", "ann")], limits)
    assert one.limited is None  # it only waits for others
    assert "1 of the 3 reporters" in one.entry.reason
    for _ in range(3):  # the same one again is no other
        store.accuse([accusation("k", "ann", event="e2")], limits)
    store.accuse([accusation("k", None)], limits)
    assert states(store) == {"k": "proposed"}
    (one,) = store.accuse([accusation("k", "bob", event="e3")], limits)
    assert one.quarantined
    assert one.entry.reporters == ("ann", None, "bob")
    assert (one.entry.event_id, one.entry.reason) == ("e3", "because")
    assert store.quarantine_keys() == {"k"}


def test_a_proposal_that_lacks_evidence_waits_for_a_person_whoever_reports(store):
    for name in "abcd":
        store.accuse([accusation("k", name, status="proposed")], replace(FREE, quorum=2))
    assert store.quarantine()[0].reporters == ("a", "b", "c", "d")
    assert states(store) == {"k": "proposed"}


def test_what_rests_on_the_word_of_one_reporter_is_limited_until_a_person_has_looked(store):
    limits = replace(FREE, per_reporter=2)

    def accuse(keys, name, event):
        done = store.accuse([accusation(key, name, event=event) for key in keys], limits)
        return [one.quarantined for one in done], done[0].limited

    assert accuse("abc", "ann", "e1") == ([True] * 3, None)
    assert accuse("d", "ann", "e2") == ([True], None)
    taken, limited = accuse("ef", "ann", "e3")
    assert taken == [False, False]
    assert "2 events of its reporter are in force" in limited
    assert accuse("g", "ann", "e2") == ([True], None)  # an attempt that broke off
    assert accuse("h", "bob", "e4") == ([True], None)
    store.set_quarantine_status("d", "confirmed")
    assert not accuse("e", "ann", "e3")[0][0]
    store.set_quarantine_status("g", "released")
    assert accuse("ef", "ann", "e3") == ([True, True], None)


def test_names_that_hold_other_names_are_told_apart(store):
    limits = replace(FREE, per_reporter=1)
    for number, name in enumerate(("ann", "an", '"ann"', '", "an', "%", "\\", "a\ud800", "", None)):
        (one,) = store.accuse([accusation(f"{number}", name, event=f"{number}")], limits)
        assert one.quarantined, name
        (one,) = store.accuse([accusation(f"{number} again", name, event="last")], limits)
        assert not one.quarantined


def test_past_the_limit_of_an_hour_there_are_proposals_only(store):
    limits = replace(FREE, per_hour=2)
    early = datetime.now(UTC) - timedelta(minutes=61)
    store.add_quarantine([replace(accusation("old", "zoe"), updated_at=early)])
    store.add_quarantine([replace(accusation("by hand"), event_id=None)])
    done = [store.accuse([accusation(f"{n}", f"{n}")], limits)[0] for n in range(3)]
    assert [one.quarantined for one in done] == [True, True, False]
    assert "2 came into force within the last hour" in done[2].limited


def test_an_entry_lapses_unless_a_person_confirms_it(store):
    store.accuse([accusation(key, "ann") for key in "ab"], replace(FREE, days=1e-12))
    assert store.lapse() == 2
    assert store.lapse() == 0
    assert states(store) == {"a": "lapsed", "b": "lapsed"}
    assert store.quarantine_keys() == frozenset()
    (one,) = store.accuse([accusation("a", "bob", event="later")], FREE)
    assert (one.entry.status, one.entry.event_id) == ("proposed", "later")
    assert "was in quarantine before" in one.entry.reason
    store.accuse([accusation("c", "ann")], replace(FREE, days=1e-12))
    assert store.set_quarantine_status("c", "confirmed").until is None
    assert store.lapse() == 0
    assert store.quarantine_keys() == {"c"}


@pytest.mark.parametrize("ended", ["in time", "by undo", "by undo, as a proposal"])
def test_reports_put_a_passage_into_force_once(store, ended):
    status = "proposed" if ended.endswith("proposal") else "quarantined"
    limits = replace(FREE, days=1e-12) if ended == "in time" else FREE
    store.accuse([accusation("k", "ann", status=status)], limits)
    if ended == "in time":
        assert store.lapse() == 1
    else:
        assert len(Decisions(store).undo(event="e", actor="cy")) == 1
    for number, name in enumerate(("ann", "bob", "ann", None, "zoe")):
        status = "proposed" if number == 1 else "quarantined"
        accused = accusation("k", name, event=f"later {number}", status=status)
        (one,) = store.accuse([accused], FREE)
        assert (one.quarantined, one.entry.status) == (False, "proposed"), number
    assert "was in quarantine before" in one.entry.reason
    Decisions(store).undo(reporter="bob", actor="cy")
    (one,) = store.accuse([accusation("k", "eve", event="last")], FREE)
    (one,) = store.accuse([accusation("k", "eve", event="the very last")], FREE)
    assert one.entry.status == "proposed"
    assert check(store, Keys()).findings == ("quarantine k has a text of another key",)
    assert Decisions(store).decide("k", status="confirmed")[0].status == "confirmed"
    assert store.quarantine_keys() == {"k"}


@pytest.mark.parametrize("status", ["rejected", "released"])
def test_what_a_person_has_cleared_no_report_brings_back(store, status):
    decisions = Decisions(store)
    store.accuse([accusation("k", "ann")], FREE)
    decisions.decide("k", status="confirmed")
    decisions.decide("k", status="released")
    if status == "rejected":  # what was released is allowed no longer
        store.set_quarantine_status("k", "rejected")
    for number in range(3):
        (one,) = store.accuse([accusation("k", f"{number}", event=f"{number}")], FREE)
        assert (one.quarantined, one.entry.status) == (False, status)
    assert store.quarantine_keys() == frozenset()


def test_a_reporter_may_count_for_several_or_for_none(store):
    limits = replace(FREE, quorum=3, weights={"editor": 2, "mallory": 0})
    for name in ("mallory", "editor"):
        assert not store.accuse([accusation("k", name)], limits)[0].quarantined
    assert "2 of the 3" in store.accuse([accusation("k", "mallory")], limits)[0].entry.reason
    assert store.accuse([accusation("k", "ann")], limits)[0].quarantined


def test_proposals_of_one_reporter_are_limited(store):
    limits = replace(FREE, proposals=2)
    accused = [accusation(key, "ann", status="proposed") for key in "abc"]
    done = store.accuse(accused, limits)
    assert [one.kept for one in done] == [True, True, False]
    assert "2 proposals of its reporter wait" in done[2].limited
    assert states(store) == {"a": "proposed", "b": "proposed"}
    assert all(one.kept for one in store.accuse(accused[:2], limits))  # these wait already
    assert store.accuse([accusation("d", "bob", status="proposed")], limits)[0].kept
    assert store.accuse([accusation("e", "ann")], limits)[0].quarantined
    store.set_quarantine_status("a", "rejected")
    assert store.accuse(accused[2:], limits)[0].kept


def test_days_are_counted_from_the_moment_it_came_into_force():
    one = decided(accusation("k", "ann"), None, replace(FREE, days=2.5), Load(0, 0), NOON)
    assert one.entry.until == NOON + timedelta(days=2.5)
    assert one.entry.updated_at == NOON


@pytest.mark.slow
@pytest.mark.parametrize("interval_s", [0.01, 3600.0])
def test_the_filter_hears_that_an_entry_has_lapsed(store, watch_of, interval_s):
    watch = watch_of(store, interval_s)
    store.accuse([accusation("k", "ann")], replace(FREE, days=0.4 / 86_400))
    assert watch.held().keys == {"k"}
    if interval_s > 1 and getattr(store, "shared", True):
        pytest.skip("its thread looks once an hour here")
    eventually(lambda: not watch.held().keys, seconds=30)
    assert states(store) == {"k": "lapsed"}


def test_a_store_that_cannot_be_written_keeps_what_is_over(store, watch_of, caplog):
    watch = watch_of(store)
    store.accuse([accusation("k", "ann")], replace(FREE, days=1e-12))
    store.lapse = lambda: 1 / 0
    watch.reload()
    watch.reload()
    assert watch.held().keys == {"k"}
    assert watch.error is None
    assert caplog.text.count("stays in force for now") == 1
