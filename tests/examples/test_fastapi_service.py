"""The service answers whatever its store does."""

import importlib.util
import logging

import pytest

from ragguard.errors import EventFailedError, EventLostError, StoreError
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


async def test_what_could_not_be_recorded_is_counted_and_told_once(service, monkeypatch, caplog):
    def gone(_):
        raise StoreError("the store is gone")

    with caplog.at_level(logging.WARNING):
        with monkeypatch.context() as patched:
            patched.setattr(service.guard.store, "add_answer", gone)
            for _ in range(3):
                await service.record("q", "a", [])
        await service.record("q", "a", [])
        await service.record("q", "a", [])
    assert caplog.messages == [
        "no report of such answers will count; mend the store: the store is gone",
        "answers are recorded again; 3 were not",
    ]


@pytest.fixture
def client(service, monkeypatch):
    from fastapi.testclient import TestClient

    monkeypatch.setenv("SERVICE_TOKENS", "operator:another")
    with TestClient(service.app, headers={"Authorization": "Bearer another"}) as made:
        yield made


@pytest.mark.parametrize("wait", ["nan", "inf", "-1", "61"])
def test_a_wait_that_is_none_is_refused(client, wait):
    assert client.get("/reports/x", params={"wait": wait}).status_code == 422


@pytest.mark.parametrize(("error", "status"), [(EventFailedError, 409), (EventLostError, 404)])
def test_what_has_no_outcome_says_why(client, service, monkeypatch, error, status):
    def fails(*_, **__):
        raise error("so")

    monkeypatch.setattr(service.guard, "attribution", fails)
    found = client.get("/reports/x", params={"wait": 1})
    assert (found.status_code, found.json()) == (status, {"detail": "so"})


def test_a_proposal_is_confirmed_by_its_key_alone(client, service):
    key = service.guard.quarantine("The pier is of oak.", why="it lies").key
    service.guard.quarantine(service.Passage("Geese nest.", id=key), why="it is named so")
    assert client.post(f"/proposals/{key}/confirm").json() == {"status": "confirmed"}
    assert client.post(f"/proposals/{key[:12]}/confirm").status_code == 404
