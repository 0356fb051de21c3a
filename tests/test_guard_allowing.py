"""A false positive is allowed, and stays so: everywhere, and whatever is reported."""

import pickle
import time
from datetime import UTC, datetime, timedelta

import pytest

from ragguard import Guard, Passage
from ragguard.background import Policy

QUESTION = "When was the lighthouse of Marrow Bay built?"
PAGE = f"{QUESTION} The lighthouse of Marrow Bay was built in 1911."
QUIET = ["Wool was sold on Mondays.", "A mill stood by the ford.", "The tide turns at noon."]
WAIT = 60.0


def dropped(guard, page=PAGE):
    return [passage.text for passage in guard.filter(QUESTION, [page, *QUIET]).dropped]


@pytest.fixture(params=["memory", "sqlite"])
def url(request, tmp_path):
    return None if request.param == "memory" else str(tmp_path / "audit.db")


def test_the_life_of_a_false_positive(url):
    with Guard(store=url) as guard:
        assert dropped(guard) == [PAGE]
        guard.allow(Passage(PAGE), why="our own page", actor="bo")
        verdict = guard.filter(QUESTION, [PAGE, *QUIET])
        assert verdict.dropped == []
        assert verdict.evidence[0].signal == "allowed"
        (listed,) = guard.allowed()
        assert (listed.why, listed.actor) == ("our own page", "bo")
        if url is not None:
            with Guard(store=url) as other:
                assert dropped(other) == []
        guard.disallow(Passage(PAGE))
        assert dropped(guard) == [PAGE]


async def test_sync_and_async_alike(url):
    with Guard(store=url) as guard:
        guard.allow(Passage(PAGE), why="our own page")
        assert (await guard.afilter(QUESTION, [PAGE, *QUIET])).dropped == []
        assert guard.filter_batch([(QUESTION, [PAGE, *QUIET])])[0].dropped == []


@pytest.mark.slow
def test_a_source_and_an_end():
    with Guard() as guard:
        page = Passage(PAGE, metadata={"source": "handbook"})
        until = datetime.now(UTC) + timedelta(seconds=0.3)
        guard.allow("handbook", why="ours", until=until)
        assert dropped(guard, page) == []
        assert dropped(guard) == [PAGE]
        time.sleep(0.4)
        assert dropped(guard, page) == [PAGE]
        assert guard.allowed() == []


def test_released_means_allowed():
    with Guard() as guard:
        guard.attribution(guard.report(QUESTION, "1911", passages=[PAGE, *QUIET]), timeout=WAIT)
        assert guard.store.quarantine_keys()
        guard.release(Passage(PAGE))
        assert dropped(guard) == []
        guard.attribution(guard.report(QUESTION, "in 1911", passages=[PAGE, *QUIET]), timeout=WAIT)
        assert dropped(guard) == []
        assert pickle.loads(pickle.dumps(guard)).filter(QUESTION, [PAGE, *QUIET]).dropped == []


@pytest.mark.parametrize("how", ["trust", "protect", "allow", "protect the page"])
def test_what_is_protected_goes_into_quarantine_by_a_person_only(how):
    page = Passage(PAGE, metadata={"source": "handbook"})
    policy = Policy("auto")
    with Guard(policy=policy, trust=["handbook"] if how == "trust" else None) as guard:
        if how == "protect the page":
            guard.protect(page, why="ours")
        elif how != "trust":
            getattr(guard, how)("handbook", why="ours")
        guard.attribution(guard.report(QUESTION, "1911", passages=[page, *QUIET]), timeout=WAIT)
        (entry,) = guard.proposals()
        assert "allowed or protected" in entry.reason
        assert guard.store.quarantine_keys() == frozenset()
        assert dropped(guard, page) == []
        guard.confirm(entry)
        assert guard.store.quarantine_keys() == {entry.key}


def test_a_copy_in_another_process_has_what_was_allowed():
    with Guard() as guard:
        guard.allow(Passage(PAGE), why="ours")
        with pickle.loads(pickle.dumps(guard)) as copy:
            assert dropped(copy) == []
            assert [one.why for one in copy.allowed()] == ["ours"]
