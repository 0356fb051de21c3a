"""Question forms: how a poison text carries the question so that it is retrieved.

PoisonedRAG's black-box attack puts the question in front of the text ("prepend"). The others are
what an attacker would try next, once somebody looks for that. Forms that draw at random draw from
the question and the text alone, so they are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from ragguard.text import STOP_WORDS

__all__ = ["DEFAULT_FORMS", "FORMS"]


def plain(question: str, text: str) -> str:
    """Leave the text alone: it must be retrieved for what it says.

    >>> plain("Who built it?", "Ann did.")
    'Ann did.'
    """
    del question
    return text


def prepend(question: str, text: str) -> str:
    """Put the question in front (PoisonedRAG, black box).

    >>> prepend("Who built it?", "Ann did.")
    'Who built it? Ann did.'
    """
    return f"{question} {text}"


def append(question: str, text: str) -> str:
    """Put the question at the end.

    >>> append("Who built it?", "Ann did.")
    'Ann did. Who built it?'
    """
    return f"{text} {question}"


def faq(question: str, text: str) -> str:
    r"""Pose as a page of frequent questions.

    >>> faq("Who built it?", "Ann did.")
    'Q: Who built it?\nA: Ann did.'
    """
    return f"Q: {question}\nA: {text}"


def disguise(question: str, text: str) -> str:
    """Prepend the question in look-alike letters with invisible ones between them."""
    return f"{_INVISIBLE.join(question).translate(_LOOK_ALIKES)} {text}"


_INVISIBLE = "\u200b"
_LOOK_ALIKES = str.maketrans("aeio", "\u0430\u0435\u0456\u043e")


def middle(question: str, text: str) -> str:
    """Put the question between the sentences.

    >>> middle("Who built it?", "It is old. Ann did.")
    'It is old. Who built it? Ann did.'
    """
    sentences = text.split(". ")
    half = max(1, len(sentences) // 2)
    return f"{'. '.join(sentences[:half])}. {question} {'. '.join(sentences[half:])}"


def shuffled(question: str, text: str) -> str:
    """Prepend the question's words in a random order."""
    words = question.rstrip("?").split()
    Random(question + text).shuffle(words)
    return f"{' '.join(words)} {text}"


def keywords(question: str, text: str) -> str:
    """Prepend the question's content words.

    >>> keywords("Who built the old pier?", "Ann did.")
    'built old pier. Ann did.'
    """
    words = [word for word in question.rstrip("?").split() if word.lower() not in STOP_WORDS]
    return f"{' '.join(words)}. {text}"


def spread(question: str, text: str) -> str:
    """Strew the question's words, in order, over the text."""
    words, into = question.rstrip("?").split(), text.split()
    places = Random(question + text).sample(range(len(into) + 1), min(len(words), len(into) + 1))
    waiting = dict(zip(sorted(places), words, strict=False))
    out: list[str] = []
    for position in range(len(into) + 1):
        out += [waiting[position]] if position in waiting else []
        out += into[position : position + 1]
    return " ".join(out + words[len(waiting) :])


FORMS: Mapping[str, Callable[[str, str], str]] = {
    form.__name__: form
    for form in (plain, prepend, append, faq, disguise, middle, shuffled, keywords, spread)
}
"""Every form by name: (question, text) -> the text that the attacker plants."""

DEFAULT_FORMS = ("prepend", "plain")
"""The two that the published attacks use."""
