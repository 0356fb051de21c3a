"""Words of scripts without spaces."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.text import tokens
from ragguard.text.ngrams import has_unspaced, ngrams, words_meant

HAN, KANA = "\u8c01\u5efa\u9020\u4e86\u706f\u5854", "\u3060\u308c\u304c"
THAI, LAO, KHMER, BURMESE = (
    "\u0e43\u0e04\u0e23\u0e2a",
    "\u0e9c\u0eb9",
    "\u1780\u1781",
    "\u1000\u1001",
)
NAMED = ("CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR")


def letters_named(*names):
    return [
        chr(code)
        for code in range(0x80, 0x30000)
        if unicodedata.name(chr(code), "").startswith(names) and tokens(chr(code))
    ]


def test_two_signs_of_han_and_kana_and_three_letters_of_others_by_hand():
    assert ngrams([HAN[:3]]) == [HAN[:2], HAN[1:3]]
    assert ngrams([KANA]) == [KANA[:2], KANA[1:]]
    assert ngrams([THAI]) == [THAI[:3], THAI[1:]]
    # What is shorter stays.
    assert ngrams([HAN[0]]) == [HAN[0]]
    assert ngrams([THAI[:2]]) == [THAI[:2]]


def test_only_words_of_other_scripts_part_them():
    assert ngrams([HAN[0], HAN[1]]) == [HAN[:2]]
    assert ngrams([f"{HAN[0]}1874{HAN[1:3]}"]) == [HAN[0], "1874", HAN[1:3]]
    assert ngrams(["pier", f"{HAN[:2]}{THAI}", "of"]) == ["pier", HAN[:2], THAI[:3], THAI[1:], "of"]


def test_other_words_come_back_as_they_are():
    words = ["pier", "1874", "\u043f\u0438\u0440\u0441", "\u0928"]
    assert ngrams(words) is words
    assert ngrams([]) == []


@pytest.mark.slow
def test_every_letter_of_these_scripts_has_no_spaces():
    assert all(has_unspaced(*tokens(one)) for one in letters_named(*NAMED) if not one.isdigit())
    others = letters_named("LATIN", "GREEK", "CYRILLIC", "ARABIC", "DEVANAGARI", "HANGUL SYLL")
    assert not [one for one in others if has_unspaced("".join(tokens(one)))]


def test_how_many_words_are_meant_by_hand():
    assert words_meant("who built it".split()) == 3.0
    assert words_meant(["\u043f\u0438\u0440\u0441", "pier"]) == 2.0
    assert words_meant([HAN[:2], HAN[1:3], HAN[0], "1874"]) == 2.5
    assert words_meant([THAI[:3], THAI[1:]]) == 0.5
    assert words_meant([]) == 0.0


def slow_ngrams(words):
    """Letter by letter: a row ends where the script changes, or where a space parts words."""
    rows = []
    for letter in " ".join(words):
        before = kind(rows[-1][-1]) if rows and rows[-1] else ""
        if letter == " ":
            if before == "other":
                rows.append("")
        elif kind(letter) == before:
            rows[-1] += letter
        else:
            rows.append(letter)
    length = {"han": 2, "complex": 3}
    return [
        row[at : at + n]
        for row in filter(None, rows)
        for n in [length.get(kind(row[0]), len(row))]
        for at in range(max(1, len(row) - n + 1))
    ]


def kind(letter):
    if not has_unspaced(letter):
        return "other"
    return "complex" if len(ngrams([letter * 3])) == 1 else "han"


@given(
    st.lists(
        st.text(st.sampled_from(HAN + KANA + THAI + LAO + KHMER + BURMESE + "abc1"), min_size=1)
    )
)
def test_any_words_equal_their_slow_reference(words):
    assert list(ngrams(words)) == slow_ngrams(words)


@given(st.text(st.characters(exclude_categories=()), max_size=60))
def test_no_letter_of_any_text_is_lost_and_there_are_no_more_words_than_letters(text):
    words = tokens(text)
    cut = ngrams(words)
    assert set("".join(cut)) == set("".join(words))
    assert len(cut) <= len("".join(words))
    assert all(cut)
