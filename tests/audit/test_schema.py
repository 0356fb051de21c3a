"""The schema: what a new database gets, and how one of an earlier release is moved on."""

import importlib.util
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import MetaData, NullPool, create_engine, inspect, text

from ragguard.audit import open_store, schema
from ragguard.audit.database import Database
from ragguard.audit.engines import store_url
from ragguard.audit.models import Base
from ragguard.errors import StoreError
from tests.audit.conftest import in_threads

RELEASED = Path(__file__).parent / "released"
_spec = importlib.util.spec_from_file_location("make", RELEASED / "make.py")
made = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(made)
NEXT = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "9.0.0", "{head}"


def upgrade():
    op.add_column("ragguard_counters", sa.Column("unit", sa.Text()))
    {then}
"""


@pytest.fixture
def later(monkeypatch, tmp_path):
    """Return a function that makes this ragguard a later release, with a script of its own."""

    def release(then="pass"):
        folder = tmp_path / "versions"
        folder.mkdir(exist_ok=True)
        (folder / "v9_0_0.py").write_text(NEXT.format(head=first, then=then))
        monkeypatch.setattr(schema, "_VERSIONS", [*packaged, folder])
        monkeypatch.setattr(schema, "HEAD", "9.0.0")

    first, packaged = schema.HEAD, list(schema._VERSIONS)
    return release


def migrated(url, to="head"):
    """Make tables by the scripts alone, and return an engine."""
    from alembic import command

    engine = create_engine(store_url(url), poolclass=NullPool)
    config = schema.alembic_config()
    with engine.begin() as connection:
        made.first_tables(connection)
        config.attributes["connection"] = connection
        command.upgrade(config, to)
    return engine


def upgraded(url):
    """Move a database on, and return its schema before."""
    with closing(Database(url, any_schema=True)) as database:
        return database.upgrade()


def ours(name, kind="table", names=None):
    return kind != "table" or (name.startswith("ragguard_") and name != schema.VERSION_TABLE)


def differences(connection):
    """Return how the tables that are there differ from the models."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    options = {"include_name": ours}
    context = MigrationContext.configure(connection, opts=options)
    return compare_metadata(context, Base.metadata)


def shape(connection):
    """Return tables, columns, keys and indexes as the database describes them."""

    def sql(index):
        return {name: str(part) for name, part in index.get("dialect_options", {}).items()}

    there = inspect(connection)
    looks = (
        lambda name: [{**one, "type": str(one["type"])} for one in there.get_columns(name)],
        lambda name: [there.get_pk_constraint(name)],
        there.get_unique_constraints,
        there.get_foreign_keys,
        lambda name: [{**one, "dialect_options": sql(one)} for one in there.get_indexes(name)],
    )
    tables = filter(ours, there.get_table_names())
    return {table: [sorted(map(str, look(table))) for look in looks] for table in tables}


def test_the_scripts_make_what_the_models_say(new_url, sql_url):
    kind = "postgres" if sql_url.startswith("postgresql") else "sqlite"
    fresh = Database(new_url(kind))
    with migrated(sql_url).connect() as one, fresh.read() as session:
        other = session.connection()
        assert differences(one) == differences(other) == [], "run tests/audit/released/make.py"
        assert shape(one) == shape(other)
        assert shape(one).keys() == Base.metadata.tables.keys()
        assert schema.schema_version(session) == schema.HEAD
    fresh.close()
    open_store(sql_url).close()


def test_a_difference_would_be_seen(sql_url):
    with migrated(sql_url).begin() as connection:
        connection.execute(text("ALTER TABLE ragguard_counters ADD COLUMN unit TEXT"))
        connection.execute(text("DROP INDEX ragguard_verdicts_by_time"))
        assert {change[0] for change in differences(connection)} == {"remove_column", "add_index"}


def test_every_release_has_a_script_and_a_database():
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(schema.alembic_config())
    assert scripts.get_heads() == [schema.HEAD]
    released = {path.stem for path in RELEASED.glob("*.db")}
    assert released == {one.revision for one in scripts.walk_revisions()}


def put_back(asset, url):
    """Make a database of the asset's release with the asset's rows."""
    if not url.startswith("postgresql"):
        shutil.copy(asset, url)
        return
    tables, source = MetaData(), create_engine(f"sqlite:///{asset}", poolclass=NullPool)
    with migrated(url, asset.stem).begin() as there, source.connect() as here:
        tables.reflect(there, only=lambda name, _: ours(name))
        old = MetaData()
        old.reflect(here)
        for table in tables.sorted_tables:
            rows = here.execute(old.tables[table.name].select()).mappings().all()
            there.execute(table.insert(), [dict(row) for row in rows])


@pytest.mark.parametrize("asset", sorted(RELEASED.glob("*.db")), ids=lambda path: path.stem)
@pytest.mark.parametrize("further", [False, True])
def test_a_database_of_every_release_is_moved_on(asset, sql_url, later, further):
    if further:
        later()
    put_back(asset, sql_url)
    if asset.stem != schema.HEAD:
        with pytest.raises(StoreError, match="make a backup, and run `ragguard store upgrade`"):
            open_store(sql_url)
    database = Database(sql_url, any_schema=True)
    assert [database.upgrade(), database.upgrade()] == [asset.stem, schema.HEAD]
    with database.read() as session:
        assert bool(differences(session.connection())) == further
        for table in Base.metadata.tables:
            assert session.scalar(text(f"SELECT count(*) FROM {table}")) > 0
    database.close()
    store = open_store(sql_url)
    made.check(store)
    store.close()


def test_a_newer_database_is_refused(open_sql, sql_url, later):
    open_sql()
    engine = create_engine(store_url(sql_url), poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text("UPDATE ragguard_schema SET version_num = '9.0.0'"))
    with pytest.raises(StoreError, match=r"schema 9\.0\.0.*upgrade ragguard-middleware"):
        open_sql()
    with pytest.raises(StoreError, match="`ragguard store upgrade`"):
        upgraded(sql_url)
    later()
    open_sql()


@pytest.mark.parametrize("statement", ["DROP TABLE ragguard_schema", "DELETE FROM ragguard_schema"])
def test_tables_that_do_not_say_their_schema(open_sql, sql_url, statement):
    open_sql()
    with create_engine(store_url(sql_url), poolclass=NullPool).begin() as connection:
        connection.execute(text(statement))
    with pytest.raises(StoreError, match="before the first release"):
        open_sql()
    with pytest.raises(StoreError, match="before the first release"):
        upgraded(sql_url)


def test_a_step_that_fails_leaves_everything_as_it_was(open_sql, sql_url, later):
    open_sql().add_counts({"queries": 3})
    later('op.execute("SELECT * FROM nowhere")')
    database = Database(sql_url, any_schema=True)
    with pytest.raises(StoreError, match="nowhere"):
        database.upgrade()
    with database.read() as session:
        assert schema.schema_version(session) != schema.HEAD
        assert "unit" not in str(shape(session.connection()))
    database.close()


def test_two_that_upgrade_at_once(open_sql, sql_url, later):
    open_sql()
    later()
    found = []

    in_threads(lambda _: found.append(upgraded(sql_url)), 2)
    # Which of the two comes back first is up to the threads.
    assert len(found) == 2
    assert found.count(schema.HEAD) == 1


def test_a_path_with_signs_that_alembic_reads(tmp_path, later):
    folder = tmp_path / "50% of\\it"
    folder.mkdir()
    open_store(folder / "audit.db").close()
    later()
    assert upgraded(str(folder / "audit.db")) != schema.HEAD


def test_tables_that_another_process_makes_between_two_looks_are_no_old_ones(
    sql_url, open_sql, monkeypatch
):
    looked = []

    def looking(connection):
        there = inspect(connection)
        has_table = there.has_table

        def look(name):
            found = has_table(name)
            looked.append(name)
            if len(looked) == 1:
                open_sql()
            return found

        monkeypatch.setattr(there, "has_table", look)
        return there

    monkeypatch.setattr(schema, "inspect", looking)
    store = open_store(sql_url)
    assert len(looked) > 2
    assert store.counts() == {}
    store.close()
