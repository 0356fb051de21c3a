"""`Guard.retry`: what failed, or was attributed with less, is attributed again."""

import time

import pytest

from ragguard import Guard, Passage
from ragguard.attribution.result import Attribution
from ragguard.errors import (
    AttributionPendingError,
    AttributionTimeoutError,
    EventFailedError,
    EventLostError,
    EventNotFoundError,
)

LONG = 60.0
PAGES = ["The ferry leaves at nine.", "Geese nest on the fort."]


class Attributor:
    """Says what it is told to, fails, or waits."""

    def __init__(self, says=None):
        self.says = says

    def attribute(self, query, response, retrieve):
        if self.says is None:
            raise ConnectionError("no model answers")
        return Attribution(query, response, "fake", [], [], 0, "model", self.says)


@pytest.fixture
def attributor():
    return Attributor()


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def guard(request, new_url, attributor, monkeypatch):
    monkeypatch.setattr("ragguard.background.threads._FIRST_RETRY_S", 0.001)
    with Guard(store=new_url(request.param), attributor=attributor) as made:
        made._parts.worker.retry_s = (0.001,)
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("tenant", [None, "acme"])
def test_an_event_that_failed_is_done_once_it_is_tried_again(guard, attributor, tenant):
    event = guard.report("when?", "at four", passages=PAGES, tenant=tenant)
    with pytest.raises(EventFailedError, match=r"no model answers.*`ragguard events retry`"):
        guard.attribution(event, timeout=LONG, tenant=tenant)
    attributor.says = "the model is back"
    assert guard.retry(event, tenant=tenant)
    assert guard.attribution(event, timeout=LONG, tenant=tenant).reason == "the model is back"
    if tenant is not None:
        with pytest.raises(EventNotFoundError):
            guard.retry(event)


@pytest.mark.slow
def test_what_is_done_is_attributed_anew_and_fails_if_that_fails(guard, attributor):
    attributor.says = "first"
    event = guard.report("when?", "at four", passages=PAGES)
    assert guard.attribution(event, timeout=LONG).reason == "first"
    attributor.says = "second"
    assert guard.retry(event)
    assert guard.attribution(event, timeout=LONG).reason == "second"
    attributor.says = None
    assert guard.retry(event)
    with pytest.raises(EventFailedError):
        guard.attribution(event, timeout=LONG)
    assert guard.store.attribution(event).reason == "second"


def test_while_it_waits_there_is_no_answer(store, attributor):
    attributor.says = "so"
    guard = Guard(store=store, attributor=attributor)
    event = guard.report("when?", "at four", passages=PAGES)
    guard.attribution(event, timeout=LONG)
    guard.close()  # nobody attributes any more
    assert guard.retry(event)
    assert not guard.retry(event)
    with pytest.raises(AttributionPendingError):
        guard.attribution(event)


def test_it_does_not_wait_after_a_failed_attempt(store, attributor):
    with Guard(store=store, attributor=attributor) as guard:
        guard._parts.worker.retry_s = (3600.0,)
        event = guard.report("when?", "at four", passages=PAGES)
        failed, deadline = False, time.monotonic() + LONG
        while not failed and time.monotonic() < deadline:
            with pytest.raises(AttributionTimeoutError):
                guard.attribution(event, timeout=0.01)
            failed = bool(guard.store.events()) and guard.store.event(event).failures == 1
        told = r"within 0\.01 s, an attempt failed \(ConnectionError: no model .*\) and is repeated"
        with pytest.raises(AttributionTimeoutError, match=told):
            guard.attribution(event, timeout=0.01)
        attributor.says = "the model is back"
        assert guard.retry(event)
        assert guard.attribution(event, timeout=LONG).reason == "the model is back"


def test_what_there_is_not(store):
    guard = Guard(store=store)
    with pytest.raises(EventNotFoundError, match="`ragguard events list`"):
        guard.retry("none")
    guard.close()
    lost = guard.report("when?", "at four", passages=PAGES)
    with pytest.raises(EventLostError):
        guard.retry(lost)


def test_a_knowledge_base_that_was_missing(attributor, tmp_path):
    path = tmp_path / "audit.db"
    attributor.says = "searched"
    with Guard(store=path, attributor=attributor) as without:
        event = without.report("when?", "at four", passages=[])
        assert "nothing to search" in without.attribution(event, timeout=LONG).reason
        with Guard(
            store=path, attributor=attributor, retrieve=lambda _, k: [*map(Passage, PAGES)][:k]
        ) as has_one:
            assert without.retry(event)
            assert has_one.attribution(event, timeout=LONG).reason == "searched"
