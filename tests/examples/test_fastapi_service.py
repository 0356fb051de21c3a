"""The service answers whatever its store does."""

import importlib.util
import logging

import pytest

from ragguard.errors import StoreError
from tests.examples.test_examples import EXAMPLES

pytest.importorskip("fastapi")


@pytest.fixture
def service():
    spec = importlib.util.spec_from_file_location("service", EXAMPLES / "fastapi_service.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    module.guard.close()


@pytest.mark.slow
def test_a_query_is_answered_without_the_store(service, monkeypatch, caplog):
    from fastapi.testclient import TestClient

    def gone(_):
        raise StoreError("the store is gone")

    monkeypatch.setattr(service.guard.store, "add_answer", gone)
    with TestClient(service.app) as client, caplog.at_level(logging.WARNING):
        found = client.get("/answer", params={"question": service.target.text})
    assert found.status_code == 200
    assert found.json()["answer"] == service.target.incorrect_answer
    assert "mend the store: the store is gone" in caplog.text
