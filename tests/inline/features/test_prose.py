"""Prose: what is typed otherwise is read as prose, and what is prose as it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest

from ragguard.inline.features import prose
from ragguard.inline.features.manner import BUCKETS, MannerModel, buckets, shipped
from ragguard.inline.features.prose import plainer, prose_tokens


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
    ["[{}]", '"{}"', "... {}", "{} ...", "\n\n{}\n", "(1) {} (2)", "12/03: {} [more].", "{} #old"],
)
def test_what_stands_around_whole_sentences_hides_no_planted_text(around: str) -> None:
    model = shipped()
    assert model.manner(around.format(PLANTED)) == pytest.approx(model.manner(PLANTED))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("(1) A pier. (2)", "A pier ."),
        ("... It is. [so].", "It is ."),
        ("It is. Read", "It is . Read"),
        ("It is ... So", "It is . . . So"),
        ("...", "."),
        ("12", "12"),
        ("", ""),
    ],
)
def test_what_belongs_to_no_sentence_is_left_out(text: str, left: str) -> None:
    found = prose_tokens(text)
    assert prose._whole_sentences(found)[1:-1] == left.split()


def test_what_is_no_prose_counts_as_it_stands_unless_it_is_clear_without_marks() -> None:
    cells = "".join(f"{mark} Ann Dove of Skelby {mark}" for mark in "|/~=^+*&")
    names = "In Rome the Mayor of Skelby met Ann Dove and the Earl of Norhaven Hall. " * 2
    model = model_of()
    for text in (cells, names):
        found = prose_tokens(text)
        assert plainer(found) != found
        clearer = model._manner(plainer(found))
        expected = max(model._manner(found), clearer if clearer >= 3 else -np.inf)
        assert model.manner(text) == expected


def test_prose_is_read_as_it_stands() -> None:
    lines = "NATO, the EU and the UN met in Rome. Ann Dove of Skelby (born 1874) spoke, and left."
    found = re.findall(r"\w+|[^\w\s]", lines)
    assert prose._typed(found) == found
    assert plainer(found) is found


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
    assert (buckets(disguised) == buckets("The pier was sold to the Company.")).all()


def test_what_has_more_signs_than_english_is_read_as_it_stands() -> None:
    signs = "".join(map(chr, range(0x4E00, 0x4E00 + 600)))
    with patch.object(prose, "respelled", side_effect=AssertionError):
        assert buckets(f"The pier was sold. {signs}").shape[0] == 3
        with pytest.raises(AssertionError):
            buckets("The pier was sold.")
