"""Processor time, in two halves."""

import pytest

from ragguard.inline.budget import Budget


class Clocks:
    """Both clocks, set by hand, in seconds."""

    def __init__(self, monkeypatch):
        self.wall = self.processor = 0.0
        monkeypatch.setattr("ragguard.inline.budget.perf_counter", lambda: self.wall)
        monkeypatch.setattr("ragguard.inline.budget.thread_time", lambda: self.processor)

    def work(self, seconds):
        self.wall += seconds
        self.processor += seconds


@pytest.fixture
def clocks(monkeypatch):
    return Clocks(monkeypatch)


def test_many_steps_spend_both_halves(clocks):
    budget = Budget(50.0)
    spent = []
    for _ in range(7):
        clocks.work(0.010)
        spent.append(budget.spent())
    # The third step ends the first half, the sixth the second.
    assert spent == [False] * 5 + [True] * 2


def test_one_long_step_ends_one_half_only(clocks):
    budget = Budget(50.0)
    clocks.work(10.0)
    assert not budget.spent()
    clocks.work(0.02)
    assert not budget.spent()
    clocks.work(10.0)
    assert budget.spent()


def test_waiting_is_not_work(clocks):
    budget = Budget(50.0)
    clocks.wall += 60.0
    assert not budget.spent()
    clocks.wall += 60.0
    assert not budget.spent()


def test_without_a_bound_it_is_never_spent(clocks):
    budget = Budget()
    clocks.work(1e9)
    assert not budget.spent()
