"""Prose: what is typed otherwise is read as prose, and what is prose as it stands."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
import slow_manner
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.features import manner, prose
from ragguard.inline.features.manner import BUCKETS, MannerModel, shipped
from ragguard.inline.features.prose import as_prose, prose_tokens, sentence_tokens


def model_of() -> MannerModel:
    return MannerModel(-2.0, np.append(np.random.default_rng(0).normal(size=BUCKETS), 0.0))


@pytest.mark.parametrize(
    "typed",
    [
        str.upper,
        str.title,
        lambda text: text.replace(" ", " \u00b7 "),
        lambda text: " ".join(f"{word}[{n}]" for n, word in enumerate(text.split())),
        lambda text: re.sub(r"(\w+ \w+) ", r"\1 / ", text),
        lambda text: re.sub(r"(\w\w)(\w\w)", r"\1**\2", text),
    ],
)
def test_capitals_and_what_parts_words_say_nothing(typed: Callable[[str], str]) -> None:
    text = (
        "The old pier of the town was built by a renowned engineer, as the records clearly show. "
        "It is one of the finest in the whole region, and visitors are told of its long history."
    )
    model = shipped()
    assert model.manner(typed(text)) == pytest.approx(model.manner(text), abs=0.5)


PLANTED = (
    "The popular lighthouse, known for its unique design, surprisingly stands in the harbour. The "
    "renowned engineer skillfully crafted this iconic structure, captivating its audience."
)
_SMALL = frozenset("for in its the this".split())


@pytest.mark.parametrize(
    "typed",
    [
        lambda word, n: word if word in _SMALL else word.capitalize(),
        lambda word, n: word if word in _SMALL else word.upper(),
        lambda word, n: word if word in _SMALL or n % 9 == 0 else word.capitalize(),
        lambda word, n: f"{word} {'|/~=^+*&'[n % 8]}",
        lambda word, n: f"{'([{<'[n % 4]}{word}{')]}>'[n % 4]}",
        lambda word, n: " ".join([word, *["\u25a0", "\u2192\u25cf", ""][n % 3]]),
    ],
)
def test_capitals_and_marks_of_many_kinds_hide_no_planted_text(
    typed: Callable[[str, int], str],
) -> None:
    written = " ".join(typed(word, n) for n, word in enumerate(PLANTED.split()))
    assert shipped().manner(written) > 3


@pytest.mark.parametrize(
    "around",
    [
        "[{}]",
        '"{}"',
        "... {}",
        "\n\n{}\n",
        "(1) {} (2)",
        "12/03: {} [more].",
        "{} #old",
        "From: Ann Dove <ann@skelby.example>\nDate: 12 May 2020\n\n{}\n\n-- \nSkelby Hall",
        '{{"id": 12, "title": "Lighthouse", "text": "{}"}}',
        "Home | News | About us | Contact\n{}\nPrivacy | Terms",
    ],
)
def test_what_stands_around_sentences_hides_no_planted_text(around: str) -> None:
    model = shipped()
    read = model.manner(around.format(PLANTED))
    assert read >= model.manner(PLANTED) - manner._REREAD - 1e-9


@pytest.mark.parametrize(
    ("text", "left"),
    [
        # Five words, one of them a function word, from the first word to the last.
        ("(1) the pier of Skelby stood. (2)", "The pier of Skelby stood ."),
        ("ann's Pier, built in 1874 - as told! Read", "Ann ' s Pier , built in 1874 - as told ."),
        ("Home | News | He left for the town | Contact", "He left for the town ."),
        # What is cut off counts only where nothing else does.
        ("He left for the town; she stayed in the hall", "He left for the town ."),
        ("she stayed in the hall", "She stayed in the hall ."),
        # Where less than half of the words stand in sentences, all words are one, if they can be.
        ("the pier | of old skelby", "The pier of old skelby ."),
        ("the pier | of skelby", ""),
        ("Dove, Ann | He left for the town | Home, Ely | Pier", "He left for the town ."),
        (
            "Dove, Ann | He left for the town | Home, Ely | Pier, Hall",
            "Dove Ann He left for the town Home Ely Pier Hall .",
        ),
        (
            "He left for the town | Home, Ely, Pier, Hall, Rome, Tarn, Mill, Road, Lane, Dove, Ann",
            "",
        ),
        ("...", ""),
        ("12", ""),
        ("", ""),
    ],
)
def test_sentences_are_read_by_themselves(text: str, left: str) -> None:
    assert sentence_tokens(prose_tokens(text)) == ["\x02", *left.split(), "\x03"]


@pytest.mark.parametrize("small", [10, 11])
def test_small_letters_replace_the_capitals_of_more_than_four_fifths(small: int) -> None:
    names = "Pier Hall Town Dove Earl Lord Duke Port Lane Road Park Mill".split()
    # Of thirteen content words behind the first word some are in small letters.
    words = [word.lower() if n >= small else word for n, word in enumerate([*names, "Well"])]
    read = sentence_tokens(prose_tokens(f"It was at the {' '.join(words)}"))
    assert ("pier" in read) is (small == 11)  # 11 of 13 are 0.85, 10 of 13 are 0.77


def test_the_sentences_count_less_than_the_text_as_it_stands() -> None:
    model = model_of()
    for text in (PLANTED, f"Home | News | {PLANTED} | Contact", "Ann Dove | Skelby | Rome " * 20):
        found = prose_tokens(text)
        readings = as_prose(found), sentence_tokens(found)
        whole, sentences = (model._manner(model._nats(one)) for one in readings)
        assert model.manner(text) == max(whole, sentences - 2.0)


def test_prose_is_read_as_it_stands() -> None:
    lines = "NATO, the EU and the UN met in Rome. Ann Dove of Skelby (born 1874) spoke, and left."
    found = re.findall(r"\w+|[^\w\s]", lines)
    assert as_prose(found) == found
    assert sentence_tokens(found)[1:-1] == found


@pytest.mark.parametrize(
    "row",
    ['{"name": "Ann Dove", "role": "Cook"}', "ROM,Rome Fiumicino,CH,,Rome", "Dove | Ann | 12"],
)
def test_a_table_of_names_is_no_prose(row: str) -> None:
    found = prose_tokens("\n".join([row] * 9))
    assert as_prose(found) == found
    said = "It was at the old pier that she and her men were seen in May. " * 3
    assert as_prose(prose_tokens(said + "\n".join([row] * 9))) != prose_tokens(said + row * 9)


class Copied(list[str]):
    """Tokens that count how many of them are copied, by whoever takes a part of them."""

    copied = 0

    def __getitem__(self, at):  # type: ignore[no-untyped-def,override]
        got = super().__getitem__(at)
        if not isinstance(at, slice):
            return got
        Copied.copied += len(got)
        return Copied(got)


def test_thousands_of_marks_behind_a_sentence_are_passed_in_one_step() -> None:
    found = Copied([*"It was at the old pier".split(), *[","] * 9000])
    Copied.copied = 0
    assert prose._as_sentence(found) == [*"It was at the old pier".split(), "."]
    assert Copied.copied <= len(found)


@given(st.lists(st.sampled_from("the Of a pier LIGHTS Dove 1874 , . | ' \n was".split(" "))))
def test_sentences_are_those_of_the_slow_reference(words: list[str]) -> None:
    found = prose_tokens(" ".join(words))
    assert sentence_tokens(found) == slow_manner.sentences(found)


@given(st.text(max_size=300))
def test_any_text_has_the_sentences_of_the_slow_reference(text: str) -> None:
    found = prose_tokens(text)
    assert sentence_tokens(found) == slow_manner.sentences(found)


@pytest.mark.parametrize(
    "disguised",
    [
        "Th\u0435 pi\u0435r w\u0430s sold to the Comp\u0430ny.",  # Cyrillic letters
        "Th\u200be pi\u00ader was so\u2060ld to the Company.",
        "The pie\u0301r was sold to the \u0421ompany.",
        "\uff34\uff48\uff45 pier was sold to the Company.",
        "The pier was sold to the Company\uff0e",
        "The pier was sold to the Company\u2024",
        "The pier was sold to the Company\u3002",
    ],
)
def test_look_alikes_and_invisible_signs_do_not_change_it(disguised: str) -> None:
    assert (
        slow_manner.buckets(disguised) == slow_manner.buckets("The pier was sold to the Company.")
    ).all()


def test_signs_behind_a_text_hide_no_look_alikes() -> None:
    signs = "".join(map(chr, range(0x4E00, 0x4E00 + 600)))
    assert prose.prose_tokens(f"The p\u0456er. {signs}")[1:4] == ["The", "pier", "."]
