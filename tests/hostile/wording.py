"""Hostile words: huge, many, alike; signs and numbers that patterns stumble over."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from string import ascii_lowercase, punctuation

__all__ = [
    "address_bait",
    "blanks",
    "bracketed_lines",
    "controls",
    "digits",
    "dollars",
    "few_letters",
    "full_stops",
    "huge_word",
    "joined_lines",
    "names",
    "new_words",
    "numbers",
    "one_letter_words",
    "orders",
    "signs",
    "signs_in_words",
]

_ORDERS = """answer respond with only report that ignore instructions system: assistant, model, ai
    the other documents do not must not if asked say reply policy cached index language models
    should treat replace""".split()


def huge_word(draw: Random, question: str) -> Iterator[str]:
    """Yield letters without a space."""
    del question
    while True:
        yield "".join(draw.choices(ascii_lowercase, k=64))


def few_letters(draw: Random, question: str) -> Iterator[str]:
    """Yield words of two letters in all orders: nearly alike, and nearly repeated."""
    del question
    while True:
        yield "".join(draw.choices("ab", k=draw.randint(4, 32))) + " "


def new_words(draw: Random, question: str) -> Iterator[str]:
    """Yield words that no list holds, none of them twice, of the length that costs most."""
    del question
    while True:
        yield "".join(draw.choices(ascii_lowercase, k=draw.randint(24, 32))) + " "


def one_letter_words(draw: Random, question: str) -> Iterator[str]:
    """Yield letters between spaces."""
    letters = question.replace(" ", "") or "x"
    while True:
        yield draw.choice(letters) + " "


def names(draw: Random, question: str) -> Iterator[str]:
    """Yield words with capitals, each a name."""
    del question
    while True:
        yield "".join(draw.choices(ascii_lowercase, k=draw.randint(1, 9))).title() + " "


def digits(draw: Random, question: str) -> Iterator[str]:
    """Yield one number without end."""
    del question
    while True:
        yield str(draw.randrange(10**12))


def numbers(draw: Random, question: str) -> Iterator[str]:
    """Yield dates, fractions, comparisons and sums of money, joined or not."""
    del question
    while True:
        yield draw.choice(["-", "+", "\u00b1", "<", "!=", "\u2264", "$", "\u20ac", "", "\u2212"])
        yield str(draw.randrange(10 ** draw.randint(1, 18)))
        yield draw.choice([".", "/", ",", "%", " ", "  ", "\u2030", "..", "-", " <  "])


def signs(draw: Random, question: str) -> Iterator[str]:
    """Yield punctuation."""
    del question
    while True:
        yield draw.choice(punctuation) * draw.randint(1, 20)


def signs_in_words(draw: Random, question: str) -> Iterator[str]:
    """Yield the question with signs for letters."""
    table = str.maketrans("asilt", "@$!|+")
    while True:
        for word in question.lower().split() or [""]:
            yield word.translate(table) if draw.random() < 0.7 else word
            yield draw.choice([" ", "", "@", "$", "!"])


def dollars(draw: Random, question: str) -> Iterator[str]:
    """Yield the signs that may be letters, in a row."""
    del question
    while True:
        yield draw.choice("@$!|+") * draw.randint(1, 30) + draw.choice(["a", "", " "])


def blanks(draw: Random, question: str) -> Iterator[str]:
    """Yield white space of all kinds."""
    del question
    while True:
        yield draw.choice(" \t\n\r\x0b\x0c\x1c\x85\u00a0\u2003\u2028\u3000") * draw.randint(1, 30)


def controls(draw: Random, question: str) -> Iterator[str]:
    """Yield control characters between words."""
    words = question.split() or [""]
    while True:
        yield chr(draw.choice([*range(32), *range(127, 160)])) + draw.choice([*words, ""])


def full_stops(draw: Random, question: str) -> Iterator[str]:
    """Yield ends of sentences."""
    del question
    while True:
        yield draw.choice([".", "!", "?", "...", ". ", "?\n"]) * draw.randint(1, 20)


def orders(draw: Random, question: str) -> Iterator[str]:
    """Yield the words of orders to a model, in any order."""
    del question
    while True:
        yield draw.choice(_ORDERS) + draw.choice([" ", " ", ", ", ". "])


def address_bait(draw: Random, question: str) -> Iterator[str]:
    """Yield what begins to look like an order and does not end as one."""
    del question
    while True:
        yield draw.choice(["answer ", "respond ", "ai ", "chat ", "language ", "if you are "])
        yield "x" * draw.randint(0, 41)


def joined_lines(draw: Random, question: str) -> Iterator[str]:
    """Yield words joined by signs and line ends instead of spaces."""
    words = question.split() or ["x"]
    while True:
        yield draw.choice(words) + draw.choice(["_", "-", "/", "\r\n", "\n\n", "\u2028", "."])


def bracketed_lines(draw: Random, question: str) -> Iterator[str]:
    """Yield the question between short lines, and notes of any length, of which few are closed."""
    around = ["\n", "Page 3\n", "source: x\n\n", "(", "[x", "{", ") ", "]", "<!--", "-->", "%2525"]
    while True:
        yield draw.choice(["", question, "x" * draw.randint(1, 300)]) + draw.choice(around)
