"""What names a text's content: its words, and signs that change what they say."""

import unicodedata

import pytest

from ragguard.content import content_key, content_keys
from ragguard.lru import forget_all
from ragguard.text import MAX_CHARS


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Keep at -5 degrees.", "Keep at 5 degrees."),
        ("The pressure is < 90 kPa.", "The pressure is > 90 kPa."),
        ("Written in C.", "Written in C#."),
        ("Written in C#.", "Written in C++."),
        ("It costs \u20ac5.", "It costs $5."),
        ("It costs 5\u20ac.", "It costs 5."),
        ("Take 5 % of it.", "Take 5 of it."),
        ("Take 1.5 mg.", "Take 1-5 mg."),
        ("Take 1/2 cup.", "Take 1-2 cup."),
        ("Take 1/2 cup.", "Take 1.2 cup."),
        ("It costs $1.5.", "It costs $1-5."),
        ("if x != 5", "if x = 5"),
        ("Keep at \u20135 degrees.", "Keep at 5 degrees."),
        ("A grade of B+ passes.", "A grade of B passes."),
        ("x \u2264 3", "x \u2265 3"),
        ("\u304b\u304d", "\u304c\u304d"),  # kaki, gaki
        ("\u0e40\u0e2a\u0e37\u0e2d", "\u0e40\u0e2a\u0e37\u0e49\u0e2d"),  # tiger, shirt
        ("\u0939\u093e\u0901", "\u0939\u093e"),
        ("Take .5 mg.", "Take 5 mg."),
        ("Keep at -.5 degrees.", "Keep at .5 degrees."),
        ("10\u2076 of them", "106 of them"),
        ("\u2460" + "0 of them", "10 of them"),
        ("1\u00bd cups", "11 2 cups"),
        ("\u2713 approved", "\u2717 approved"),
        ("\u2705 approved", "\u274c approved"),
        ("The price goes \u2191.", "The price goes \u2193."),
        ("Take 5 \u2030 of it.", "Take 5 of it."),
        ("Take 1/2 tablet.", "Take 12 tablets."),
        ("Take 1,5 mg.", "Take 15 mg."),
        ("at 10:30 sharp", "at 1030 sharp"),
        ("\uff1c5", "\uff1e5"),
        ("\uff0d5 degrees", "5 degrees"),
        ("5\uff05 of it", "5 of it"),
        ("\u22665 of them", "\u22675 of them"),
        ("for n \u2264 k", "for n \u2265 k"),
        ("for x \u2260 y", "for x y"),
        ("for x =\u0338 y", "for x = y"),  # a stroke that is a character of its own
        ("for x <\u0338 y", "for x < y"),
        ("\u25b25", "\u25bc5"),
        ("\U0001f7e2 go", "\U0001f534 go"),
    ],
)
@pytest.mark.parametrize("before", ["", "word " * (MAX_CHARS // 4)], ids=["short", "long"])
def test_signs_that_change_what_is_said_count(one, other, before):
    assert content_key(before + one) != content_key(before + other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Keep at -5 degrees.", "keep at \u22125  degrees!"),
        ("a pressure of < 90 kPa", "a pressure of <90\nkPa"),
        ("a pressure of < 90 kPa", "a pressure of <\n90 kPa"),
        ("Keep at \u20135 degrees.", "Keep at -5 degrees."),
        ("Take 5 % of it.", "Take 5% of it."),
        ("Pages 5-10, 2019-2020.", "Pages 5 10 2019 2020"),
        ("- One\n- Two", "* One\n* Two"),
        ("# The pier", "The pier"),
        ("> He said so.", "He said so."),
        ("Ann -- or Ben", "Ann, or Ben"),
        ("the well-known pier", "the well known pier"),
        ("|a|b|\n|---|---|", "a b"),
        ("caf\u00e9 \u0438\u0306", "cafe \u0438"),
        ("\u05e9\u05b8\u05dc\u05d5\u05b9\u05dd", "\u05e9\u05dc\u05d5\u05dd"),
        ("C\u200b# is written", "c# is written."),
        ("Fig. 5, and so on. 5 more", "Fig.5, and so on.5 more"),
        ("H\u2082O and CO\u2082", "H2O and CO2"),
        ("\uff15 of them", "5 of them"),
        ("5  % of it", "5% of it"),
        ("$  5 each", "$5 each"),
    ],
)
def test_how_a_text_is_written_does_not(one, other):
    assert content_key(one) == content_key(other)


@pytest.mark.slow
@pytest.mark.parametrize(
    "repeated",
    [
        "1",
        "<",
        "1.",
        ".",
        " .1",
        "<1",
        "-",
        "+",
        "a#",
        " 5 ",
        "$ ",
        "!=",
        "\u0e33",
        "\u2076",
        "1\u2076",
    ],
)
def test_no_text_takes_longer_than_its_length(repeated):
    # A thousand times as long a text in the square of the time would take the timeout's minutes.
    assert len(content_key(repeated * 300_000)) == 32


def test_keys_of_several_texts_are_those_of_each():
    texts = ["Keep at -5 degrees.", "", "a" * (MAX_CHARS + 1), "\ud800", "\ufdfa" * 9_000, "", "42"]
    forget_all()
    at_once = content_keys(texts)
    forget_all()
    assert at_once == [content_key(text) for text in texts] == content_keys(texts)
    assert content_keys([]) == []


@pytest.mark.parametrize("before", ["", "word " * (MAX_CHARS // 4)], ids=["short", "long"])
@pytest.mark.parametrize("sign", "\u2260\u226e\u2270\u2271\u219b\u21cf")
def test_a_sign_that_is_struck_out_has_one_key_however_it_is_written(sign, before):
    for text in (f"{before}for x {sign} y", f"{before}for x {sign}\u0323 y"):
        assert content_key(unicodedata.normalize("NFD", text)) == content_key(text)
