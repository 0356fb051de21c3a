"""What SQL changed between two rows of the trail is found, though the later one signs it."""

import json
from dataclasses import replace

import pytest

from ragguard.audit import QuarantineEntry
from ragguard.audit.decisions import Decisions
from ragguard.audit.quarantine import Limits
from ragguard.audit.trail import signature_of
from ragguard.content import content_key
from ragguard.inline.fingerprints import signature
from tests.audit.conftest import KEYS, entry, findings, tamper

pytestmark = pytest.mark.usefixtures("signing")
A = content_key("a")


@pytest.fixture
def store(open_sql):
    opened = open_sql()
    proposal = entry("a", status="proposed", event_id="e", reporters=("ann",))
    opened.accuse([proposal], Limits())
    return opened


TAMPERED = [
    "text = 'A!'",
    "text = 'harmless', key = '" + content_key("harmless") + "'",
    "text = 'harmless'",
    "reason = 'an error'",
    "passage_id = 'golden'",
    "event_id = 'other'",
    "event_id = NULL",
    """reporters = '["ann", "bo"]'""",
    "reporters = '[]'",
    "status = 'released'",
    "signature = :honest",
]
BETWEEN = "row 2: quarantine {} was changed between row 1 and this one, and not by ragguard"


@pytest.mark.slow
@pytest.mark.parametrize("change", TAMPERED)
@pytest.mark.parametrize("status", ["confirmed", "released"])
def test_what_changed_before_a_person_decided(store, change, status):
    honest = signature("An honest page with enough letters in it to be recognised when edited.")
    values = {"honest": honest} if "honest" in change else {}
    tamper(store, f"UPDATE ragguard_quarantine SET {change}", **values)
    assert findings(store)
    (found,) = store.quarantine()
    store.set_quarantine_status(found.key, status, actor="ann")
    assert findings(store)


@pytest.mark.parametrize("status", ["rejected", "lapsed"])
def test_so_where_it_is_turned_down(store, status):
    tamper(store, "UPDATE ragguard_quarantine SET reason = 'an error'")
    Decisions(store).decide(A, status=status, actor="ann")
    assert findings(store) == (BETWEEN.format(A[:12]),)


def test_a_proposal_slipped_in_for_a_person_to_confirm(store):
    tamper(
        store,
        "INSERT INTO ragguard_quarantine (tenant, key, passage_id, text, reason, status,"
        " created_at, updated_at) SELECT tenant, :key, 'p', 'honest', 'so', 'proposed', created_at,"
        " updated_at FROM ragguard_quarantine",
        key=content_key("honest"),
    )
    Decisions(store).decide(content_key("honest"), status="confirmed", actor="ann")
    key = content_key("honest")[:12]
    assert findings(store) == (f"row 2: nothing before it tells of quarantine {key}",)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", ["text = 'A!'", "event_id = 'other'", """reporters = '["eve"]'"""]
)
def test_what_changed_before_somebody_else_accuses(store, change):
    tamper(store, f"UPDATE ragguard_quarantine SET {change}")
    again = entry("a", status="proposed", event_id="f", reporters=("bo",))
    store.accuse([again], Limits())
    assert findings(store) == (BETWEEN.format(A[:12]),)


def test_reporters_made_up_for_the_quorum(store):
    tamper(store, """UPDATE ragguard_quarantine SET reporters = '["x", "y"]'""")
    (done,) = store.accuse([entry("a", event_id="f", reporters=("bo",))], Limits(quorum=3))
    assert done.quarantined
    assert findings(store) == (BETWEEN.format(A[:12]),)


@pytest.mark.parametrize("status", ["proposed", "quarantined"])
def test_what_had_lapsed_is_made_to_look_new(store, status):
    Decisions(store).undo(event="e", actor="ann")
    store.accuse([entry("a", event_id="f", reporters=("bo",))], Limits())
    assert findings(store) == ()
    tamper(store, "UPDATE ragguard_quarantine SET lapsed_at = NULL")
    store.accuse([entry("a", status=status, event_id="g", reporters=("cy",))], Limits())
    message = "row 4: quarantine {} was changed between row 3 and this one, and not by ragguard"
    assert findings(store) == (message.format(A[:12]),)


def test_what_a_person_decided_is_undone_for_a_new_accusation(store):
    Decisions(store).decide(A, status="rejected", actor="ann")
    tamper(store, "UPDATE ragguard_quarantine SET status = 'lapsed'")
    store.accuse([entry("a", event_id="f", reporters=("bo",))], Limits())
    assert "row 3: quarantine" in findings(store)[0]
    tamper(store, "DELETE FROM ragguard_quarantine")
    store.accuse([entry("a", event_id="g", reporters=("bo",))], Limits())
    assert sum("not by ragguard" in one for one in findings(store)) == 2


@pytest.mark.parametrize(
    "change",
    [
        "why = 'mine'",
        "until = created_at",
        "text = 'x'",
        "source = 'forum'",
        "effect = 'protected'",
    ],
)
def test_an_allowance_that_changed_before_it_was_ended(store, change):
    Decisions(store).allow("handbook", why="ours", actor="ann")
    tamper(store, f"UPDATE ragguard_allowances SET {change}")
    (one,) = store.allowances()
    store.disallow(one.key, one.source, actor="bo")
    assert findings(store)


def test_an_allowance_that_was_slipped_in_or_opened_again(store):
    for _ in range(2):
        Decisions(store).allow("handbook", why="ours", actor="ann")
        Decisions(store).disallow("handbook", actor="ann")
    assert findings(store) == ()
    tamper(store, "UPDATE ragguard_allowances SET ended_at = NULL, ended_by = NULL")
    Decisions(store).disallow("handbook", actor="ann")
    assert len(findings(store)) == 1
    tamper(
        store,
        "INSERT INTO ragguard_allowances (key, source, effect, why, text, created_at, changed)"
        " VALUES (:key, 'evil', 'allowed', 'w', '', '2026-01-01 00:00:00', 1)",
        key=content_key("evil"),
    )
    Decisions(store).disallow("evil", actor="ann")
    assert len(findings(store)) == 2


def test_all_that_is_done_properly(new_store):
    store = new_store()
    decisions, limits = Decisions(store), Limits(days=1e-12)
    for number, name in enumerate(("ann", "bo", "ann", "cy")):
        new = entry("a", status="proposed", event_id=f"e{number}", reporters=(name,))
        store.accuse([new, entry("b", event_id=f"e{number}", reporters=(name,))], limits)
    store.accuse([entry("A!", event_id="f", reporters=("dy",))], limits)  # of the same content
    assert store.lapse() == 2
    store.accuse([entry("A.", event_id="g", reporters=("eve",))], limits)  # a proposal again
    decisions.decide(A, status="lapsed", actor="ann")
    store.accuse([entry("a", status="proposed", event_id="h")], limits)
    for status in ("confirmed", "released", "confirmed", "released"):
        decisions.decide(A, status=status, actor="ann")
    decisions.allow("handbook", why="ours", actor="ann")
    decisions.allow("handbook", why="still ours", actor="ann")
    decisions.allow("handbook", why="ours", effect="protected", actor="ann")
    decisions.disallow("handbook", actor="bo")
    decisions.disallow(A, actor="bo")
    assert findings(store) == ()
    assert {row.action for row in store.trail()} >= {"quarantine.lapsed", "allow-list.ended"}


def test_rows_of_an_earlier_version_tell_nothing_of_what_was_before(store):
    Decisions(store).decide(A, status="confirmed", actor="ann")
    mac = ""
    for row in store.trail():
        told = row.told
        del told["was"]
        old = replace(row, details=json.dumps(told, sort_keys=True))
        mac = signature_of(old, mac, KEYS)
        change = "UPDATE ragguard_trail SET details = :details, mac = :mac WHERE seq = :seq"
        tamper(store, change, details=old.details, mac=mac, seq=row.seq)
    assert findings(store) == ()
    Decisions(store).decide(A, status="released", actor="ann")
    assert findings(store) == ()


def test_an_entry_whose_key_is_of_another_text(new_store):
    store = new_store()
    store.add_quarantine([QuarantineEntry(A, "a", "another text", "so")])
    assert findings(store) == (f"quarantine {A[:12]} has a text of another key",)
