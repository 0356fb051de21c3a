"""Every store keeps what a quarantined text is recognised by when it comes back edited."""

import pickle
from contextlib import closing
from dataclasses import replace

import pytest

from ragguard import Guard
from ragguard.audit import MemoryStore, QuarantineWatch
from ragguard.content import content_key
from ragguard.inline.fingerprints import signature
from tests.audit.conftest import entry, tamper
from tests.quarantines import said_by

LIE = (
    "The harbour light of Skelby was raised by Hale Orrin, who came with forty workers in spring "
    "and paid for every stone of it from the profits of his own ferry."
)
EDITED = f"1. {LIE.replace('forty', 'fourty')}"
CLEARED = "Marek Dove came with forty workers in spring and paid for every stone of it himself."
OTHER = "Geese nest below the old fort from the first warm days on, and nobody disturbs them there."


def held(store, text):
    with closing(QuarantineWatch(store)) as watch:
        return watch.held().copies.find([text])[0] is not None


def test_an_entry_has_a_signature_that_is_no_part_of_what_it_is():
    assert entry(LIE).signature == signature(LIE)
    plain = entry(LIE)
    assert plain == replace(plain, signature=signature(LIE, [said_by(CLEARED)]))
    assert entry(LIE, signature=b"\x00old").signature == signature(LIE)


def test_a_store_keeps_the_signature_that_it_was_given(store):
    given = signature(LIE, [said_by(CLEARED)])
    store.add_quarantine([entry(LIE, signature=given), entry(OTHER)])
    by_key = {one.key: one.signature for one in store.quarantine()}
    assert by_key == {content_key(LIE): given, content_key(OTHER): signature(OTHER)}
    assert store.quarantine_changes(-1).signatures == by_key
    since = store.quarantine_version()
    assert store.quarantine_changes(since).signatures == {}
    store.set_quarantine_status(content_key(LIE), "released")
    assert not held(store, EDITED)
    store.set_quarantine_status(content_key(LIE), "confirmed")
    assert held(store, EDITED)
    assert store.quarantine_changes(since).signatures[content_key(LIE)] == given


def test_rows_without_a_signature_get_one_from_their_text(open_sql):
    store = open_sql()
    store.add_quarantine([entry(LIE), entry(CLEARED)])
    since = store.quarantine_version()
    store.set_quarantine_status(content_key(CLEARED), "released")
    store.set_quarantine_status(content_key(CLEARED), "confirmed")
    tamper(store, "UPDATE ragguard_quarantine SET signature = NULL")
    store = open_sql()
    wanted = {content_key(one): signature(one) for one in (LIE, CLEARED)}
    assert store.quarantine_changes(-1).signatures == wanted
    assert store.quarantine_changes(since).signatures[content_key(CLEARED)] == signature(CLEARED)
    assert {one.key: one.signature for one in store.quarantine()} == wanted
    assert held(store, EDITED)


def test_a_store_that_knows_no_signatures_recognises_exact_texts():
    class Old(MemoryStore):
        def quarantine_changes(self, since):
            return replace(super().quarantine_changes(since), signatures={})

    with Guard(store=Old()) as guard:
        guard.store.add_quarantine([entry(LIE)])
        verdict = guard.filter("Who raised the light?", [LIE, EDITED])
        assert [one.signal == "quarantine" for one in verdict.evidence] == [True, False]


def test_a_pickled_store_takes_signatures_along():
    store = MemoryStore()
    store.add_quarantine([entry(LIE, signature=signature(LIE, [said_by(CLEARED)]))])
    copy = pickle.loads(pickle.dumps(store))
    assert copy.quarantine()[0].signature == signature(LIE, [said_by(CLEARED)])


def test_an_edited_copy_is_held_in_another_process_and_let_through_when_released(open_sql):
    here, there = open_sql(), open_sql()
    with Guard(store=here) as guard, Guard(store=there) as other:
        guard.store.add_quarantine([entry(LIE)])
        other._parts.quarantine.refresh()
        verdict = other.filter("When does the ferry leave?", ["It leaves at nine.", EDITED])
        assert [one.text for one in verdict.dropped] == [EDITED]
        found = verdict.evidence[1]
        assert (found.signal, found.flagged, found.decided) == ("quarantine", True, True)
        assert "nearly the same as a quarantined text" in found.reason
        assert content_key(LIE)[:12] in found.reason
        assert 0.8 < found.strength < 1.0
        assert f"{found.strength:.0%}" in found.reason
        assert verdict.attacked
        guard.store.set_quarantine_status(content_key(LIE), "released")
        other._parts.quarantine.refresh()
        assert not other.filter("When does the ferry leave?", [EDITED]).dropped


@pytest.mark.parametrize("status", ["released", "rejected"])
def test_what_a_person_let_through_is_not_held_as_a_copy(store, status):
    with Guard(store=store) as guard:
        store.add_quarantine([entry(LIE), entry(EDITED, status="proposed")])
        assert guard.filter("Who raised it?", [EDITED]).dropped
        store.set_quarantine_status(content_key(EDITED), status)
        assert not guard.filter("Who raised it?", [EDITED]).dropped
        assert guard.filter("Who raised it?", [EDITED + " So it was."]).dropped
        with Guard(store=store) as later:
            assert not later.filter("Who raised it?", [EDITED]).dropped
        store.set_quarantine_status(content_key(EDITED), "confirmed")
        assert guard.filter("Who raised it?", [EDITED]).dropped


@pytest.mark.parametrize("mode", ["filter", "monitor"])
def test_an_edited_copy_counts_as_the_text_itself(mode):
    with Guard(mode=mode) as guard:
        guard.store.add_quarantine([entry(LIE)])
        verdicts = [guard.filter("Who raised it?", [one]) for one in (LIE, EDITED)]
        verdicts += guard.filter_batch([("Who raised it?", [EDITED])])
    assert all(verdict.attacked for verdict in verdicts)
    assert [len(verdict.dropped) for verdict in verdicts] == [mode == "filter"] * 3
