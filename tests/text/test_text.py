"""Folding and tokenisation: what a person reads is what the signals read."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.text import (
    MAX_CHARS,
    STOP_WORDS,
    encodable,
    fold,
    fold_whole,
    parted_words,
    sentences,
    split_words,
    tokens,
    tokens_whole,
)

# As any text, and as web text is: mostly ASCII with signs and foreign letters here and there.
ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.text(
    st.sampled_from("who THE 19.,_-\n\x07\u2019\u2013\u2022\u00e9\u00df\u0440\u03c2\u200b\u0301")
    | st.characters(exclude_categories=())
)


@pytest.mark.parametrize(
    ("disguised", "read"),
    [
        ("\uff37\uff48\uff4f", "who"),  # full width
        ("w\u0332h\u0332o\u0332", "who"),  # combining low lines
        ("wh\u200bo", "who"),  # zero-width space
        ("w\u00adho", "who"),  # soft hyphen
        ("\u202ewho\u202c", "who"),  # direction overrides
        ("r\u00e9sum\u00e9", "resume"),
        ("\u0440\u0430ris", "paris"),  # Cyrillic er and a
        ("\u03c1\u03b1ris", "paris"),  # Greek rho and alpha
        ("\u0420\u0410RIS", "paris"),  # Cyrillic capitals
        ("\U0001d41e\U0001d42f\U0001d422\U0001d425", "evil"),  # mathematical bold
        ("\u24d4vil", "evil"),  # circled letter
        ("\U0001f1fc\U0001f1ed\U0001f1f4", "who"),  # regional indicators
        ("\u283a\u2813\u2815", "who"),  # Braille
        ("o\ufb03ce", "office"),  # ligature
        ("\u0130stanbul", "istanbul"),  # dotted capital I
        ("\u0578\u0585\u0570e", "nohe"),  # Armenian vo, oh and ho
        ("\u13b3\u13bb\u13a2", "wht"),  # Cherokee
        ("\uab83\uab8b\uab72", "wht"),  # the same in small letters
        ("\ua4ea\ua4e7\ua4f3", "who"),  # Lisu
        ("\u15ef\u157co", "who"),  # Canadian syllabics
        ("\u2c9f\u2c9be", "one"),  # Coptic
        ("\u03f2at", "cat"),  # lunate sigma, which decomposes into another sigma
        ("\u03c3\u03bdal", "oval"),  # Greek sigma and nu
        ("J\u00f8rgen", "jorgen"),  # strokes
        ("\u0141\u00f3d\u017a", "lodz"),
        ("\u0111o\u0127", "doh"),
        ("\u1d00\u0299\u1d04", "abc"),  # small capitals
        ("\u1d5b\u1d43\u02e1", "val"),  # superscripts
        ("\u24b2\u24a3\u24aa", "who"),  # in brackets
        ("\U0001f166\U0001f157\U0001f15e", "who"),  # white on black
        ("\u00c6on", "aeon"),
        ("\u00de\u00f3r", "thor"),
        ("stra\u00dfe", "strasse"),
        ("1\ufe0f\u20e3874", "1874"),  # key cap
        ("\u0661\u0668\u0967\u278d", "1814"),  # digits: Arabic, Devanagari, white on black
        ("w\ufe0fh\U000e0101o", "who"),  # variation selectors
        ("w\U000e0068\U000e0069ho", "who"),  # tags
        ("w\u2060h\u034fo", "who"),  # word and grapheme joiners
        ("w\u3164h\u115fo", "who"),  # Hangul fillers
        ("w\x00h\x08o", "who"),  # control characters
        ("w\x0bh\x1fo\x7f", "who"),
        ("w\x85h\ue000\ufffdo", "who"),  # also of Latin 1, private, and undecodable
    ],
)
def test_disguised_letters_are_read_as_a_person_reads_them(disguised, read):
    assert tokens(disguised) == [read]


def test_tokens_are_words_and_numbers_in_order():
    assert tokens("In 1874, the Marrow-Light's 2nd lamp_oil!") == (
        "in 1874 the marrow light s 2nd lamp oil".split()
    )
    assert tokens("") == tokens(" \n\t.,;") == []
    assert tokens("\u6771\u4eac \u0645\u0631\u062d\u0628\u0627") == [
        "\u6771\u4eac",
        "\u0645\u0631\u062d\u0628\u0627",
    ]


def test_an_alphabet_of_the_look_alikes_that_attacks_use_is_read():
    # Those of the homoglyph swap of TextAttack (Morris et al. 2020).
    drawn_alike = (
        "\u0251\u044c\u03f2\u0501\u0435\U0001d68f\u0261\u0570\u0456\u03f3\U0001d48c\u217c\uff4d"
        "\u0578\u043e\u0440\u051b\u2c85\u0455\U0001d69d\u057d\u0475\u051d\u00d7\u0443\u1d22"
    )
    assert tokens(drawn_alike) == tokens(drawn_alike.upper()) == ["abcdefghijklmnopqrstuvwxyz"]


@pytest.mark.parametrize("separator", ["\t", "\r\n", "\u00a0", "\u2028", "\ud800", "\u0378", "_"])
def test_white_space_and_what_tokenizers_are_not_given_part_words(separator):
    assert tokens(f"one{separator}two") == ["one", "two"]
    assert tokens(f"one{separator}tw\u00f6") == ["one", "two"]


def test_quotes_and_dashes_are_folded_to_ascii_and_other_signs_stay():
    assert fold("\u201cDon\u2019t\u201d \u2013 5\u20ac \u2022") == '"don\'t" - 5\u20ac \u2022'


def test_what_is_not_undone():
    assert tokens("wh0 w1ns") == ["wh0", "w1ns"]
    assert tokens("w h o ques-\ntion") == ["w", "h", "o", "ques", "tion"]
    assert tokens("wh&#111; wh<b>o</b>") == "wh 111 wh b o b".split()


def test_nothing_hides_from_the_words_what_a_retriever_reads():
    normalizers = pytest.importorskip("tokenizers.normalizers")
    bert = normalizers.BertNormalizer(handle_chinese_chars=False, strip_accents=True)
    characters = [chr(n) for n in (*range(0x3000), *range(0xD7FF, 0x10FFFF, 61)) if n != 0x1734]
    characters = [c for c in characters if unicodedata.category(c) != "Cs"]
    dropped = [c for c in characters if bert.normalize_str(f"wh{c}o") == "who"]
    assert len(dropped) > 1000
    assert [c for c in dropped if tokens(f"wh{c}o") != ["who"]] == []


def test_of_a_long_text_both_ends_are_read():
    text = "begin " + "x" * MAX_CHARS + " end"
    words = tokens(text)
    assert words[0] == "begin"
    assert words[-1] == "end"
    assert sum(map(len, words)) <= MAX_CHARS
    whole = "word " * (MAX_CHARS // 5)
    assert len(tokens(whole)) == MAX_CHARS // 5
    assert len(tokens_whole(2 * whole)) == 2 * MAX_CHARS // 5


@pytest.mark.parametrize("padding", [" ", "\n", ".", "\u200b", "\u05b0", "\x00", " \u2022 "])
def test_padding_does_not_push_words_out_of_what_is_read(padding):
    much = padding * MAX_CHARS
    assert tokens(f"{much} who wrote it {much}") == ["who", "wrote", "it"]
    assert "who wrote it" in fold(f"{much} who wrote it {much}")


@pytest.mark.parametrize("character", ["\ufdfa", "\ud55c", "\u33c6", "\u00bd", "x", "\u0439"])
def test_characters_that_fold_to_many_are_read_no_further(character):
    text = "begin " + character * MAX_CHARS + " end"
    assert len(fold(text)) <= MAX_CHARS < len(fold_whole(text))
    assert tokens(text) == split_words(fold(text))
    assert (tokens(text)[0], tokens(text)[-1]) == ("begin", "end")
    assert fold(fold(text)) == fold(text)


@given(ANY_TEXT)
def test_folding_any_text_leaves_no_disguise(text):
    folded = fold(text)
    assert folded == folded.lower()
    categories = {unicodedata.category(character) for character in folded if ord(character) > 127}
    assert categories.isdisjoint({"Mn", "Me", "Cf", "Cs", "Co", "Cn", "Lu", "Lt"})


@given(ANY_TEXT)
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


@given(ANY_TEXT)
def test_every_character_is_folded_by_itself(text):
    assert fold(text) == fold_whole(text) == "".join(map(fold, text))


def test_more_different_characters_than_are_remembered_are_folded_alike():
    text = "".join(map(chr, range(0x80, 0x3000))) + "\u0430\u200b\ud83d"
    assert fold(text) == "".join(map(fold, text))
    assert fold(text) == fold(text)


@given(ANY_TEXT)
def test_tokens_are_the_words_of_the_folded_text(text):
    assert tokens(text) == tokens_whole(text) == re.findall(r"[^\W_]+", fold(text))
    assert tokens(text) == split_words(fold(text))


@given(ANY_TEXT)
def test_composed_and_decomposed_letters_read_alike(text):
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    assert tokens(forms[0]) == tokens(forms[1]) == tokens(text)


@given(st.lists(ANY_TEXT))
def test_tokens_of_texts_joined_by_a_space_are_the_tokens_of_each(texts):
    assert tokens(" ".join(texts)) == [word for text in texts for word in tokens(text)]


@given(ANY_TEXT)
def test_every_token_is_a_token_by_itself(text):
    assert all(tokens(word) == [word] for word in tokens(text))


@given(st.text())
def test_upper_case_reads_like_lower_case(text):
    assert tokens(text.lower()) == tokens(text)


@given(ANY_TEXT)
def test_encodable_text_is_utf_8_and_keeps_its_length(text):
    clean = encodable(text)
    assert len(clean) == len(text)
    assert clean.encode("utf-8").decode("utf-8") == clean
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert clean == text


def test_a_sentence_ends_in_a_mark_before_white_space():
    assert sentences("At 4.5 km! \n\tWho? e.g. he (or she.) did") == [
        "At 4.5 km!",
        "Who?",
        "e.g.",
        "he (or she.) did",
    ]
    assert sentences("") == [""]
    assert sentences(" It rained. ") == [" It rained.", ""]


@given(st.text(st.sampled_from("ab.!? \n\u00a0")) | ANY_TEXT)
def test_sentences_are_all_of_a_text_but_the_space_between_them(text):
    found = sentences(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(sentence[-1] in ".!?" for sentence in found[:-1])
    assert [part for sentence in found for part in sentences(sentence)] == found


def test_stop_words_are_tokens():
    assert all(tokens(word) == [word] for word in STOP_WORDS)
    assert {"the", "of", "who", "s"} <= STOP_WORDS


@pytest.mark.parametrize("space", ["\u200b", "\u200d", "\ufeff", "\x0c", "\x85", "\ufffd"])
def test_words_that_some_retrievers_part_are_read_both_ways(space):
    assert parted_words(f"At last: Who{space}wrote{space * 2}M\u00e9r{space}?") == [
        "who",
        "wrote",
        "mer",
    ]
    assert parted_words(f"{space}Who wrote{space} it{space}? {space}") == []


def test_plain_text_has_no_parted_words():
    assert parted_words("Who wrote it, and \u201cwhen\u201d?\n") == []


@given(st.text(st.sampled_from("ab \u200b\u200c\x0c\u0301.")))
def test_parted_words_are_those_of_sentencepiece(text):
    parted = re.sub("[\u200b\u200c\x0c]", " ", text)
    whole = [re.sub("[\u200b\u200c\x0c]", "", word) for word in text.split(" ")]
    assert set(tokens(parted)) <= set(parted_words(text)) | set(tokens(" ".join(whole)))


def test_parted_words_of_a_long_text_are_bounded():
    assert len(" ".join(parted_words("a\u200bb " * MAX_CHARS))) <= MAX_CHARS
    assert len(" ".join(parted_words("a\u200b" * 10 * MAX_CHARS))) <= MAX_CHARS
