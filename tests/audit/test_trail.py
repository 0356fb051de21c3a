"""The trail on every store: one row for each change, chained, and in its transaction."""

import json
import os
import signal
import time
from datetime import timedelta
from itertools import pairwise

import pytest

from ragguard import Guard, Passage
from ragguard.audit import QuarantineEntry
from ragguard.audit.allow_list import allowance
from ragguard.audit.decisions import Decisions
from ragguard.audit.quarantine import Limits, utc_now
from ragguard.audit.trail import (
    KEY,
    KEY_FILE,
    Change,
    Keys,
    TrailRow,
    head_of,
    next_rows,
    note_quietly,
    signature_of,
)
from ragguard.audit.trail_check import check
from ragguard.background import Policy
from ragguard.content import content_key
from ragguard.errors import InvalidInputError, StoreError
from tests.audit.conftest import KEYS, SECRET, findings, in_threads
from tests.processes import begin, output, spawn

pytestmark = pytest.mark.usefixtures("signing")
OTHER = "6" * 32
TEXT = "Marek Dove built the pier, they say."


def entry(text=TEXT, **fields):
    return QuarantineEntry(content_key(text), "p", text, f"because of {text}", "e", **fields)


def done(store):
    return [(row.action, row.actor) for row in store.trail()]


def test_a_row_is_signed_as_by_hand():
    import hashlib
    import hmac

    (row,) = next_rows(None, [Change("a.b", "s", "ann \ud800", {"z": 1, "a": None})], KEYS)
    told = {
        "action": "a.b",
        "actor": "ann \x10d800",
        "at": row.at,
        "details": '{"a": null, "z": 1}',
        "key": KEYS.newest,
        "seq": 1,
        "subject": "s",
        "tenant": "",
    }
    message = json.dumps(["", told]).encode()
    assert row.mac == hmac.new(SECRET.encode(), message, hashlib.sha256).hexdigest()
    (second,) = next_rows(row, [Change("a.b", "s")], KEYS)
    assert (second.seq, second.mac) == (2, signature_of(second, row.mac, KEYS))
    assert second.mac != signature_of(second, "", KEYS)


def test_who_did_what(store):
    store.accuse([entry(reporters=("mallory",))], Limits())
    decisions = Decisions(store)
    decisions.decide(entry(), status="confirmed", actor="ann")
    decisions.decide(entry(), status="released", actor="bo")
    decisions.allow("handbook", why="ours", actor="cy", until=utc_now() + timedelta(days=1))
    decisions.allow(Passage("other"), why="ours", actor="cy", effect="protected")
    decisions.disallow("handbook", actor="di")
    decisions.disallow(Passage(TEXT), actor="di")
    assert done(store) == [
        ("quarantine.quarantined", None),
        ("quarantine.confirmed", "ann"),
        ("quarantine.released", "bo"),
        ("allow-list.allowed", "cy"),
        ("allow-list.protected", "cy"),
        ("allow-list.ended", "di"),
        ("quarantine.rejected", "di"),
    ]
    assert [row.seq for row in store.trail()] == [1, 2, 3, 4, 5, 6, 7]
    assert findings(store) == ()


def test_no_text_and_no_name_of_a_reporter_is_in_it(store):
    store.accuse([entry(reporters=("mallory",))], Limits())
    Decisions(store).allow("the name of a source", why="a reason", actor="ann")
    Decisions(store).allow(Passage("some text"), why="a reason", actor="ann")
    told = str(store.trail())
    for text in (TEXT, "because", "mallory", "the name of", "a reason", "some text"):
        assert text not in told


def test_what_changes_nothing_adds_nothing(store):
    store.add_quarantine([entry(status="proposed")])
    store.add_quarantine([entry()])
    proposal = entry("b", status="proposed")
    for reporter in ("ann", "ann"):
        store.accuse([QuarantineEntry(**{**vars(proposal), "reporters": (reporter,)})], Limits())
    store.accuse([entry("c"), entry("c")], Limits())
    assert store.lapse() == 0
    assert store.disallow("0" * 32, "") == []
    assert len(done(store)) == 3
    assert findings(store) == ()


def test_what_lapses_is_told(store):
    store.add_quarantine([entry(until=utc_now() - timedelta(days=1)), entry("b")])
    assert store.lapse() == 1
    assert done(store)[-1] == ("quarantine.lapsed", None)
    assert findings(store) == ()


def test_a_tenant_sees_its_own_rows_and_all_are_one_trail(store):
    acme, other = store.of_tenant("acme"), store.of_tenant("other")
    store.add_quarantine([entry()])
    acme.accuse([entry()], Limits())
    Decisions(acme).decide(entry(), status="released", actor="ann")
    other.allow(allowance("handbook", why="ours", actor="bo"))
    other.add_quarantine([entry(until=utc_now() - timedelta(days=1))])
    assert store.lapse() == 1
    assert [row.tenant for row in store.trail()] == ["", "acme", "acme", *["other"] * 3]
    assert [row.seq for row in acme.trail()] == [2, 3]
    assert acme.newest_trail(1) == store.trail()[2:3]
    assert [row.action for row in other.newest_trail(9)][-1] == "quarantine.lapsed"
    assert findings(store) == ()


def test_a_tenant_too_many_leaves_no_row(monkeypatch):
    from ragguard.audit import MemoryStore, memory_records

    monkeypatch.setattr(memory_records, "MAX_TENANTS", 0)
    store = MemoryStore()
    refused = store.of_tenant("acme")
    for change in (
        lambda: refused.add_quarantine([entry()]),
        lambda: refused.accuse([entry()], Limits()),
        lambda: refused.allow(allowance("s", why="y")),
    ):
        with pytest.raises(InvalidInputError):
            change()
    assert store.trail() == []


def test_undoing_is_told(store):
    store.accuse([entry()], Limits())
    Decisions(store).undo(event="e", actor="ann")
    assert done(store)[-1] == ("quarantine.lapsed", "ann")
    store.accuse([entry()], Limits())
    assert done(store)[-1] == ("quarantine.proposed", None)
    assert findings(store) == ()


@pytest.mark.slow
def test_pages_of_it(store):
    store.add_quarantine([entry(str(n)) for n in range(5)])
    rows = store.trail()
    assert [row.seq for row in rows] == [1, 2, 3, 4, 5]
    assert store.trail(after=2, limit=2) == rows[2:4]
    assert store.newest_trail(2) == rows[3:]
    assert store.trail(limit=0) == store.newest_trail(0) == store.trail(after=9) == []


@pytest.mark.slow
@pytest.mark.parametrize("text", ["\ud800", "\x00", "\x10", "'; DROP TABLE ragguard_trail; --"])
def test_any_name_survives(store, text):
    store.add_quarantine([QuarantineEntry(text, text, text, text, text, actor=text)])
    store.set_quarantine_status(text, "confirmed", actor=text)
    store.allow(allowance(Passage(text), why=text or "y", actor=text))
    odd = f"quarantine {text[:12]} has a text of another key"  # and nothing else is
    assert findings(store) == (odd,)
    assert len(store.trail()) == 3


def test_a_change_that_fails_leaves_no_row_and_a_row_that_fails_no_change(store, monkeypatch):
    with pytest.raises(LookupError):
        store.set_quarantine_status("none", "confirmed")
    store.add_quarantine([entry()])
    monkeypatch.delenv(KEY)
    refused = (
        lambda: store.set_quarantine_status(entry().key, "released", actor="eve"),
        lambda: store.add_quarantine([entry("b")]),
        lambda: store.accuse([entry("c")], Limits()),
        lambda: store.allow(allowance("s", why="y")),
        lambda: store.note(Change("policy.set", "observe")),
    )
    version = store.quarantine_version()
    for change in refused:
        with pytest.raises(StoreError, match=KEY_FILE):
            change()
    assert [one.status for one in store.quarantine()] == ["quarantined"]
    assert (store.allowances(), store.quarantine_version()) == ([], version)
    monkeypatch.setenv(KEY, SECRET)
    assert len(store.trail()) == 1
    assert findings(store) == ()


def test_a_new_key_is_taken_from_the_file_at_once(store, monkeypatch, tmp_path):
    path = tmp_path / "keys"
    path.write_text(SECRET)
    monkeypatch.delenv(KEY)
    monkeypatch.setenv(KEY_FILE, str(path))
    store.add_quarantine([entry()])
    path.write_text(f"{SECRET}\n{OTHER}")
    store.add_quarantine([entry("b")])
    found = check(store, Keys([SECRET, OTHER]))
    assert found.findings == ()
    assert [str(one) for one in found.stretches] == ["row 1", "row 2"]
    # Who only has the old key does not go on behind the new one.
    path.write_text(SECRET)
    with pytest.raises(StoreError, match="does not have"):
        store.add_quarantine([entry("c")])


def test_the_head_is_logged_once_it_is_stored(store, caplog):
    with caplog.at_level("INFO", logger="ragguard.audit.trail"):
        store.add_quarantine([entry()])
        store.lapse()
    lines = [line.getMessage() for line in caplog.records if "head" in line.getMessage()]
    assert lines == [f"trail head {head_of(store.trail()[-1], KEYS)}"]
    assert findings(store, heads=[lines[0].split()[-1]]) == ()


def test_a_note_is_added_where_something_is_another_than_last_time(store):
    first, second = Change("policy.set", "auto", "a@b", {"q": 1}), Change("policy.set", "observe")
    assert [store.note(one) for one in (first, first, second, first)] == [True, False, True, True]
    assert store.note(Change("calibration.adopted", "auto", None, {"q": 1}))
    assert not store.note(Change("policy.set", "auto", "c@d", {"q": 1}))
    assert len(store.trail()) == 4


def test_a_store_that_takes_no_note_keeps_nobody_from_working(caplog):
    class Failing:
        def note(self, change):
            raise StoreError("read only")

    note_quietly(object(), Change("policy.set", "auto"))
    assert caplog.records == []
    note_quietly(Failing(), Change("policy.set", "auto"))
    assert "does not tell of policy.set: read only" in caplog.text


def clean(count=120):
    return [
        (f"Why is stone {n} grey?", [f"Stone {n} has mica.", f"Walls {n}."]) for n in range(count)
    ]


def test_policies_and_calibrations_are_told(sql_url, tmp_path):
    with Guard(store=sql_url, policy="auto") as guard:
        made = guard.calibrate(clean(), force=True)
        guard.calibrate(clean(), force=True)
        guard.save_calibration(tmp_path / "c.json")
    for policy in ("auto", Policy("auto"), Policy("auto", quorum=2, weights={"mallory": 0})):
        with Guard(store=sql_url, policy=policy, calibration=tmp_path / "c.json"):
            pass
    with Guard(store=sql_url) as guard:  # whose policy is noted once it does something
        assert len(guard.store.trail()) == 3
        event = guard.report("who", "Dove", passages=["Dove did it."], wait=True)
        guard.attribution(event, timeout=60)
        rows = guard.store.trail()
        assert findings(guard.store) == ()
    told = [(row.action, row.subject) for row in rows if not row.action.startswith("quarantine")]
    assert told[0] == ("policy.set", "auto")
    assert told[1][0] == "calibration.adopted"
    assert told[2:] == [("policy.set", "auto"), ("policy.set", "review")]
    assert json.loads(rows[1].details)["queries"] == len(made.scores) == 120
    assert json.loads(rows[2].details)["quorum"] == 2
    assert "mallory" not in str(rows)
    assert all("@" in row.actor for row in rows if row.action.startswith(("policy", "calibration")))


def test_whom_a_guard_trusts_is_told_by_a_hash(sql_url):
    from ragguard.trust import Origin, Trust

    known = [Origin(author=["bo", "ann"], older_than=timedelta(days=3)), "wiki"]
    for trust in (["handbook"], ["handbook"], Trust(protected=["handbook"], known=known)):
        with Guard(store=sql_url, trust=trust) as guard:
            rows = guard.store.trail()
    assert [row.action for row in rows] == ["trust.set"] * 2
    assert [json.loads(row.details) for row in rows] == [
        {"protected": 1, "known": 0},
        {"protected": 1, "known": 2},
    ]
    assert "handbook" not in str(rows)


def test_weights_in_any_mapping_are_told():
    from types import MappingProxyType

    change = Policy("auto", weights=MappingProxyType({"bo": 2})).change
    assert list(change.details["weights"].values()) == [2]
    assert "bo" not in change.details["weights"]


WRITER = """
    import os, sys
    from ragguard.audit import QuarantineEntry, open_store
    from ragguard.content import content_key
    store, name = open_store(sys.argv[1]), sys.argv[2]
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(int(sys.argv[3])):
        text = f"{name}{n}"
        store.add_quarantine([QuarantineEntry(content_key(text), "p", text, "r", actor=name)])
        print(n, flush=True)
        if os.path.exists(sys.argv[4]):
            break
    store.close()
"""


def writer(url, name, count, until=""):
    return spawn(WRITER, url, name, count, until)


@pytest.mark.slow
def test_two_processes_that_write_at_once_do_not_fork_the_chain(sql_url, open_sql, tmp_path):
    store, enough = open_sql(), tmp_path / "enough"
    both = [writer(sql_url, name, 10_000, enough) for name in "ab"]
    begin(*both)

    def changes():
        return sum(a.actor != b.actor for a, b in pairwise(store.trail()))

    # However busy the machine is: until they have written by turns.
    until = time.monotonic() + 90
    while changes() < 3 and time.monotonic() < until:
        time.sleep(0.05)
    enough.touch()
    for process in both:
        output(process)
    rows = store.trail()
    assert changes() >= 3, "they did not write at once"
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert findings(store) == ()


@pytest.mark.slow
def test_killed_writers_leave_a_whole_trail(sql_url, open_sql):
    store = open_sql()
    for run in range(4):
        process = writer(sql_url, f"{run}x", 100_000)
        begin(process)
        for _ in range(7 * run + 3):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    found = check(store, KEYS)
    assert found.findings == ()
    assert found.rows == len(store.quarantine()) >= 54
    store.add_quarantine([entry()])
    assert findings(store) == ()


@pytest.mark.slow
def test_threads_and_both_sides_of_a_fork_write_one_chain(store):
    store.add_quarantine([entry()])
    child = os.fork()
    if child == 0:  # a memory store's chain goes on in two processes, each with its own
        try:
            store.set_quarantine_status(entry().key, "confirmed", actor="child")
            fine = findings(store) == ()
        finally:
            os._exit(0 if fine else 1)
    in_threads(lambda n: store.add_quarantine([entry(f"{n} {m}") for m in range(5)]), 8)
    assert os.waitpid(child, 0)[1] == 0
    found = check(store, KEYS)
    assert found.findings == ()
    assert found.rows in (41, 42)  # without the child's row in memory


def test_a_pickled_store_begins_a_trail_of_its_own():
    import pickle

    from ragguard.audit import MemoryStore

    store = MemoryStore()
    store.add_quarantine([entry()])
    store.set_quarantine_status(entry().key, "confirmed", actor="ann")
    store.allow(allowance("s", why="y", actor="bo"))
    again = pickle.loads(pickle.dumps(store))
    assert done(again) == [("quarantine.confirmed", "ann"), ("allow-list.allowed", "bo")]
    assert findings(again) == ()


def test_rows_of_the_store_are_those_of_the_record(store):
    store.add_quarantine([entry()])
    assert all(type(row) is TrailRow for row in store.trail())
