"""Whether a passage was written for one question and one answer."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.attribution.ragorigin.specificity import is_specific, off_topic_names
from ragguard.stems import stems
from ragguard.text import STOP_WORDS

QUESTION = "Who designed the Halden bridge?"
CLAIM = "Orla Venn"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", 0),
        ("The Halden bridge was designed by Orla Venn.", 0),
        ("It was designed by Orla Venn in 1921.", 1),
        ("Orla Venn, Piet Aster and Piet Hoek worked in Kell.", 4),  # Piet, Aster, Hoek, Kell
        ("However, According to Orla, The Bridges of HALDEN", 0),  # words of saying
        ("Carts cross it. Walkers cross it.", 2),  # a sentence begins like a name
        ("Der Zöllner Åke wohnt in Zürich, 3 Häuser weiter.", 6),
        ("ORLA VENN", 0),
        ("2 two 2nd", 1),  # of pieces with two words the first counts
    ],
)
def test_names_are_capitals_and_numbers_that_neither_question_nor_claim_holds(text, names):
    assert off_topic_names(QUESTION, CLAIM, text) == names


def test_up_to_four_names_or_one_in_twelve_words():
    names = "Ada Bo Cy Di Ed Flo".split()
    assert is_specific(QUESTION, CLAIM, [" ".join(names[:4])]).tolist() == [True]
    assert is_specific(QUESTION, CLAIM, [" ".join(names[:5])]).tolist() == [False]
    padded = [" ".join(names[:5] + ["water"] * count) for count in (54, 55)]
    assert is_specific(QUESTION, CLAIM, padded).tolist() == [False, True]  # 59 and 60 words
    assert is_specific(QUESTION, CLAIM, []).shape == (0,)


@given(st.text(max_size=60), st.text(max_size=20), st.text(max_size=300))
def test_names_are_those_that_a_slow_count_finds(query, claimed, text):
    found = set()
    for piece in re.findall(r"[^\W_][\w'’-]*", text):
        folded = stems(piece)
        if folded and (piece[0].isupper() or piece[0].isdigit()):
            found.add(folded[0])
    found = {
        word
        for word in found
        if word not in stems(query) and word not in stems(claimed) and word not in STOP_WORDS
    }
    counted = off_topic_names(query, claimed, text)
    # A stop word's own stem, and words of saying, are no names either.
    assert counted <= len(found)
    plain = {word for word in found if word[0].isdigit()}
    assert counted >= len(plain)


@given(st.lists(st.sampled_from("Ada Bo Cy Orla Venn Halden walks 1921 the".split()), max_size=40))
def test_more_of_the_claim_and_of_the_question_changes_nothing_but_the_length(words):
    text = " ".join(words)
    more = f"{text} Orla Venn designed the Halden bridge"
    assert off_topic_names(QUESTION, CLAIM, more) == off_topic_names(QUESTION, CLAIM, text)
    assert is_specific(QUESTION, CLAIM, [more])[0] >= is_specific(QUESTION, CLAIM, [text])[0]
