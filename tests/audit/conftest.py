"""What tests of the trail share: its key, entries, and changes by SQL behind its back."""

import pytest
from sqlalchemy import text

from ragguard.audit import QuarantineEntry
from ragguard.audit.trail import KEY, KEY_FILE, Keys
from ragguard.audit.trail_check import check
from ragguard.content import content_key

SECRET = "5" * 32
KEYS = Keys([SECRET])


@pytest.fixture
def signing(monkeypatch):
    """Have this process sign the trail."""
    monkeypatch.delenv(KEY_FILE, raising=False)
    monkeypatch.setenv(KEY, SECRET)


def entry(name, **fields):
    return QuarantineEntry(content_key(name), name, name, "so", **fields)


def tamper(store, *statements, **values):
    with store._database.write() as session:
        for statement in statements:
            session.execute(text(statement), values)


def findings(store, keys=KEYS, **options):
    return check(store, keys, **options).findings
