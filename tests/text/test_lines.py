"""Short lines in front of a text and behind it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.text.lines import body, first_lines, last_lines, list_mark, unwrapped

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


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("Each has a wick.", ""),
        ("[12] Each has a wick.", "[12] "),
        ("(1)\nEach has a wick.", "(1)\n"),
        ("3) Each", "3) "),
        ("Document 4. Each", "Document 4. "),
        ("\u2022 1. Each", "\u2022 1. "),
        (". Each has a wick", ". "),
        ("1874. Each has a wick.", ""),
        ("2.1 Each has a wick.", ""),
        ("[wiki] Each has a wick.", ""),
        ("**Each** has a wick.", ""),
        ("...", ""),
        ("7. ", ""),
        ("  Each", ""),
    ],
)
def test_a_list_mark_by_hand(text, mark):
    assert list_mark(text) == len(mark)


def test_lines_that_were_broken_at_a_width_are_joined():
    assert unwrapped("The lamp\nwas lit.\nAnn did it.\n\u0442\u0430\u043a") == (
        "The lamp was lit.\nAnn did it. \u0442\u0430\u043a"
    )


@given(st.text(alphabet="ab .\n1[]", max_size=80))
def test_they_are_parts_of_the_text(text):
    assert text.startswith(first_lines(text))
    assert text.endswith(last_lines(text))
    assert body(text) in text
