"""Words in a row that no sentence puts in a row."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest
import slow_signals
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
from ragguard.inline.features import SIGNALS, signal_matrix
from ragguard.inline.features.gibberish import gibberish, gibberish_of, runs, usual_gibberish
from ragguard.inline.tokens import TokenizedPassage, tokenize_passage, tokenize_query
from ragguard.lru import forget_all
from ragguard.text import tokens

A, B = SHAPES, SHAPES + 1

NATURAL = (
    "The ferry to the outer islands leaves the harbour twice a day in summer. It takes about "
    "forty minutes, and passengers are asked to be at the pier a quarter of an hour before it "
    "sails. In winter there is only one crossing, which may be cancelled when the wind is strong."
)
JUMBLE = (
    "violet senate kidney tobacco apparently drafted sofa julian theorem pencil whom striker "
    "gravel molecule thirteen canal blonde sincerely parish vector"
)
KEY_WORDS = (
    "ferry outer islands harbour timetable summer minutes passengers pier quarter winter "
    "crossing cancelled wind strong ticket price booking departure arrival schedule"
)


def model(**pairs):
    """The words "a" and "b", with the given oddness in nats of the pairs of their letters."""
    oddness = np.zeros((256, 256), dtype=np.int32)
    for (first, second), nats in pairs.items():
        oddness["ab".index(second) + SHAPES, "ab".index(first) + SHAPES] = nats * UNITS
    return ClassBigram(WordClasses({"a": A, "b": B}), oddness.ravel())


def of(text, **pairs):
    return gibberish(text.split(), model(**pairs))


def test_the_oddest_stretch_by_hand():
    pairs = {"ab": 4, "ba": -1, "aa": -8}
    # 4 - 1 + 4 nats: a natural pair within a stretch does not end it.
    assert of("a b a b", **pairs) == 7 / (7 + 32)
    # 4 | -1 -8 | 4: what stands between the two outweighs them.
    assert of("a b a a b", **pairs) == 4 / (4 + 32)
    assert of("a a a", **pairs) == 0.0


def test_the_order_of_a_pair_counts():
    assert of("a b", ab=32) == 0.5
    assert of("b a", ab=32) == 0.0


@pytest.mark.parametrize("words", [[], ["a"], ["zzyzx"]])
def test_a_word_alone_is_natural(words):
    assert gibberish(words) == 0.0


def slow_gibberish(words, known):
    """The largest sum over any stretch without a word of another script, from its definition."""
    table = known.oddness.reshape(256, 256)
    classes = [known.classes[word] for word in words]
    stretches = [classes[i : j + 1] for i in range(len(words)) for j in range(i + 1, len(words))]
    sums = [
        sum(int(table[b, a]) for a, b in pairwise(stretch))
        for stretch in stretches
        if OTHER_SCRIPT not in stretch
    ]
    most = max([0, *sums])
    return most / (most + 32 * UNITS)


LISTED = sorted(class_bigram().classes)[::1600]


@given(
    st.lists(st.sampled_from([*LISTED, "the", "of", "thw", "1874", "\u6771\u4eac"]), max_size=25)
)
def test_as_the_definition_says(words):
    assert gibberish(words) == slow_gibberish(words, class_bigram())


@given(st.text(st.characters(exclude_categories=())))
def test_any_text(text):
    assert 0.0 <= gibberish(tokens(text)) < 1.0


@given(st.lists(st.sampled_from(LISTED)), st.lists(st.sampled_from(LISTED)))
def test_text_around_it_hides_no_gibberish(before, after):
    words = tokens(JUMBLE)
    assert gibberish([*before, *words, *after]) >= gibberish(words)


@given(st.text(min_size=1))
def test_every_word_has_a_shape(word):
    assert 0 <= shape(word) < SHAPES


def signal_among(text, others):
    read = [tokenize_passage(one) for one in (text, *others)]
    found = signal_matrix(tokenize_query("violet vector ferry gate"), read, 1)
    slow = slow_signals.signals("violet vector ferry gate", [text, *others], 1)
    assert found[0, SIGNALS.index("gibberish")] == pytest.approx(slow[0]["gibberish"])
    return slow[0]["gibberish"]


def test_only_what_is_odder_than_its_company_counts():
    said = JUMBLE.split()
    alike = [f"{' '.join(Random(n).sample(said, len(said)))} ferry gate" for n in range(8)]
    natural = [f"{NATURAL} Part {n}." for n in range(8)]
    alone = signal_among(JUMBLE, [])
    assert alone > 0.5
    assert signal_among(JUMBLE, natural) == alone
    assert signal_among(JUMBLE, alike) == 0.0
    # Seven others are too few to tell, and so is less than half of them.
    assert signal_among(JUMBLE, alike[:7]) == alone
    assert signal_among(JUMBLE, [*alike[:5], *natural[:6]]) == alone


def test_what_is_usual_by_hand():
    passages = [TokenizedPassage((str(n),)) for n in range(8)]
    for odd, passage in zip((0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.9, 0.9), passages, strict=True):
        passage._kept[gibberish_of] = odd
    assert usual_gibberish(passages) == pytest.approx(2 * (0.25 - 0.15))
    assert usual_gibberish(passages[:7]) == 0.0
    assert usual_gibberish([*passages, *passages[4:6]]) == pytest.approx(0.3)
    assert usual_gibberish([*passages, *[passages[7]] * 8]) == 0.4


def test_other_scripts_say_nothing():
    words = tokens("\u0928\u0947\u092a\u093e\u0932 \u0916\u0941\u0932\u093e " * 40)
    assert gibberish(words) == 0.0
    table = class_bigram().oddness.reshape(256, 256)
    assert not table[OTHER_SCRIPT].any()
    assert not table[:, OTHER_SCRIPT].any()


def test_the_shipped_model_tells_gibberish_from_language():
    natural = gibberish(tokens(NATURAL))
    assert natural < 0.2
    for text in (JUMBLE, KEY_WORDS, f"{JUMBLE}. {NATURAL}", f"{NATURAL} {JUMBLE}"):
        assert gibberish(tokens(text)) > 2 * natural
        assert gibberish(tokens(text)) > 0.3


def test_words_in_another_order_are_less_natural():
    words = tokens(NATURAL)
    shuffled = Random(0).sample(words, len(words))
    assert gibberish(shuffled) > gibberish(words)


def test_the_shipped_model():
    known = class_bigram()
    assert known.oddness.shape == (256 * 256,)
    assert np.abs(known.oddness).max() <= 127
    assert set(known.classes.values()) <= set(range(SHAPES, 256))
    # Words are looked up as they are written after folding.
    assert all(tokens(word) == [word] for word in known.classes)


# In a retrieved set


QUESTION = "When was the lighthouse of Marrow Bay built?"
QUIET = ["Wool was sold on Mondays.", "A mill stood by the ford.", "The tide turns at noon."]


def first(query, passages):
    """Return the signals of the first passage that are not 0, by name."""
    read = [tokenize_passage(text) for text in passages]
    row = signal_matrix(tokenize_query(query), read, len(read))[0].tolist()
    return {name: value for name, value in zip(SIGNALS, row, strict=True) if value}


def test_it_counts_in_a_passage_that_holds_a_third_of_the_question():
    how_odd = gibberish(JUMBLE.split())
    assert how_odd > 0.3
    expected = min(1.0, (how_odd - 0.2) / 0.2)
    assert first("senate sofa canal", [JUMBLE, *QUIET])["gibberish"] == pytest.approx(expected)
    # One of two words that are equally rare is half of the question.
    rare = first("senate lighthouse", [JUMBLE, "A lighthouse.", *QUIET])
    assert rare["gibberish"] == pytest.approx(expected)
    assert first("lighthouse pier", [JUMBLE, *QUIET]) == {}


def test_a_run_alone_counts():
    text = f"The ferry leaves at noon. It is said that {JUMBLE}, and that the keeper slept."
    run = f"is said that {JUMBLE}".split()
    assert first("ferry senate", [text, *QUIET])["gibberish"] == pytest.approx(
        min(1.0, (gibberish(run) - 0.2) / 0.2)
    )


@pytest.mark.parametrize(
    "text",
    [
        JUMBLE.title(),
        JUMBLE.replace(" ", ", "),
        " ".join(f"{word} {number}" for number, word in enumerate(JUMBLE.split())),
        JUMBLE.replace(" ", "\n"),
    ],
)
def test_names_lists_and_tables_are_no_gibberish(text):
    assert runs(text) == []
    assert "gibberish" not in first("senate sofa canal", [text, *QUIET])


@pytest.mark.parametrize("text", ["a" * 300_000, "a " * 150_000, "a'" * 150_000, "a'a" * 100_000])
def test_it_is_linear_in_the_text(text):
    assert gibberish(runs(text)) < 1.0


@given(st.lists(st.lists(st.sampled_from(LISTED), min_size=3, max_size=6), max_size=5))
def test_a_stretch_ends_with_its_run(rows):
    text = ". ".join(" ".join(row) for row in rows)
    assert gibberish(runs(text)) == max([gibberish(row) for row in rows], default=0.0)


def test_how_a_passage_reads_is_found_once_until_it_is_forgotten(monkeypatch):
    calls = []

    def counted(said):
        calls.append(said)
        return gibberish(said)

    monkeypatch.setattr("ragguard.inline.features.gibberish.gibberish", counted)
    forget_all()
    for read in (1, 1):
        assert first("senate sofa", [JUMBLE])["gibberish"] > 0.0
        assert len(calls) == read
    forget_all()
    first("senate sofa", [JUMBLE])
    assert len(calls) == 2


def test_of_another_language_the_model_says_nothing():
    question = "Ai xay dung ngon hai dang nay"
    text = (
        "Ngon hai dang nay duoc xay dung vao nam 1874 boi chinh quyen, va nguoi canh giu song o do "
        "cung cac con trai cua ong cho den khi qua doi."
    )
    assert gibberish(tokens(text)) > 0.3
    assert "gibberish" not in first(question, [text] * 3)
    # Nor where it stands among English pages.
    assert "gibberish" not in first(question, [text, *QUIET])


def test_language_is_no_gibberish():
    text = (
        "The lighthouse of Marrow Bay was built in 1874, and the keeper lived there with his sons."
    )
    assert "gibberish" not in first(QUESTION, [text, *QUIET])
