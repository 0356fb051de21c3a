"""Shorter turns while something works in the background, and the usual ones before and after."""

import os
import sys
import threading

import pytest

from ragguard import Guard
from ragguard.attribution.result import Attribution
from ragguard.background.sharing import rest_s, shared_interpreter


@pytest.fixture(autouse=True)
def usual():
    before = sys.getswitchinterval()
    yield before
    assert sys.getswitchinterval() == before
    sys.setswitchinterval(before)


def test_turns_are_short_until_the_last_block_ends(usual):
    with shared_interpreter():
        with pytest.raises(ValueError, match="x"), shared_interpreter():
            raise ValueError("x")
        assert sys.getswitchinterval() < usual
    assert sys.getswitchinterval() == usual


def test_turns_that_are_shorter_stay(usual):
    sys.setswitchinterval(1e-5)
    with shared_interpreter():
        assert sys.getswitchinterval() == pytest.approx(1e-5)
    assert sys.getswitchinterval() == pytest.approx(1e-5)
    sys.setswitchinterval(usual)


def test_the_child_of_a_fork_begins_anew(usual):
    with shared_interpreter():
        pid = os.fork()
        if pid == 0:
            with shared_interpreter():
                pass
            os._exit(abs(sys.getswitchinterval() - usual) > 1e-6)
        assert os.waitpid(pid, 0)[1] == 0


def test_an_attribution_shares(usual):
    seen = threading.Event()

    class Looks:
        def attribute(self, query, response, retrieve):
            if sys.getswitchinterval() < usual:
                seen.set()
            return Attribution(query, response, "looks", [], [], 0, "unclear", "so")

        async def aattribute(self, query, response, retrieve):
            return self.attribute(query, response, retrieve)

    with Guard(attributor=Looks()) as guard:
        guard.attribution(guard.report("who?", "me", passages=["a"]), timeout=60)
    assert seen.is_set()


def test_a_rest_is_in_proportion_to_the_work_and_bounded():
    assert rest_s(0.0) == 0.0
    assert rest_s(0.004) == pytest.approx(0.396)
    assert rest_s(60.0) == 1.0
