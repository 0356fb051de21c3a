"""Characters as a person reads them, one by one and in long texts."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.text.characters import FOLDED, FOLDED_LETTERS, FOLDED_WORDS, respelled

TABLES = (FOLDED, FOLDED_LETTERS, FOLDED_WORDS)
ANY = st.characters(exclude_categories=())


@given(st.lists(st.text(ANY) | st.text(st.characters(codec="ascii"))), st.integers(1, 300))
def test_a_text_is_read_as_its_characters_are_and_ascii_stays(parts, times):
    text = "".join(parts) * times
    for table in TABLES:
        one_by_one = {one: one if one.isascii() else table[ord(one)] for one in set(text)}
        assert respelled(text, table) == "".join([one_by_one[one] for one in text])
        assert respelled(text, table) == text.translate(table)


@pytest.mark.parametrize("part", ["a\u200b", "ab\u0301", "\u4e2d", "\u0628 ", "\n\u00e9\n"])
def test_a_text_of_many_runs_takes_few_calls_and_none_is_long(part):
    text = (part * 100_000)[:100_000]
    calls, longest = 0, 0

    def count(frame, event, called):
        nonlocal calls, longest
        if event == "c_call" and called.__name__ == "translate":
            calls, longest = calls + 1, max(longest, len(called.__self__))

    sys.setprofile(count)
    try:
        respelled(text, FOLDED_WORDS)
    finally:
        sys.setprofile(None)
    assert 0 < calls <= len(text) / 32 + 1
    assert longest < 5_000
