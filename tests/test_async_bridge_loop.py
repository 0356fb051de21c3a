"""One event loop for whatever is awaited from synchronous code."""

import asyncio
import os
import threading

import pytest

from ragguard.async_bridge import BackgroundLoop
from tests.forks import child_goes_on


async def here():
    return asyncio.get_running_loop(), threading.current_thread().name


def test_what_is_awaited_runs_on_one_loop_in_a_thread_of_that_name():
    ours, other = BackgroundLoop("ours"), BackgroundLoop("other")
    loop, name = ours.resolved(here())
    assert name == "ours"
    assert ours.resolved(here())[0] is loop
    assert other.resolved(here())[0] is not loop


def test_what_cannot_be_awaited_comes_back():
    loop = BackgroundLoop("ours")
    assert loop.resolved(3) == 3
    assert loop.resolved(None) is None


def test_errors_come_through():
    async def failing():
        raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        BackgroundLoop("ours").resolved(failing())


def test_what_runs_on_one_loop_may_wait_for_another():
    ours, other = BackgroundLoop("ours"), BackgroundLoop("other")

    async def asks():
        return other.resolved(here())[1]

    assert ours.resolved(asks()) == "other"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_process_has_a_loop_of_its_own():
    loop = BackgroundLoop("ours")
    loop.resolved(here())
    child = os.fork()
    if child == 0:
        os._exit(0 if loop.resolved(here())[1] == "ours" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_goes_on_though_a_thread_held_the_lock_at_the_fork():
    loop = BackgroundLoop("ours")
    assert child_goes_on(loop._lock, lambda: loop.resolved(here())[1] == "ours")
