"""Text that no person wrote: soup, key words, typing errors."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.class_bigram import (
    OTHER_SCRIPT,
    SHAPES,
    UNITS,
    ClassBigram,
    WordClasses,
    class_bigram,
    shape,
)
from ragguard.inline.features.gibberish import unnaturalness
from ragguard.text import tokens

A, B = SHAPES, SHAPES + 1

NATURAL = (
    "The ferry to the outer islands leaves the harbour twice a day in summer. It takes about "
    "forty minutes, and passengers are asked to be at the pier a quarter of an hour before it "
    "sails. In winter there is only one crossing, which may be cancelled when the wind is strong."
)
SOUP = (
    "violet senate kidney tobacco apparently drafted sofa julian theorem pencil whom striker "
    "gravel molecule thirteen canal blonde sincerely parish vector"
)
KEY_WORDS = (
    "ferry outer islands harbour timetable summer minutes passengers pier quarter winter "
    "crossing cancelled wind strong ticket price booking departure arrival schedule"
)
MISSPELT = (
    "teh ferrry to tehe outter ilsands leavs thw harbor twoce a dya in sumemr it taeks abuot "
    "fourty mintues adn pasengers aer askde ot bee at hte piier a quater off an huor befroe"
)


def model(**pairs):
    """The words "a" and "b", with the given oddness in nats of the pairs of their letters."""
    oddness = np.zeros((256, 256), dtype=np.int32)
    for (first, second), nats in pairs.items():
        oddness["ab".index(second) + SHAPES, "ab".index(first) + SHAPES] = nats * UNITS
    return ClassBigram(WordClasses({"a": A, "b": B}), oddness.ravel())


def soup(text, **pairs):
    return unnaturalness(text.split(), model(**pairs)).soup


def test_the_oddest_stretch_by_hand():
    pairs = {"ab": 4, "ba": -1, "aa": -8}
    # 4 - 1 + 4 nats: a natural pair within a stretch does not end it.
    assert soup("a b a b", **pairs) == 7 / (7 + 32)
    # 4 | -1 -8 | 4: what stands between the two outweighs them.
    assert soup("a b a a b", **pairs) == 4 / (4 + 32)
    assert soup("a a a", **pairs) == 0.0


def test_the_order_of_a_pair_counts():
    assert soup("a b", ab=32) == 0.5
    assert soup("b a", ab=32) == 0.0


@pytest.mark.parametrize("words", [[], ["a"], ["zzyzx"]])
def test_a_word_alone_is_natural(words):
    assert unnaturalness(words) == (0.0, 0.0)


def test_misspelt_by_hand():
    known = model()
    # Neither numbers nor other scripts count as misspelt.
    words = ["a"] * 20 + ["thw", "wihch", "mousqe", "kowledgable", "1874", "3rd", "\u6771\u4eac"]
    assert unnaturalness(words, known).misspelt == 4 / 27
    # A short text has not words enough for a share.
    assert unnaturalness(["thw", "wihch"], known).misspelt == 2 / 20


def slow_soup(words, known):
    """The largest sum over any stretch, from its definition."""
    table = known.oddness.reshape(256, 256)
    odd = [int(table[known.classes[b], known.classes[a]]) for a, b in pairwise(words)]
    sums = [sum(odd[i:j]) for i in range(len(odd)) for j in range(i + 1, len(odd) + 1)]
    most = max([0, *sums])
    return most / (most + 32 * UNITS)


LISTED = sorted(class_bigram().classes)[::1600]


@given(
    st.lists(st.sampled_from([*LISTED, "the", "of", "thw", "1874", "\u6771\u4eac"]), max_size=25)
)
def test_as_the_definition_says(words):
    assert unnaturalness(words).soup == slow_soup(words, class_bigram())


@given(st.text(st.characters(exclude_categories=())))
def test_any_text(text):
    found = unnaturalness(tokens(text))
    assert 0.0 <= found.soup < 1.0
    assert 0.0 <= found.misspelt <= 1.0


@given(st.lists(st.sampled_from(LISTED)), st.lists(st.sampled_from(LISTED)))
def test_text_around_it_hides_no_soup(before, after):
    words = tokens(SOUP)
    assert unnaturalness([*before, *words, *after]).soup >= unnaturalness(words).soup


@given(st.text(min_size=1))
def test_every_word_has_a_shape(word):
    assert 0 <= shape(word) < SHAPES


def test_other_scripts_say_nothing():
    words = tokens("\u0928\u0947\u092a\u093e\u0932 \u0916\u0941\u0932\u093e " * 40)
    assert unnaturalness(words) == (0.0, 0.0)
    table = class_bigram().oddness.reshape(256, 256)
    assert not table[OTHER_SCRIPT].any()
    assert not table[:, OTHER_SCRIPT].any()


def test_the_shipped_model_tells_soup_from_language():
    natural = unnaturalness(tokens(NATURAL))
    assert natural.soup < 0.2
    assert natural.misspelt < 0.05
    for text in (SOUP, KEY_WORDS, f"{SOUP}. {NATURAL}", f"{NATURAL} {SOUP}"):
        assert unnaturalness(tokens(text)).soup > 2 * natural.soup
        assert unnaturalness(tokens(text)).soup > 0.3
    assert unnaturalness(tokens(MISSPELT)).misspelt > 0.4


def test_words_in_another_order_are_less_natural():
    words = tokens(NATURAL)
    shuffled = Random(0).sample(words, len(words))
    assert unnaturalness(shuffled).soup > unnaturalness(words).soup


def test_the_shipped_model():
    known = class_bigram()
    assert known.oddness.shape == (256 * 256,)
    assert np.abs(known.oddness).max() <= 127
    assert set(known.classes.values()) <= set(range(SHAPES, 256))
    # Words are looked up as they are written after folding.
    assert all(tokens(word) == [word] for word in known.classes)
