"""Shared by all tests: hypothesis without a clock, and audit stores on every database."""

import inspect
import logging
import os
import re
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, settings

from ragguard.audit import AuditStore, open_store
from ragguard.inline import calibration_bounds

# A machine that does other work as well may be slow at any moment: no deadline.
settings.register_profile(
    "ragguard",
    deadline=None,
    derandomize=True,  # a commit that passes once passes again: `thorough` searches
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough", settings.get_profile("ragguard"), max_examples=2000, derandomize=False
)
settings.register_profile("quick", settings.get_profile("ragguard"), max_examples=20)
settings.load_profile("ragguard")

# What the person who runs the tests has exported must not become their default proxy.
os.environ["RAGGUARD_CACHE"] = str(Path(__file__).parent / "no-cache")

POSTGRES = os.environ.get("RAGGUARD_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/test")


# What the contracts of `make lint` keep from every optional library; and what they keep from all
# but the driver of PostgreSQL, or asks a guard alone (`test_telemetry.py` has OpenTelemetry).
_KEPT_FROM = re.compile("(inline|text|admission|attribution)/")
_KEPT_FROM_BUT_ONE = re.compile(
    "(audit|background|demo|hostile)/|test_(guard|calibrator|determinism)"
)
# Of the others those that take long and read nothing else either.
_LONG = frozenset(
    """benchmarks/test_false_reports.py benchmarks/test_fit_class_bigram.py
    benchmarks/test_fit_suspicion.py benchmarks/test_forms.py benchmarks/test_make_calibration.py
    benchmarks/test_near_copies.py cli/test_audit.py cli/test_filter.py cli/test_lives.py
    cli/test_worker_command.py proxy/test_lexical.py""".split()
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--again",
        action="store_true",
        help="leave out what has run without the optional libraries, and runs alike with them",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--again"):
        alike = [item for item in items if _runs_alike(item)]
        config.hook.pytest_deselected(items=alike)
        items[:] = [item for item in items if not _runs_alike(item)]


def _runs_alike(item: pytest.Item) -> bool:
    path = item.path.relative_to(Path(__file__).parent).as_posix()
    if "importorskip" in inspect.getsource(item.module):  # it may have been skipped
        return False
    if _KEPT_FROM.match(path):
        return True
    # What asks PostgreSQL runs again, and what takes its driver without a server.
    if "postgres" in item.nodeid or (path == "audit/test_sql.py" and "sqlite" not in item.name):
        return False
    return path in _LONG or _KEPT_FROM_BUT_ONE.match(path) is not None


@pytest.fixture(scope="session")
def postgres_schemas() -> Iterator[Callable[[], str]]:
    """Make empty schemas in the test database; each is a URL of its own, dropped at the end.

    No commit waits for the disk: what a machine loses that stops is not tested.
    """
    psycopg = pytest.importorskip("psycopg", reason="needs psycopg")
    try:
        connection = psycopg.connect(POSTGRES, autocommit=True, connect_timeout=3)
    except psycopg.OperationalError:
        pytest.skip(f"no PostgreSQL answers at {POSTGRES}; set RAGGUARD_TEST_POSTGRES")
    schemas: list[str] = []

    def new_schema() -> str:
        schema = f"ragguard_test_{uuid.uuid4().hex[:12]}"
        connection.execute(f"CREATE SCHEMA {schema}")
        schemas.append(schema)
        separator = "&" if "?" in POSTGRES else "?"
        options = f"-csearch_path={schema} -csynchronous_commit=off"
        return f"{POSTGRES}{separator}options={quote(options, safe='')}"

    with connection:
        yield new_schema
        for schema in schemas:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def new_url(request, tmp_path) -> Callable[[str], str | None]:
    """Return a function that makes an empty database of a kind and returns its URL."""

    def make(kind: str) -> str | None:
        if kind == "memory":
            return None
        if kind == "sqlite":
            return str(tmp_path / f"{uuid.uuid4().hex[:12]}.db")
        return request.getfixturevalue("postgres_schemas")()

    return make


SQL_KINDS = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(params=["memory", *SQL_KINDS])
def new_store(request, new_url) -> Iterator[Callable[[], AuditStore]]:
    """Return a function that opens a new, empty store; in memory, SQLite and PostgreSQL."""
    opened: list[AuditStore] = []
    if request.param == "postgres":
        request.getfixturevalue("postgres_schemas")

    def make() -> AuditStore:
        opened.append(open_store(new_url(request.param)))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(new_store) -> AuditStore:
    """An empty store; in memory, SQLite and PostgreSQL."""
    return new_store()


@pytest.fixture(params=SQL_KINDS)
def sql_url(request, new_url) -> str:
    """The URL of an empty database; SQLite and PostgreSQL."""
    return new_url(request.param)


@pytest.fixture
def open_sql(sql_url) -> Iterator[Callable[[], AuditStore]]:
    """Return a function that opens the database of `sql_url` once more."""
    opened: list[AuditStore] = []

    def make() -> AuditStore:
        opened.append(open_store(sql_url))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture(scope="session", autouse=True)
def _reference_attacks_are_scored_once() -> Iterator[None]:
    # Every calibration is held to them, and no test has others, or other weights.
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            calibration_bounds, "reference_scores", cache(calibration_bounds.reference_scores)
        )
        yield


@pytest.fixture(autouse=True)
def _what_is_logged() -> Iterator[None]:
    # Commands silence the log of their own process; tests share theirs with all others.
    logger = logging.getLogger("ragguard")
    before = logger.level
    yield
    logger.setLevel(before)
