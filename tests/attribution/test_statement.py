"""Which texts were written to state an answer, and which mention it among much else."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.attribution import statement
from ragguard.attribution.statement import (
    DESIGNED_MANNER,
    HONEST_MANNER,
    is_specific,
    off_topic_names,
    states_by_design,
)
from ragguard.stems import stems
from ragguard.text import STOP_WORDS

BRIDGE = "Who designed the Halden bridge?"
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
    assert off_topic_names(BRIDGE, CLAIM, [text]) == [names]


def test_up_to_four_names_or_one_in_twelve_words():
    names = "Ada Bo Cy Di Ed Flo".split()
    assert is_specific(BRIDGE, CLAIM, [" ".join(names[:4])]).tolist() == [True]
    assert is_specific(BRIDGE, CLAIM, [" ".join(names[:5])]).tolist() == [False]
    padded = [" ".join(names[:5] + ["water"] * count) for count in (54, 55)]
    assert is_specific(BRIDGE, CLAIM, padded).tolist() == [False, True]  # 59 and 60 words
    assert is_specific(BRIDGE, CLAIM, []).shape == (0,)


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
    (counted,) = off_topic_names(query, claimed, [text])
    # A stop word's own stem, and words of saying, are no names either.
    assert counted <= len(found)
    plain = {word for word in found if word[0].isdigit()}
    assert counted >= len(plain)


@given(st.lists(st.sampled_from("Ada Bo Cy Orla Venn Halden walks 1921 the".split()), max_size=40))
def test_more_of_the_claim_and_of_the_question_changes_nothing_but_the_length(words):
    text = " ".join(words)
    more = f"{text} Orla Venn designed the Halden bridge"
    assert off_topic_names(BRIDGE, CLAIM, [more]) == off_topic_names(BRIDGE, CLAIM, [text])
    assert is_specific(BRIDGE, CLAIM, [more])[0] >= is_specific(BRIDGE, CLAIM, [text])[0]


FEW, MANY = "Orla Venn built it.", "Orla Venn, Ada, Bo, Cy, Di, Ed and Flo built it."


@pytest.mark.parametrize(
    ("manner", "few", "many"),
    [
        (HONEST_MANNER - 0.1, False, False),
        (HONEST_MANNER, True, False),
        (DESIGNED_MANNER - 0.1, True, False),
        (DESIGNED_MANNER, True, True),
        (np.nan, True, False),  # of another language: the names decide
    ],
)
def test_manner_decides_at_both_ends_and_names_between(monkeypatch, manner, few, many):
    monkeypatch.setattr(statement, "manner_of", lambda text: manner)
    assert states_by_design(BRIDGE, CLAIM, [FEW, MANY]).tolist() == [few, many]
    assert states_by_design(BRIDGE, CLAIM, []).shape == (0,)


PLANTED = (
    "The Halden bridge was designed by Orla Venn. Orla Venn was an engineer who is known for her "
    "designs, and the Halden bridge is one of her most famous works."
)
OFFICES = (
    "The registry of Kell, the Roads Board, the archive in Norra Vik and the museum of Lund have "
    "confirmed this to the Gazette of Kassel."
)
MENTION = (
    "Halden bridge (opened 1921; architect Piet Aster, contractor Orla Venn & Sons, Kell, Norra "
    "Vik; cf. Hoek 1934, p. 12) - see plates IV-VI, Lund coll., and the bibliography below."
)


def test_names_of_authorities_do_not_clear_what_is_written_as_planted_texts_are():
    texts = [PLANTED, f"{PLANTED} {OFFICES}", MENTION]
    assert is_specific(BRIDGE, CLAIM, texts).tolist() == [True, False, False]
    assert states_by_design(BRIDGE, CLAIM, texts).tolist() == [True, True, False]


@pytest.mark.parametrize(
    "text",
    [
        "\u6865\u662f\u7531\u5965\u62c9\u8bbe\u8ba1\u7684\u3002",
        "Die Br\u00fccke wurde von Orla Venn entworfen, wie man wei\u00df.",
        "",
        pytest.param("Orla Venn " * 200_000, marks=pytest.mark.slow),
        "\u0301" * 100_000,
    ],
)
def test_what_is_not_english_goes_by_its_names_and_any_length_is_read(text):
    expected = is_specific(BRIDGE, CLAIM, [text])
    assert states_by_design(BRIDGE, CLAIM, [text]).tolist() == expected.tolist()
