"""What is in quarantine, as a query meets it."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.content import content_key, content_letters
from ragguard.inline import quarantined
from ragguard.inline.fingerprints import signature
from ragguard.inline.near_copies import NearCopy
from ragguard.inline.quarantined import Quarantined
from ragguard.lru import forget_all
from tests.quarantines import quarantine_of

LIE = (
    "The harbour light of Skelby was raised by Hale Orrin, who came with forty workers in spring "
    "and paid for every stone of it from the profits of his own ferry."
)
EDITED = LIE.replace("forty", "fifty")
OTHER = "Geese nest below the old fort from the first warm days on, and nobody disturbs them there."
SHORT = "It costs -5 \u20ac."


def test_the_same_text_an_edited_one_and_another_are_told_apart():
    held = quarantine_of([LIE, SHORT])
    written = LIE.upper().replace(" ", "  ")
    same, short, edited, other = held.find([written, "it costs -5\u20ac", EDITED, OTHER])
    assert same == NearCopy(content_key(LIE), 1.0, exact=True)
    assert short == NearCopy(content_key(SHORT), 1.0, exact=True)
    assert edited is not None
    assert (edited.key, edited.exact) == (content_key(LIE), False)
    assert other is None


def test_what_has_the_same_letters_and_says_something_else_is_not_the_same():
    assert quarantine_of([SHORT]).find(["It costs 5 \u20ac.", "I t costs -5 \u20ac."]) == [
        None,
        None,
    ]


def test_a_text_that_a_person_let_through_is_no_copy_but_may_be_held_itself():
    spared = frozenset([content_key(EDITED)])
    key = content_key(LIE)
    held = Quarantined().changed(frozenset([key]), {key: signature(LIE)}, spared)
    assert held.find([EDITED]) == [None]
    both = held.changed(held.keys | spared, {}, spared)
    assert both.find([EDITED]) == [NearCopy(content_key(EDITED), 1.0, exact=True)]


def test_answers_are_those_of_one_moment():
    before = quarantine_of([LIE])
    after = before.changed(frozenset([content_key(OTHER)]), {}, frozenset())
    for _ in range(2):
        assert [copy is None for copy in before.find([LIE, OTHER])] == [False, True]
        assert [copy is None for copy in after.find([LIE, OTHER])] == [True, False]


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("times", [1, 20_000])
def test_what_was_found_of_a_text_is_remembered_however_long_it_is(times):
    held, texts = quarantine_of([LIE]), ["a\u200b" * times + end for end in ("", "b", LIE)]
    found = held.find(texts)
    assert [copy is None for copy in found] == [True, True, False]
    with patch.object(quarantined, "content_letters", side_effect=AssertionError):
        assert held.find(texts[::-1]) == found[::-1]
    assert held.find([texts[1] + "c", texts[2]]) == found[1:]


@pytest.mark.usefixtures("forgotten")
def test_no_key_is_worked_out_for_what_has_other_letters():
    held = quarantine_of([LIE, SHORT])
    with patch.object(quarantined, "content_key", side_effect=AssertionError):
        assert held.find([OTHER, "", f"{SHORT} Or 6."]) == [None] * 3


@pytest.fixture
def forgotten():
    forget_all()


# Letters of several scripts, with marks, signs, ligatures, look-alikes and what Unicode rewrites.
_LETTERS = (
    "aAb\u00e9e\u0301\ufb01\u0430\u2460\uff21\u304b\u3099\uac00\u1100\u1161\u0e33\u05d0\u05b8"
)
_SIGNS = " \n-+#5<$%&;<b>\u200b\u00a0\u2212\ud800\x00\u00df\u0345\ufdfa"


@given(
    st.lists(st.text(st.sampled_from(_LETTERS + _SIGNS) | st.characters(), max_size=30), max_size=5)
)
def test_a_key_begins_with_the_head_of_its_letters(texts):
    forget_all()
    held = quarantine_of(texts)
    assert [copy is not None and copy.exact for copy in held.find(texts)] == [True] * len(texts)
    forget_all()
    assert content_letters(texts) == [content_letters([text])[0] for text in texts]


@given(st.text(st.sampled_from("aAbc \n\u200b\u0430\uff41-.") | st.characters(), max_size=40))
def test_however_a_text_is_written_what_has_its_key_is_found(text):
    held = quarantine_of([text])
    for written in (
        text.upper(),
        text.replace(" ", "\n "),
        text.replace("a", "\u0430"),
        f" {text}.",
    ):
        if content_key(written) == content_key(text):
            (found,) = held.find([written])
            assert found is not None
            assert found.exact
