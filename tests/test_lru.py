"""What is remembered is bounded in bytes; the least recently used goes first."""

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.lru import LRU, FairLRU, Remembered, forget_all, on_forget
from tests.forks import child_goes_on

MOST = 10
KEYS = st.sampled_from("abcde")


def weigh(key, value):
    return value


@given(st.lists(st.tuples(KEYS, st.none() | st.integers(1, 12)), max_size=40))
def test_it_holds_what_a_list_in_order_of_use_would(steps):
    cache = LRU(MOST)
    plain = []
    for key, value in steps:
        if value is None:
            held = dict(plain).get(key)
            assert cache.get(key) == held
            if held is not None:
                plain = [*[one for one in plain if one[0] != key], (key, held)]
        else:
            cache.put(key, value, value)
            plain = [one for one in plain if one[0] != key]
            if value <= MOST:
                plain.append((key, value))
            while sum(size for _, size in plain) > MOST:
                plain.pop(0)
        assert [(key, value) for key, (value, _) in cache._entries.items()] == plain
        assert cache._bytes == sum(size for _, size in plain)
    cache.clear()
    assert cache._bytes == 0
    assert all(cache.get(key) is None for key in "abcde")


@given(st.lists(st.tuples(st.sampled_from("xyz"), KEYS, st.integers(1, 300)), max_size=60))
def test_no_owner_pushes_out_what_one_holds_who_has_less(steps):
    most, cache, owned = 640, FairLRU(640), {}
    for owner, key, size in steps:
        cache.put((owner, key), size, size)
        own = owned.setdefault(owner, {})
        own.pop(key, None)
        own[key] = size
        before = {name: sum(held.values()) for name, held in owned.items()}
        for name, held in owned.items():
            kept = [key for whose, key in cache.held() if whose == name]
            assert kept == list(held)[len(held) - len(kept) :]  # the last that it used
            owned[name] = {key: held[key] for key in kept}
        after = {name: sum(held.values()) for name, held in owned.items()}
        assert cache._bytes == sum(after.values()) <= most
        lost = [name for name in owned if after[name] < before[name]]
        assert bool(lost) == (sum(before.values()) > most)
        assert not lost or sum(after.values()) > most * 15 // 16 - 300  # and no more than must
        assert all(before[name] > most * 15 // 16 / len(owned) for name in lost)


def test_of_few_large_entries_no_more_goes_than_must():
    cache = FairLRU(640)
    for owner in "xyz":
        cache.put((owner, "a"), 1, 320)
    assert cache.held() == [("y", "a"), ("z", "a")]


def test_what_weighs_nothing_is_nobody_s_burden():
    cache = FairLRU(640)
    for owner, size in (("x", 0), ("y", 400), ("z", 300)):
        cache.put((owner, "a"), 1, size)
    assert cache.held() == [("x", "a"), ("z", "a")]


def test_what_owners_hold_is_counted_anew_when_all_is_forgotten():
    cache = FairLRU(640)
    cache.put(("x", "a"), 1, 600)
    cache.clear()
    cache.put(("y", "a"), 1, 600)
    cache.put(("y", "b"), 1, 600)
    assert cache.held() == [("y", "b")]


def lengths(asked):
    """Work out the lengths of texts, and note for which."""
    return Remembered(
        lambda texts: [asked.append(text) or len(text) for text in texts],
        max_bytes=2560,
        weigh=weigh,
    )


def test_an_answer_is_worked_out_once_until_it_is_forgotten():
    asked = []
    length = lengths(asked)
    assert length(["pier", "lamp"]) == [4, 4]
    assert length(["pier", "harbour", "lamp"]) == [4, 7, 4]
    assert asked == ["pier", "lamp", "harbour"]
    forget_all()
    assert length(["pier"]) == [4]
    assert asked == ["pier", "lamp", "harbour", "pier"]


def test_large_answers_do_not_push_out_the_others():
    asked = []
    length = lengths(asked)
    for text in ("x" * 11, "x" * 11, "x" * 10, "x" * 10):
        assert length([text]) == [len(text)]
    assert [len(text) for text in asked] == [11, 11, 10]


def test_caches_of_other_kinds_may_be_forgotten_as_well():
    calls = []
    on_forget(lambda: calls.append(1))
    forget_all()
    assert calls == [1]


@pytest.mark.parametrize("kind", [LRU, FairLRU])
def test_threads_share_it(kind):
    cache = kind(500)

    def use(first):
        for number in range(2000):
            size = 1 + (first * number) % 97
            key = ("xyz"[size % 3], size)
            if (value := cache.get(key)) is not None:
                assert value == size
            cache.put(key, size, size)

    threads = [threading.Thread(target=use, args=(first,)) for first in (1, 3, 5, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache._bytes == sum(size for _, size in cache._entries.values()) <= 500


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_goes_on_though_a_thread_held_the_lock_at_the_fork():
    cache = LRU(MOST)
    cache.put("a", 3, 3)

    def works():
        cache.put("b", 4, 4)
        return (cache._bytes, cache.get("a")) == (7, 3)

    assert child_goes_on(cache._lock, works)
