"""The threads in which coroutines wait for the store."""

import asyncio
import contextvars
import multiprocessing
import threading

import pytest

from ragguard import Guard, async_bridge
from ragguard.async_bridge import StoreThreads
from ragguard.audit.memory import MemoryStore
from ragguard.errors import StoreError

SET = "When does it leave?", ["The ferry leaves at nine.", "Geese nest on the fort."]


@pytest.fixture
def threads():
    made = StoreThreads()
    yield made
    made.close(10.0)


async def test_queries_do_not_wait_for_answers_that_wait_for_the_store():
    store, up = MemoryStore(), threading.Event()
    add = store.add_answer
    store.add_answer = lambda answer: up.wait(30.0) and add(answer)
    with Guard(store=store) as guard:
        answers = [
            asyncio.ensure_future(guard.aanswered(*SET[:1], f"At {i}.", passages=SET[1]))
            for i in range(100)  # more than asyncio has threads
        ]
        await asyncio.sleep(0.1)
        assert len((await asyncio.wait_for(guard.afilter(*SET), 10.0)).kept) == 2
        assert guard.health().threads.count("ragguard-answered_0") == 1
        assert not any(answer.done() for answer in answers)
        up.set()
        await asyncio.gather(*answers)
    assert not any(name.startswith("ragguard-answered") for name in guard.health().threads)


async def test_what_is_raised_reaches_the_caller_and_context_goes_along(threads):
    who = contextvars.ContextVar("who")
    who.set("ann")
    seen = []
    await threads.run(lambda: seen.append(who.get()))
    assert seen == ["ann"]
    with pytest.raises(ZeroDivisionError):
        await threads.run(lambda: 1 / 0)


async def test_no_more_waits_for_a_store_that_hangs_than_memory_has_room_for(threads, monkeypatch):
    monkeypatch.setattr(async_bridge, "_MOST_WAITING", 3)
    up = threading.Event()
    running = [asyncio.ensure_future(threads.run(up.wait, 30.0)) for _ in range(7)]
    await asyncio.sleep(0.1)
    with pytest.raises(StoreError, match=r"^3 answers wait for the audit store, and this one"):
        await threads.run(up.wait, 30.0)
    up.set()
    await asyncio.gather(*running)
    await threads.run(up.wait, 30.0)


async def test_closing_waits_for_what_was_begun_but_not_for_ever(threads):
    up, done = threading.Event(), []
    running = asyncio.ensure_future(threads.run(lambda: up.wait(30.0) and done.append(1)))
    await asyncio.sleep(0.1)
    threads.close(0.1)
    assert not done
    await threads.run(done.append, 2)  # as the store answers once the guard is closed
    up.set()
    await running
    assert done == [2, 1]


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_child_of_a_fork_has_threads_of_its_own(threads):
    def work():
        asyncio.run(asyncio.wait_for(threads.run(lambda: None), 10.0))

    async def busy():
        await asyncio.gather(*[threads.run(threading.Event().wait, 0.05) for _ in range(4)])

    asyncio.run(busy())
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(20.0)
    assert child.exitcode == 0
