"""What somebody who can write to the database does to the trail is found."""

from dataclasses import asdict, replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard import Passage
from ragguard.audit import MemoryStore, QuarantineEntry
from ragguard.audit.decisions import Decisions
from ragguard.audit.quarantine import Limits, utc_now
from ragguard.audit.trail import KEY, Change, Keys, head_of, next_rows
from ragguard.audit.trail_check import Stretch, check
from ragguard.content import content_key
from ragguard.errors import InvalidInputError
from ragguard.inline.fingerprints import signature
from tests.audit.conftest import KEYS, SECRET, entry, findings, tamper

pytestmark = pytest.mark.usefixtures("signing")
NEWER = "6" * 32
COLUMNS = ("at", "tenant", "actor", "action", "subject", "details", "key", "mac")


def filled(store):
    """Six rows about four things."""
    store.add_quarantine([entry(name) for name in "abc"])
    decisions = Decisions(store)
    decisions.decide(entry("a"), status="confirmed", actor="ann")
    decisions.allow("handbook", why="ours", actor="ann")
    decisions.decide(entry("b"), status="released", actor="bo")
    return store


@pytest.fixture
def store(open_sql):
    return filled(open_sql())


def head(store):
    return head_of(store.newest_trail(1)[0], KEYS)


def test_nothing_is_wrong_with_what_was_done_properly(store):
    found = check(store, KEYS, heads=[head(store)])
    assert (found.findings, found.rows, found.signed) == ((), 6, True)
    assert found.head == head(store)
    assert found.stretches == (Stretch(KEYS.newest, 1, 6),)


@pytest.mark.slow
@pytest.mark.parametrize("row", [1, 4, 6])
def test_every_column_of_every_row_is_signed(store, row):
    true = asdict(store.trail()[row - 1])
    for column in COLUMNS:
        change = f"UPDATE ragguard_trail SET {column} = :value WHERE seq = {row}"
        for value in ("eve", "", "{}", "2020-01-01T00:00:00.000000+00:00"):
            if value == true[column]:
                continue
            tamper(store, change, value=value)
            found = findings(store)
            assert f"row {row}" in found[0] or f"rows {row}" in found[0], (column, value)
        tamper(store, change, value=true[column])
    assert findings(store) == ()


def test_a_single_character_is_seen(store):
    rows = {row.seq: row for row in store.trail()}
    for column in COLUMNS:
        before = getattr(rows[4], column)
        change = f"UPDATE ragguard_trail SET {column} = :value WHERE seq = 4"
        tamper(store, change, value=before + " ")
        assert findings(store), column
        tamper(store, change, value=before)
        assert findings(store) == ()


@pytest.mark.slow
def test_values_that_are_no_texts_are_seen_and_break_nothing(open_sql):
    store = filled(open_sql())
    if not store._database.on_sqlite:
        pytest.skip("a column of PostgreSQL holds texts alone")
    # A table without the constraints: whoever can write can also make the table anew.
    tamper(
        store,
        "CREATE TABLE other AS SELECT * FROM ragguard_trail",
        "DROP TABLE ragguard_trail",
        "ALTER TABLE other RENAME TO ragguard_trail",
    )
    assert findings(store) == ()
    true = asdict(store.trail()[3])
    for column in COLUMNS:
        for value in ("x'ff00'", "CAST(x'ff' AS TEXT)", "7", "NULL", "1e400", "x''"):
            if (column, value) == ("tenant", "x''"):
                continue  # the same as the empty text that it is
            tamper(store, f"UPDATE ragguard_trail SET {column} = {value} WHERE seq = 4")
            assert any("row 4" in one for one in findings(store)), (column, value)
            assert len(store.newest_trail(9)) == 6
        restore = f"UPDATE ragguard_trail SET {column} = :value WHERE seq = 4"
        tamper(store, restore, value=true[column])
    assert findings(store) == ()


def test_rows_that_are_there_twice_are_seen(open_sql):
    store = filled(open_sql())
    tamper(
        store,
        "CREATE TABLE other AS SELECT * FROM ragguard_trail",
        "INSERT INTO other SELECT * FROM ragguard_trail WHERE seq = 3",
        "DROP TABLE ragguard_trail",
        "ALTER TABLE other RENAME TO ragguard_trail",
    )
    assert findings(store)


@pytest.mark.parametrize("row", [1, 2, 5])
def test_a_row_that_is_gone(store, row):
    tamper(store, f"DELETE FROM ragguard_trail WHERE seq = {row}")
    found = findings(store)
    assert f"row {row} is missing" in found
    assert any(f"row {row + 1} is not what was written there" in one for one in found)


def test_a_row_that_is_gone_and_the_others_moved_up(store):
    tamper(
        store,
        "DELETE FROM ragguard_trail WHERE seq = 3",
        "UPDATE ragguard_trail SET seq = 3 WHERE seq = 4",
        "UPDATE ragguard_trail SET seq = 4 WHERE seq = 5",
        "UPDATE ragguard_trail SET seq = 5 WHERE seq = 6",
    )
    assert any("row 3 is not what was written there" in one for one in findings(store))


def test_two_rows_that_changed_places(store):
    tamper(
        store,
        "UPDATE ragguard_trail SET seq = 99 WHERE seq = 2",
        "UPDATE ragguard_trail SET seq = 2 WHERE seq = 3",
        "UPDATE ragguard_trail SET seq = 3 WHERE seq = 99",
    )
    assert sum("is not what was written there" in one for one in findings(store)) == 3


def put(store, rows):
    columns = ", ".join(asdict(rows[0]))
    named = ", ".join(f":{name}" for name in asdict(rows[0]))
    for row in rows:
        statement = f"INSERT INTO ragguard_trail ({columns}) VALUES ({named})"
        tamper(store, statement, **asdict(row))


FORGED = [Change("quarantine.released", content_key("a"), "ann")]


def test_a_forged_row_without_the_key(store):
    last = store.newest_trail(1)[0]
    (forged,) = next_rows(last, FORGED, Keys(["0" * 32, SECRET]))
    put(store, [replace(forged, mac="0" * 64)])
    assert any("row 7 is not what was written there" in one for one in findings(store))


def test_a_forged_row_that_is_signed_without_a_key(store):
    last = store.newest_trail(1)[0]
    put(store, next_rows(replace(last, key=""), FORGED, Keys()))
    found = findings(store)
    assert "row 7: signed with no key, after rows with a newer one" in found
    assert findings(store, unsigned=99)


def test_a_forged_row_that_is_signed_with_the_key_of_somebody_else(store):
    last, theirs = store.newest_trail(1)[0], Keys([NEWER])
    (forged,) = next_rows(replace(last, key=""), FORGED, theirs)
    put(store, [forged])
    assert f"row 7: signed with key '{theirs.newest}', which is not here" in findings(store)


def test_a_copy_of_an_honest_row(store):
    put(store, [replace(store.trail()[3], seq=7)])
    assert any("row 7 is not what was written there" in one for one in findings(store))


def test_a_whole_trail_made_anew_without_the_key(store):
    changes = [Change(row.action, row.subject, "eve") for row in store.trail()]
    was = head(store)
    tamper(store, "DELETE FROM ragguard_trail")
    put(store, next_rows(None, changes, Keys()))
    found = findings(store, heads=[was])
    assert "row 6 is not the one that the given head tells of" in found
    assert any(one.startswith("rows 1 to 6: signed with no key, so whoever") for one in found)


@pytest.mark.parametrize("left", [0, 1, 5])
def test_a_missing_end_is_found_by_a_head(store, left):
    was = head(store)
    tamper(store, f"DELETE FROM ragguard_trail WHERE seq > {left}")
    gone = f"the trail ends at row {left}, and a given head tells of row 6: what came after is gone"
    assert gone in findings(store, heads=[was])
    assert gone not in findings(store)
    # And by the tables, whose last changes nobody tells of any more.
    assert any(
        "the trail does not tell by whom" in one or "not as row" in one for one in findings(store)
    )


def test_a_missing_end_of_things_that_changed_back_is_found_by_a_head_alone(open_sql):
    store = open_sql()
    store.note(Change("policy.set", "review"))
    store.note(Change("policy.set", "observe", "eve"))
    was = head(store)
    tamper(store, "DELETE FROM ragguard_trail WHERE seq = 2")
    assert findings(store) == ()
    assert len(findings(store, heads=[was])) == 1
    store.note(Change("policy.set", "auto"))  # and so is one that was written over
    assert findings(store) == ()
    assert findings(store, heads=[was]) == ("row 2 is not the one that the given head tells of",)


def test_heads_of_earlier_are_fine(store):
    rows = store.trail()
    assert findings(store, heads=[head_of(row, KEYS) for row in rows] * 2) == ()


def test_what_is_no_head_is_said(store):
    good = head(store)
    other = head_of(store.trail()[1], KEYS)
    for bad in ("", "6", good[:-1], good + "0", good.replace(":", " "), "0" + good):
        with pytest.raises(InvalidInputError, match="is no head of a trail"):
            check(store, KEYS, heads=[bad])
    forged = [good[:-1] + ("1" if good[-1] == "0" else "0"), "7" + good[1:], "2" + good[1:]]
    for bad in [*forged, other[:-64] + good[-64:]]:
        with pytest.raises(InvalidInputError, match="forged"):
            check(store, KEYS, heads=[bad])
    with pytest.raises(InvalidInputError, match="a key that is not here"):
        check(store, Keys([NEWER]), heads=[good])


def test_without_the_key_signed_rows_are_not_taken_on_trust(store):
    found = check(store, Keys())
    assert found.findings == (f"rows 1 to 6: signed with key '{KEYS.newest}', which is not here",)
    assert (found.head, found.signed) == (None, False)


def test_a_chain_without_a_key_finds_careless_edits(open_sql, monkeypatch):
    monkeypatch.delenv(KEY)
    store = filled(open_sql())
    found = check(store, Keys())
    assert (found.findings, found.signed) == ((), False)
    tamper(store, "UPDATE ragguard_trail SET actor = 'eve' WHERE seq = 4")
    assert findings(store, Keys())
    changes = [replace(Change(row.action, row.subject, row.actor)) for row in store.trail()]
    tamper(store, "DELETE FROM ragguard_trail WHERE actor IS NOT NULL OR actor IS NULL")
    put(store, next_rows(None, changes[:1], Keys()))
    assert not any("written there" in one for one in findings(store, Keys()))


@pytest.mark.slow
def test_rows_from_before_there_was_a_key(open_sql, monkeypatch):
    monkeypatch.delenv(KEY)
    store = filled(open_sql())
    assert findings(store) == findings(store, unsigned=5)
    assert "pass --unsigned 6" in findings(store)[0]
    assert findings(store, unsigned=6) == ()
    monkeypatch.setenv(KEY, SECRET)
    store.add_quarantine([entry("d")])
    assert findings(store, unsigned=6) == ()
    # From then on they are sealed by the first row with a key.
    tamper(store, "UPDATE ragguard_trail SET actor = 'eve' WHERE seq = 4")
    assert findings(store, unsigned=6)


def test_whoever_stole_an_old_key_cannot_go_on_with_it(open_sql, monkeypatch):
    store = filled(open_sql())
    monkeypatch.setenv(KEY, f"{SECRET} {NEWER}")
    store.add_quarantine([entry("d")])
    both = Keys([SECRET, NEWER])
    assert findings(store, both) == ()
    stolen = next_rows(replace(store.newest_trail(1)[0], key=""), FORGED, KEYS)
    put(store, stolen)
    assert (
        f"row 8: signed with the older key {KEYS.newest}, after rows with a newer one"
        in findings(store, both)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ragguard_quarantine SET status = 'released' WHERE status = 'confirmed'",
        "UPDATE ragguard_quarantine SET status = 'released' WHERE status = 'quarantined'",
        "UPDATE ragguard_quarantine SET actor = 'eve' WHERE status = 'confirmed'",
        "UPDATE ragguard_quarantine SET text = 'harmless' WHERE status = 'confirmed'",
        "UPDATE ragguard_quarantine SET until = created_at WHERE status = 'quarantined'",
        "UPDATE ragguard_quarantine SET reason = 'an error' WHERE status = 'confirmed'",
        "UPDATE ragguard_quarantine SET passage_id = 'golden' WHERE status = 'confirmed'",
        "UPDATE ragguard_quarantine SET event_id = 'e' WHERE status = 'confirmed'",
        "UPDATE ragguard_quarantine SET reporters = '[null]' WHERE status = 'confirmed'",
        "DELETE FROM ragguard_quarantine WHERE status = 'confirmed'",
        "UPDATE ragguard_quarantine SET key = 'x' WHERE status = 'confirmed'",
        "UPDATE ragguard_allowances SET ended_at = created_at",
        "UPDATE ragguard_allowances SET until = created_at",
        "UPDATE ragguard_allowances SET effect = 'protected'",
        "UPDATE ragguard_allowances SET source = ''",
        "UPDATE ragguard_allowances SET source = 'forum'",
        "UPDATE ragguard_allowances SET text = 'a page of ours'",
        "UPDATE ragguard_allowances SET actor = 'eve'",
        "UPDATE ragguard_allowances SET why = 'eve said so'",
        "UPDATE ragguard_allowances SET key = 'x'",
        "DELETE FROM ragguard_allowances",
        "UPDATE ragguard_allowances SET tenant = 'acme'",
        "UPDATE ragguard_quarantine SET tenant = 'acme' WHERE status = 'confirmed'",
        "DELETE FROM ragguard_trail",
    ],
)
def test_changes_behind_the_back_of_the_trail(store, statement):
    tamper(store, statement)
    assert findings(store)


def test_a_signature_that_would_hold_an_honest_page(store):
    honest = signature("An honest page with enough letters in it to be recognised when edited.")
    tamper(store, "UPDATE ragguard_quarantine SET signature = :honest", honest=honest)
    assert len(findings(store)) == 3


def test_whoever_accuses_as_well_is_told(open_sql):
    store = open_sql()
    for reporter in ("ann", "bo", "ann"):
        store.accuse([entry("a", status="proposed", reporters=(reporter,))], Limits())
    assert findings(store) == ()
    assert [len(row.told["reporters"]) for row in store.trail()] == [1, 2]


def test_an_entry_slipped_in_by_sql(store):
    tamper(
        store,
        "INSERT INTO ragguard_allowances (key, source, effect, why, text, created_at, changed)"
        " VALUES ('k', 'evil', 'allowed', 'w', '', '2026-01-01 00:00:00', 1)",
    )
    assert findings(store) == ("allow-list k is allowed, and the trail does not tell by whom",)


def test_what_was_made_to_lapse_before_its_time(open_sql):
    store = open_sql()
    store.add_quarantine([entry("a", until=utc_now() + timedelta(days=30)), entry("b")])
    tamper(store, "UPDATE ragguard_quarantine SET until = created_at WHERE passage_id = 'a'")
    assert store.lapse() == 1
    assert findings(store) == ("row 3: it lapsed before its time, which row 1 tells",)


@pytest.mark.parametrize("column", ["text", "passage_id", "reason", "event_id", "actor"])
def test_what_has_lapsed_is_still_told_of(open_sql, column):
    store = open_sql()
    store.accuse([entry("a", event_id="e", reporters=("ann",))], Limits(days=1e-12))
    assert (store.lapse(), findings(store)) == (1, ())
    tamper(store, f"UPDATE ragguard_quarantine SET {column} = 'an honest page'")
    assert "but not as row 2 tells" in findings(store)[0]


def test_sources_whose_names_differ_in_case_are_two(open_sql):
    store = open_sql()
    for name in ("Handbook", "handbook"):
        Decisions(store).allow(name, why="ours")
    assert findings(store) == ()
    tamper(store, "UPDATE ragguard_allowances SET why = 'mine' WHERE source = 'Handbook'")
    assert len(findings(store)) == 1
    tamper(store, "DELETE FROM ragguard_allowances WHERE source = 'Handbook'")
    assert "is gone" in findings(store)[0]


@pytest.mark.slow
def test_details_that_are_no_json_break_nothing(store):
    for junk in (
        "[",
        "[]",
        "null",
        '"x"',
        "{",
        '{"effect": [], "source": {}}',
        "1" * 5000,
        "[" * 200_000,
    ):
        tamper(store, "UPDATE ragguard_trail SET details = :value", value=junk)
        assert findings(store)


def test_a_change_while_it_looks_is_no_finding(open_sql):
    store, other = filled(open_sql()), open_sql()
    listed = store.standing

    def slow():
        other.set_quarantine_status(content_key("c"), "confirmed", actor="bo")
        other.add_quarantine([entry("d")])
        return listed()

    store.standing = slow
    tamper(store, "UPDATE ragguard_quarantine SET actor = 'eve' WHERE status = 'confirmed'")
    assert len(findings(store)) == 1  # of what was changed behind the trail, and of nothing else
    assert len(store.trail()) > 7


def test_memory_is_looked_at_in_the_same_way():
    store = filled(MemoryStore())
    assert findings(store, heads=[head(store)]) == ()
    was, store._trail = head(store), store._trail[:-1]
    assert len(findings(store, heads=[was])) == 2
    store._trail[2] = replace(store._trail[2], actor="eve")
    assert any("row 3 is not what was written there" in one for one in findings(store))
    assert check(MemoryStore(), KEYS) == check(MemoryStore(), KEYS)
    assert check(MemoryStore(), KEYS).rows == 0


edits = st.lists(
    st.one_of(
        st.tuples(st.just("drop"), st.integers(0, 5)),
        st.tuples(st.just("swap"), st.integers(0, 5), st.integers(0, 5)),
        st.tuples(st.just("copy"), st.integers(0, 5), st.integers(0, 5)),
        st.tuples(st.just("edit"), st.integers(0, 5), st.sampled_from(COLUMNS), st.text()),
    ),
    max_size=4,
)


@given(edits)
def test_no_other_rows_pass(done):
    """Whatever is done to the rows without the key: what passes is a beginning of the trail."""
    store = MemoryStore()
    changes = [Change("policy.set", str(n), "ann") for n in range(6)]
    rows = true = next_rows(None, changes, KEYS)
    rows = list(rows)
    for what, *args in done:
        at = [min(n, len(rows) - 1) for n in args if isinstance(n, int)]
        if not rows:
            break
        if what == "drop":
            del rows[at[0]]
        elif what == "swap":
            rows[at[0]], rows[at[1]] = rows[at[1]], rows[at[0]]
        elif what == "copy":
            rows.insert(at[0], rows[at[1]])
        else:
            rows[at[0]] = replace(rows[at[0]], **{args[1]: args[2]})
    if any(one[0] in ("swap", "copy", "drop") for one in done) and len(done) % 2:
        rows = [replace(row, seq=n) for n, row in enumerate(rows, 1)]
    store._trail = rows
    assert (findings(store) == ()) == (rows == true[: len(rows)])
    assert findings(store, heads=[head_of(true[-1], KEYS)]) == () or rows != true
    assert rows == true or findings(store, heads=[head_of(true[-1], KEYS)])


def test_a_text_of_a_passage_is_never_in_a_finding(store):
    tamper(store, "UPDATE ragguard_quarantine SET text = 'a secret', status = 'released'")
    assert "secret" not in str(findings(store))
    assert findings(store)
    store.add_quarantine([QuarantineEntry("k", "p", Passage("t").text, "so")])
