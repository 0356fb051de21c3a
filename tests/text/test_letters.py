"""Letters of texts: one way to read them for short and long ones, in bounded room."""

import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragguard.content import content_keys
from ragguard.text.characters import FOLDED_WORDS, respelled
from ragguard.text.letters import CURRENCY, RAISED, VERDICTS, letters_of, letters_whole

EIGHTEEN = "\ufdfa"  # Arabic ligature: eighteen letters
MOST = 36 * 20_000


def told(sign):
    if sign in "\u2212\u2013":
        return "-"
    is_told = sign > "\x7f" and re.fullmatch(f"[\u00b1\u2030{CURRENCY}{RAISED}{VERDICTS}]", sign)
    return f"${ord(sign):x}$" if is_told else sign


def between(text):
    """Signs that count only where they stand."""
    for at, sign in enumerate(text):
        before, after = text[at - 1 : at], text[at + 1 : at + 2]
        number = before.isdecimal() and after.isdecimal()
        counts = (sign in "/,:*" and number) or (sign == "!" and after == "=")
        yield f"${ord(sign):x}$" if counts else told(sign)


def reference(text):
    text = text.translate({wide: chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)})
    read = respelled("".join(between(text)), FOLDED_WORDS).encode().lower()
    kept = "+-<>=%$.#"
    return bytes(one for one in read if one > 127 or chr(one).isalnum() or chr(one) in kept)


@given(st.lists(st.text(max_size=40), min_size=1, max_size=5))
def test_letters_are_those_of_the_definition(texts):
    assert [letters_whole(text) for text in texts] == [reference(text) for text in texts]
    alone = [letters_of([text])[0] for text in texts]
    assert letters_of(texts) == alone


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.text(min_size=1, max_size=30), st.integers(1, 12_000), st.sampled_from(["", " - ", "\n"]))
def test_a_long_text_has_the_letters_of_its_parts(part, times, between):
    long, short = between.join([part] * times), letters_of([part])[0]
    assert letters_of([long, "x"]) == [short * times, b"x"]
    assert letters_whole(long) == reference(long)


@pytest.mark.slow
def test_of_very_many_letters_a_change_in_the_middle_tells_and_white_space_does_not():
    words = [f"{number:x} " for number in range(400_000)]
    text, spaced = "".join(words), " ".join(words)
    (one, other) = letters_of([text, spaced])
    assert one == other
    assert len(one) == 2 * MOST + 16 + 2
    words[200_000] = "zz"
    (changed,) = letters_of(["".join(words)])
    assert changed != one
    assert changed[:MOST] == one[:MOST]
    assert changed[-MOST:] == one[-MOST:]
    assert len(set(content_keys([text, spaced, "".join(words)]))) == 2


@pytest.mark.slow
def test_room_for_the_letters_of_a_text_has_a_bound():
    texts = [EIGHTEEN * 500_000 + str(number) for number in range(3)]  # 18 MB of letters each
    tracemalloc.start()
    try:
        keys = content_keys(texts)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(set(keys)) == 3
    assert peak < 24_000_000
