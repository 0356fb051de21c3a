"""Rows of quarantine and allow-list that ragguard did not write so are found, and hide nothing."""

import pytest

from ragguard.audit import QuarantineEntry
from ragguard.audit.decision_models import AllowanceRow, QuarantineRow, TrailTable
from ragguard.audit.decisions import Decisions
from ragguard.content import content_key
from ragguard.errors import StoreError
from tests.audit.conftest import entry, findings, tamper

pytestmark = pytest.mark.usefixtures("signing")
TABLES = ("ragguard_quarantine", "ragguard_allowances")


@pytest.fixture
def store(open_sql):
    """Two entries and two allowances."""
    opened = open_sql()
    opened.add_quarantine([entry("a"), entry("b", reporters=("ann",))])
    Decisions(opened).allow("handbook", why="ours", actor="ann")
    Decisions(opened.of_tenant("acme")).allow("forum", why="theirs", actor="bo")
    return opened


def without_constraints(store):
    """Make the tables anew: whoever can write to a SQLite file can do that as well."""
    if not store._database.on_sqlite:
        pytest.skip("a column of PostgreSQL holds values of its type alone")
    for table in (QuarantineRow.__table__, AllowanceRow.__table__, TrailTable.__table__):
        columns = ", ".join(f"+{one.name} AS {one.name}" for one in table.columns)  # of no type
        made = f"CREATE TABLE other AS SELECT {columns} FROM {table}", f"DROP TABLE {table}"
        tamper(store, *made, f"ALTER TABLE other RENAME TO {table}")


ALLOW = (
    "INSERT INTO ragguard_allowances (tenant, key, source, effect, why, text, created_at, changed)"
    " VALUES (:tenant, :key, 'evil', 'allowed', 'w', '', '2026-01-01 00:00:00', 1)"
)


@pytest.mark.slow
@pytest.mark.parametrize("tenant", ["\x100061cme", "a\x10", "\x1000e9", "\x10D800", " a", "a\nb"])
def test_an_allowance_of_a_tenant_that_no_guard_can_name(store, tenant):
    tamper(store, ALLOW, tenant=tenant, key=content_key("evil"))
    assert len(findings(store)) == 1
    allowed = store.quarantine_changes(-1).tenants["acme"].allowed
    assert "evil" not in allowed.sources
    assert store.tenants() == ["acme"]


@pytest.mark.parametrize("column", ["tenant", "key", "source", "why", "text", "actor"])
def test_a_text_that_is_written_in_another_way(store, column):
    change = f"UPDATE ragguard_allowances SET {column} = :escape || '0061cme' WHERE tenant = 'acme'"
    tamper(store, change, escape="\x10")
    (row,) = (one for one in findings(store) if one.startswith("row "))
    assert row == f"row 2 of ragguard_allowances: its {column} is not as ragguard writes it"


@pytest.mark.parametrize("column", ["tenant", "key", "passage_id", "text", "reason", "event_id"])
def test_so_of_an_entry(store, column):
    change = f"UPDATE ragguard_quarantine SET {column} = :escape || '0061' WHERE passage_id = 'a'"
    tamper(store, change, escape="\x10")
    expected = f"row 1 of ragguard_quarantine: its {column} is not as ragguard writes it"
    assert expected in findings(store)


def test_texts_of_any_characters_are_fine(store):
    odd = "nul \x00 escape \x10 \x100061 lone \ud800 and \U0001f600"
    store.add_quarantine([QuarantineEntry(content_key(odd), odd, odd, odd, reporters=(odd, None))])
    Decisions(store).allow(odd, why=odd, actor=odd)
    Decisions(store).decide(content_key(odd), status="released", actor=odd)
    assert findings(store) == ()


@pytest.mark.slow
@pytest.mark.parametrize("value", ["7", "x'ff00'", "CAST(x'ff' AS TEXT)", "NULL", "1e400", "x''"])
def test_values_of_another_type(store, value):
    without_constraints(store)
    assert findings(store) == ()
    columns = {
        TABLES[0]: "tenant key passage_id text reason event_id status created_at updated_at actor "
        "reporters until signature",
        TABLES[1]: "tenant key source effect why text actor created_at until ended_at ended_by",
    }
    for table, names in columns.items():
        tamper(store, f"CREATE TABLE kept AS SELECT * FROM {table}")
        for name in names.split():
            tamper(store, f"UPDATE {table} SET {name} = {value} WHERE seq = 1")
            right = name in ("event_id", "until", "ended_at", "ended_by", "actor", "signature")
            right = right and (value == "NULL" or (name, value[0]) == ("signature", "x"))
            expected = f"row 1 of {table}: its {name} is not as ragguard writes it"
            assert (expected in findings(store)) != right, (table, name)
            tamper(store, f"DELETE FROM {table}", f"INSERT INTO {table} SELECT * FROM kept")
        tamper(store, "DROP TABLE kept")
    assert findings(store) == ()


@pytest.mark.parametrize("value", ["", "no time", "2026-13-01 00:00:00", "9" * 5000, "[]"])
def test_times_that_are_none(store, value):
    if not store._database.on_sqlite:
        pytest.skip("a column of PostgreSQL holds values of its type alone")
    for table, column in [(TABLES[0], "until"), (TABLES[0], "created_at"), (TABLES[1], "until")]:
        tamper(store, f"UPDATE {table} SET {column} = :value WHERE seq = 1", value=value)
        assert f"row 1 of {table}: its {column} is not as ragguard writes it" in findings(store)


@pytest.mark.slow
@pytest.mark.parametrize("value", ["infinity", "-infinity", "20000-01-01", "0044-03-15 BC"])
def test_times_that_no_calendar_has(store, value):
    if store._database.on_sqlite:
        pytest.skip("SQLite takes them for other times, or for none")
    tamper(store, f"UPDATE ragguard_quarantine SET until = '{value}' WHERE seq = 1")
    expected = "row 1 of ragguard_quarantine: its until is not as ragguard writes it"
    assert expected in findings(store)


@pytest.mark.slow
@pytest.mark.parametrize("value", ["", "[", "{}", "null", "5", '"ann"', "[1]", "[[]]", "[" * 10**5])
def test_reporters_that_are_none(store, value):
    tamper(store, "UPDATE ragguard_quarantine SET reporters = :value", value=value)
    found = [one for one in findings(store) if "its reporters is not" in one]
    assert len(found) == 2


def test_the_check_goes_on_with_the_rest(store):
    tamper(
        store,
        "UPDATE ragguard_quarantine SET reporters = '[' WHERE seq = 1",
        "UPDATE ragguard_quarantine SET reason = 'an error' WHERE seq = 2",
        "UPDATE ragguard_allowances SET why = 'mine' WHERE seq = 2",
    )
    b, forum = content_key("b")[:12], content_key("forum")[:12]
    found = findings(store)
    assert any(one.startswith(f"quarantine {b} is quarantined, but not as row 2") for one in found)
    assert any(one.startswith(f"allow-list {forum} is allowed, but not as row 4") for one in found)


def test_a_row_behind_another_one_of_the_same_number(store):
    without_constraints(store)
    columns = "seq, tenant, key, passage_id, text, reason, status, created_at, updated_at, changed"
    hidden = "1, '', :key, 'p', 'honest', 'so', 'released', created_at, created_at, 1"
    tamper(
        store,
        f"INSERT INTO ragguard_quarantine ({columns}, reporters, lanes)"
        f" SELECT {hidden}, '[]', '' FROM ragguard_quarantine WHERE seq = 1",
        key=content_key("honest"),
    )
    (found,) = findings(store)
    assert found.startswith(f"quarantine {content_key('honest')[:12]} is released, and the trail")


def test_a_row_without_a_number(store):
    without_constraints(store)
    tamper(store, "UPDATE ragguard_quarantine SET seq = x'ff', reporters = '' WHERE seq = 1")
    tamper(store, "UPDATE ragguard_allowances SET seq = NULL, key = 'k' WHERE seq = 1")
    found = findings(store)
    assert any("of ragguard_quarantine: its reporters is not as" in one for one in found)
    assert "allow-list k is allowed, and the trail does not tell by whom" in found


def test_rows_of_the_trail_whose_number_is_none(store):
    without_constraints(store)
    rest = "at, tenant, actor, action, subject, details, key, mac FROM ragguard_trail WHERE seq = 2"
    for number in ("'no number'", "2.5"):
        tamper(store, f"INSERT INTO ragguard_trail SELECT {number}, {rest}")
    assert findings(store) == (
        "a row of the trail has no whole number, but 2.5",
        "a row of the trail has no whole number, but 'no number'",
    )


def test_what_cannot_be_read_is_said_to_be_so(store):
    if not store._database.on_sqlite:
        pytest.skip("PostgreSQL takes no text for a time")
    tamper(store, "UPDATE ragguard_quarantine SET created_at = 'zzz'")
    for read in (
        store.quarantine,
        lambda: store.set_quarantine_status(content_key("a"), "released"),
    ):
        with pytest.raises(StoreError, match=r"row that cannot be read.*audit verify"):
            read()
