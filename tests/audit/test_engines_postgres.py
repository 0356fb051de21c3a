"""An answer that PostgreSQL owes: it comes in time, or the call that waits for it fails."""

import socket
import time

import pytest

from ragguard.audit.engines import OverdueError, in_time

READ = 1


def asking(questions, answer="done"):
    """Wait as often as there are questions, note what was ready, and answer."""
    for question in questions:
        questions[question] = yield question
    return answer


def test_what_is_waited_for_and_what_is_ready_pass_through():
    questions = {"write": None, "read": None}
    steps = in_time(asking(questions), 60.0)
    assert [next(steps), steps.send(1)] == ["write", "read"]
    with pytest.raises(StopIteration) as end:
        steps.send(2)
    assert end.value.value == "done"
    assert questions == {"write": 1, "read": 2}


@pytest.mark.parametrize("ready", [0, READ])
def test_a_wait_that_lasts_too_long_ends_whatever_has_come(ready):
    steps = in_time(asking(dict.fromkeys(range(9))), 0.02)
    next(steps)
    steps.send(ready)
    time.sleep(0.03)
    with pytest.raises(OverdueError):
        steps.send(ready)


def test_an_answer_that_is_there_late_counts():
    steps = in_time(asking({"read": None}), 0.0)
    next(steps)
    time.sleep(0.01)
    with pytest.raises(StopIteration) as end:
        steps.send(READ)
    assert end.value.value == "done"


def test_what_the_server_refuses_is_raised_as_it_is():
    def refused():
        yield READ
        raise ValueError("no such table")

    steps = in_time(refused(), 60.0)
    next(steps)
    with pytest.raises(ValueError, match="no such table"):
        steps.send(READ)


def test_psycopg_resumes_what_waits_for_a_socket_that_says_nothing():
    waiting = pytest.importorskip("psycopg.waiting", reason="needs psycopg")

    def reading():
        while True:
            yield waiting.Wait.R

    near, far = socket.socketpair()
    began = time.monotonic()
    with near, far, pytest.raises(OverdueError):
        waiting.wait(in_time(reading(), 0.2), near.fileno(), interval=0.05)
    assert time.monotonic() - began < 5.0
