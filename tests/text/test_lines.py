"""Short lines in front of a text and behind it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.text.lines import body, first_lines, last_lines

LONG = "word " * 21


@pytest.mark.parametrize(
    ("text", "front", "behind"),
    [
        ("Each has a wick.", "", ""),
        ("Manual\nEach has a wick.", "Manual\n", "\nEach has a wick."),
        (f"Manual\n\n{LONG}", "Manual\n\n", ""),
        (f"{LONG}\nPage 3", "", "\nPage 3"),
        ("\n\n", "", ""),
        ("Manual\n", "", "\n"),
        ("\nManual", "\n", ""),
    ],
)
def test_by_hand(text, front, behind):
    assert (first_lines(text), last_lines(text)) == (front, behind)


@pytest.mark.parametrize(
    ("text", "within"),
    [
        (f"---\ntitle: Notes\n---\n{LONG}\nPage 3", LONG),
        (f"This page is about lamps.\n{LONG}", f"This page is about lamps.\n{LONG}"),
        (f"Manual\nIt was lit.\nSource: x\n{LONG}", f"It was lit.\nSource: x\n{LONG}"),
        ("Manual\nPage 3", "Manual\nPage 3"),
    ],
)
def test_the_body_has_no_lines_around_it_that_are_no_sentences(text, within):
    assert body(text) == within


@given(st.text(alphabet="ab .\n", max_size=80))
def test_they_are_parts_of_the_text(text):
    assert text.startswith(first_lines(text))
    assert text.endswith(last_lines(text))
    assert body(text) in text
