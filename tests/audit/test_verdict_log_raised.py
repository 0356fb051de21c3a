"""Whoever asks for an exception gets one, and the row of the verdict is written all the same."""

import pytest

from ragguard import Guard
from ragguard.audit import MemoryStore, open_store
from ragguard.errors import EmbeddingError, JudgingError, StoreError
from tests.audit.conftest import entry
from tests.audit.test_verdict_log import QUESTION, QUIET, SET, written


class Down:
    name = "down"

    def embed(self, texts):
        raise EmbeddingError("no route to host")


async def one(guard):
    return guard.filter(QUESTION, SET, tenant="acme")


async def one_async(guard):
    return await guard.afilter(QUESTION, SET, tenant="acme")


async def batch(guard):
    return guard.filter_batch([(QUESTION, SET)], tenant="acme")


async def batch_async(guard):
    return await guard.afilter_batch([(QUESTION, SET)], tenant="acme")


@pytest.mark.parametrize("ask", [one, one_async, batch, batch_async])
async def test_what_is_raised_is_a_row(ask):
    seen = []
    made = Guard.ragdefender(embedder=Down(), on_error="raise", on_verdict=seen.append)
    with made as guard:
        guard.store.of_tenant("acme").add_quarantine([entry(QUIET[0])])
        with pytest.raises(EmbeddingError, match="no route to host"):
            await ask(guard)
        guard._parts.log.flush()
        (row,) = guard.store.of_tenant("acme").verdicts()
        guard._parts.counter.flush()
        counts = guard.store.counts()
        event = guard.report(QUESTION, "1911", tenant="acme", wait=True)
        assert guard.store.of_tenant("acme").event(event).passages == ()
    assert seen == []
    assert "no route to host" in row.error
    assert (row.kept, row.size, row.tenant) == (0, len(SET), "acme")
    outcomes = [one.outcome for one in row.passages]
    assert (outcomes.count("dropped"), outcomes.count("undecided")) == (1, len(SET) - 1)
    assert (counts["queries"], counts["errors"], counts["dropped"]) == (1, 1, 1)


def test_an_exception_of_somebody_elses_is_the_cause_and_a_row(monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("ragguard.inline.evidence.signals_in_time", broken)
    with Guard(on_error="raise") as guard:
        with pytest.raises(JudgingError, match="cannot be judged") as raised:
            guard.filter(QUESTION, SET)
        (row,) = written(guard)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert row.error == "ZeroDivisionError: by zero"


def test_a_row_is_there_when_the_guard_is_closed(tmp_path):
    path = str(tmp_path / "audit.db")
    with (
        Guard.ragdefender(embedder=Down(), on_error="raise", store=path) as guard,
        pytest.raises(EmbeddingError),
    ):
        guard.filter(QUESTION, SET)
    store = open_store(path)
    assert len(store.verdicts()) == 1
    store.close()


def test_a_store_that_is_down_does_not_change_what_is_raised():
    class Broken(MemoryStore):
        def add_verdicts(self, *_, **__):
            raise StoreError("down")

    with Guard.ragdefender(embedder=Down(), on_error="raise", store=Broken()) as guard:
        for _ in range(3):
            with pytest.raises(EmbeddingError):
                guard.filter(QUESTION, SET)
        guard._parts.log.flush()


def test_bad_arguments_are_no_row():
    with Guard(on_error="raise") as guard:
        with pytest.raises(ValueError, match="query must be a str"):
            guard.filter(3, SET)
        assert written(guard) == []
