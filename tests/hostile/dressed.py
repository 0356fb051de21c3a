"""The question in every dress: what an attacker writes who wants to be found and not seen."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

__all__ = [
    "abutting",
    "back_to_front",
    "first_words",
    "interleaved",
    "letter_by_letter",
    "misspelt",
    "one_word",
    "periodic",
    "repeated",
    "rotated",
    "shuffled",
    "strewn",
    "without_gaps",
]

_FILLERS = "the of a in is was and to on by which as at from it that with this its are".split()


def _words(question: str) -> list[str]:
    return question.split() or ["x"]


def repeated(draw: Random, question: str) -> Iterator[str]:
    """Yield the question again and again."""
    del draw
    while True:
        yield question + " "


def shuffled(draw: Random, question: str) -> Iterator[str]:
    """Yield its words in any order."""
    words = _words(question)
    while True:
        yield " ".join(draw.sample(words, len(words))) + " "


def back_to_front(draw: Random, question: str) -> Iterator[str]:
    """Yield its words backwards."""
    del draw
    while True:
        yield " ".join(reversed(_words(question))) + " "


def rotated(draw: Random, question: str) -> Iterator[str]:
    """Yield its second piece before its first."""
    words = _words(question)
    while True:
        cut = draw.randint(0, len(words))
        yield " ".join(words[cut:] + words[:cut]) + " "


def interleaved(draw: Random, question: str) -> Iterator[str]:
    """Yield it with another word between any two of its own."""
    while True:
        for word in _words(question):
            yield f"{word} {draw.choice(_FILLERS)} "


def strewn(draw: Random, question: str) -> Iterator[str]:
    """Yield its words one at a time among others."""
    words = _words(question)
    while True:
        yield f"{draw.choice(words)} {' '.join(draw.choices(_FILLERS, k=draw.randint(0, 4)))} "


def one_word(draw: Random, question: str) -> Iterator[str]:
    """Yield one of its words alone."""
    word = draw.choice(_words(question))
    while True:
        yield word + " "


def first_words(draw: Random, question: str) -> Iterator[str]:
    """Yield its beginnings, each broken off."""
    words = _words(question)
    while True:
        yield " ".join(words[: draw.randint(1, len(words))]) + " "


def periodic(draw: Random, question: str) -> Iterator[str]:
    """Yield two of its words in turn, which match at every second place."""
    words = _words(question)
    one, other = draw.choice(words), draw.choice(words)
    while True:
        yield f"{one} {one} {other} "


def misspelt(draw: Random, question: str) -> Iterator[str]:
    """Yield it with an error in every word."""
    while True:
        for word in _words(question):
            at = draw.randrange(len(word))
            yield draw.choice(
                [
                    word[:at] + word[at + 1 :],
                    word[:at] + word[at] + word[at:],
                    word[: at + 1][::-1] + word[at + 1 :],
                    word.translate(str.maketrans("oieast", "013457")),
                ]
            )
            yield " "


def letter_by_letter(draw: Random, question: str) -> Iterator[str]:
    """Yield its letters with something between them."""
    while True:
        between = draw.choice(["-", " ", ".", "_", "\u200b"])
        yield between.join(question) + "  "


def without_gaps(draw: Random, question: str) -> Iterator[str]:
    """Yield it as one word."""
    while True:
        yield "".join(_words(question)) + draw.choice(["", " ", "x"])


def abutting(draw: Random, question: str) -> Iterator[str]:
    """Yield it without gaps and nearly whole, so that a search for it goes on and on."""
    joined = "".join(_words(question))
    while True:
        yield joined[: draw.randint(len(joined) // 2, max(1, len(joined) - 1))]
