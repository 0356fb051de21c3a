import numpy as np

from ragguard.inline.near_copies import BloomFilter


def drawn(seed: int, size: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**31, size).astype(np.uint32)


def test_what_is_in_it_passes_and_few_others_do():
    held, others = drawn(0, 10_000), drawn(1, 100_000)
    found = BloomFilter.of(held)
    assert np.array_equal(found.passing(held), np.arange(len(held)))
    assert len(found.passing(others)) < 0.01 * len(others)
    full = found.grown(drawn(2, found.room - found.held))
    assert full.held == full.room
    assert len(full.passing(held)) == len(held)
    assert len(full.passing(others)) < 0.015 * len(others)


def test_it_is_not_changed_when_another_is_made_of_it():
    before = BloomFilter.of(drawn(0, 100))
    words = before.words.copy()
    before.grown(drawn(1, 100))
    assert np.array_equal(before.words, words)


def test_an_empty_one_lets_nothing_pass():
    nothing = BloomFilter.of(np.empty(0, np.uint32))
    assert len(nothing.passing(drawn(0, 1000))) == 0
    assert len(nothing.passing(np.empty(0, np.uint32))) == 0
