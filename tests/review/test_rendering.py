"""Texts by strangers become HTML that says what they say and does nothing."""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("jinja2", reason="needs the extra review")

from ragguard.attribution import Attribution
from ragguard.review.rendering import EXCERPT, Sought, excerpt, marked, visible

_OWN = re.compile(r'</?mark(?: class="(?:answer|asked)")?>|</?span(?: class="(?:escape|rest)")?>')


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain, with accents: é ü 中 العربية", "plain, with accents: é ü 中 العربية"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("\u202egnp.exe\u2069", r"\u202egnp.exe\u2069"),
        ("a\u200bb\ufeff\x00\x1b[2J\r", r"a\u200bb\ufeff\x00\x1b[2J\r"),
        ("\ud800 \ue000 \u2028", r"\ud800 \ue000 \u2028"),
        ("\u3164\u2800\u115f\ufe0f\U000e0041", r"\u3164\u2800\u115f\ufe0f\U000e0041"),
        ("e\u0301 o\u0301\u0301\u0301\u0301", "e\u0301 o\u0301\u0301\u0301" + r"\u0301"),
    ],
)
def test_what_steers_or_hides_is_shown_as_its_escape(text, seen):
    assert visible(text) == seen


@given(st.text(st.characters(), max_size=60))
def test_the_html_says_what_the_text_says_and_has_no_tags_but_ours(text):
    sought = Sought(frozenset({"a", "lit"}), frozenset({"orrin"}))
    written = str(marked(text, sought))
    plain = _OWN.sub("", written)
    assert "<" not in plain
    assert ">" not in plain
    assert html.unescape(plain) == visible(text)
    assert not any(unicodedata.bidirectional(char) in _OVERRIDES for char in written)
    written.encode()


_OVERRIDES = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def test_what_states_the_answer_is_marked_in_disguise_too():
    sought = Sought.of("When was Orrin lit?", "It was lit in 1921.")
    assert (sought.answer, sought.question) == ({"1921"}, {"orrin", "lit"})
    shown = marked("Orrin lights: l\u0456t in <b>1921</b>", sought)
    assert str(shown) == (
        '<mark class="asked">Orrin</mark> lights: <mark class="asked">l\u0456t</mark> in '
        '<mark class="answer">&lt;b&gt;1921&lt;/b&gt;</mark>'
    )


def test_neighbours_are_marked_as_one():
    sought = Sought(frozenset({"ada", "crane"}))
    assert str(marked("by Ada Crane.", sought)) == 'by <mark class="answer">Ada Crane.</mark>'


def test_what_is_left_out_is_counted():
    assert str(marked("abcdef", limit=4)) == 'abcd<span class="rest"> … 2 more characters</span>'


def test_a_response_of_common_words_marks_its_own_words():
    assert Sought.of("Is it open?", "Yes").answer == {"yes"}


def test_of_a_long_answer_the_claim_that_was_traced_is_sought():
    long = "It was lit in 1921, by Ada Crane. Orrin has two inns."
    found = Attribution(
        "When was Orrin lit?", long, "m", [], [], 0, "unclear", "", {"claim": "1921"}
    )
    assert Sought.of(found.query, long, found).answer == {"1921"}
    odd = replace(found, details={"claim": 7})
    assert Sought.of(found.query, long, odd) == Sought.of(found.query, long)


REST = re.compile(r'<span class="rest"> … ([\d,]+) (?:more )?characters(?: … )?</span>')


def test_an_excerpt_has_the_beginning_and_where_the_answer_stands_after_it():
    sought = Sought(frozenset({"1921"}))
    text = "1921 " + "a " * 1_000 + "lit in 1921 " + "b " * 1_000
    shown = str(excerpt(text, sought))
    assert shown.startswith('<mark class="answer">1921</mark> a a ')
    assert 'a lit in <mark class="answer">1921</mark> b b ' in shown
    left = [int(count.replace(",", "")) for count in REST.findall(shown)]
    assert left == [1_652, 1_765]
    assert sum(left) + EXCERPT == len(text)


def test_an_excerpt_without_an_answer_has_both_ends():
    shown = str(excerpt("begins " + "<b>" * 1_000 + " ends"))
    assert shown.startswith("begins &lt;b&gt;")
    assert shown.endswith("&lt;b&gt; ends")
    assert REST.findall(shown) == ["2,412"]
    assert str(excerpt("x" * EXCERPT)) == "x" * EXCERPT


@given(st.text(st.characters(), max_size=60), st.integers(0, 700), st.integers(0, 700))
def test_an_excerpt_says_what_the_text_says_there(text, before, after):
    whole = "1921 " * before + text + " 1921" * after
    shown = str(excerpt(whole, Sought(frozenset({"1921", "lit"}))))
    plain = _OWN.sub("", REST.sub("\x00", shown))
    assert "<" not in plain
    assert ">" not in plain
    assert len(plain) <= len(html.escape(visible(text))) + EXCERPT + 20
    left = sum(int(count.replace(",", "")) for count in REST.findall(shown))
    assert left == max(0, len(whole) - EXCERPT)
