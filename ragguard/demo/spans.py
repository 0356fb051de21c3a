"""The spans of a text that could answer a question: figures, years, names, colours, things."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby
from typing import Any, Literal

from ragguard.text import STOP_WORDS

AnswerType = Literal["person", "place", "name", "year", "number", "colour", "thing"]


def _as_sets(value: Any) -> Any:
    if isinstance(value, str):
        return frozenset(value.split())
    return {name: _as_sets(words) for name, words in value.items()}


VOCABULARY: dict[str, Any] = _as_sets(
    json.loads((files("ragguard.demo") / "data" / "vocabulary.json").read_text(encoding="utf-8"))
)
"""The reader's English: words by what they tell, and of units by the word that asks for them."""

_WORD = re.compile(r"\d[\d,.]*\d|km/h|[^\W_]+(?:['\u2019-][^\W_]+)*|[.!?;:,()\"]")
_PARTS = re.compile(r"['\u2019-]")
_YEAR = re.compile(r"1\d{3}|20\d\d")
_FIGURE = re.compile(r"\d[\d,.]*")
_END_WORDS = 4  # words that the end of a sentence counts for
_MAX_WORDS = 3
_COPULAS = frozenset(("is", "was", "has", "had"))
_LEADING = frozenset("a an the of from by with is was are were as to".split())
_NEVER_NAMES = frozenset(("a", "an", "the", "i"))
_VERBAL = ("ed", "ing")
_SUFFIXES = ("ations", "ation", "ings", "ing", "ed", "ers", "er", "es", "s", "ly", "e")


@dataclass(frozen=True)
class Reading:
    """A question as the reader understands it."""

    answer_type: AnswerType
    stems: tuple[str, ...]  # of the words that say what it is about, in order, each once
    units: frozenset[str]  # words that may follow a number which answers it; empty if any may


@dataclass(frozen=True)
class Word:
    """One word: its parts' stems, its place in words, and its clause, which no span leaves."""

    text: str
    lower: str
    stems: frozenset[str]
    place: int
    clause: int


@dataclass(frozen=True)
class Span:
    """What could be the answer: its words, their places, and how well it fits, in (0, 1]."""

    text: str
    first: int
    last: int
    fit: float


def uninflected(word: str) -> str:
    """Return a lower-case word without its inflection.

    >>> uninflected("designed"), uninflected("designer"), uninflected("locks")
    ('design', 'design', 'lock')
    """
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4 - (suffix in ("s", "e")):
            return word.removesuffix(suffix)
    return word


def read_words(text: str) -> list[Word]:
    """Return the words of a text; the end of a sentence counts for some more.

    >>> [word.place for word in read_words("It burned. Twice.")]
    [0, 1, 6]
    """
    out: list[Word] = []
    place = clause = 0
    for found in _WORD.findall(text):
        if found in '.!?;:,()"':
            place += 1 if found == "," else _END_WORDS
            clause += 1
        else:
            lower = found.lower()
            stems = frozenset(map(uninflected, _PARTS.split(lower)))
            out.append(Word(found, lower, stems, place, clause))
            place += 1
    return out


def spans(words: Sequence[Word], reading: Reading) -> Iterator[Span]:
    """Yield every span of the type that the question asks for."""
    kind, asked = reading.answer_type, frozenset(reading.stems)
    if kind in ("year", "colour"):
        for i, word in enumerate(words):
            if _is_year(word) if kind == "year" else word.lower in VOCABULARY["colours"]:
                yield _span(words, i, i, 1.0)
    elif kind == "number":
        yield from _numbers(words, reading)
    else:
        yield from _names(words, asked, kind)
        if kind == "thing":
            yield from _things(words, asked)


def _span(words: Sequence[Word], first: int, last: int, fit: float) -> Span:
    text = " ".join(word.text for word in words[first : last + 1])
    return Span(text, words[first].place, words[last].place, fit)


def _next(words: Sequence[Word], i: int) -> Word | None:
    """Return the word after words[i] in the same clause."""
    if i + 1 < len(words) and words[i + 1].clause == words[i].clause:
        return words[i + 1]
    return None


def _runs(words: Sequence[Word], belongs: Callable[[int], bool]) -> Iterator[tuple[int, int]]:
    """Yield where each longest run of words that belong begins and ends, within a clause."""
    for (_, found), run in groupby(range(len(words)), lambda i: (words[i].clause, belongs(i))):
        if found:
            first, *others = run
            yield first, others[-1] if others else first


def _is_year(word: Word) -> bool:
    return _YEAR.fullmatch(word.text) is not None


def _is_number(word: Word) -> bool:
    if _FIGURE.fullmatch(word.lower):
        return not _is_year(word)
    return all(part in VOCABULARY["numbers"] for part in word.lower.split("-"))


def _numbers(words: Sequence[Word], reading: Reading) -> Iterator[Span]:
    """Yield every number, with the word behind it where that may be its unit."""
    for first, last in _runs(words, lambda i: _is_number(words[i])):
        unit = _next(words, last)
        if reading.units:
            fit = 1.0 if unit is not None and unit.lower in reading.units else 0.2
        elif unit is None:
            fit = 0.4
        else:
            fit = 1.0 if unit.stems & frozenset(reading.stems) else 0.6
        number = _span(words, first, last, fit)
        if unit is not None and unit.lower not in STOP_WORDS:
            number = Span(f"{number.text} {unit.text}", number.first, number.last, fit)
        yield number


def _names(words: Sequence[Word], asked: frozenset[str], kind: str) -> Iterator[Span]:
    """Yield every whole sequence of capitalised words."""
    for first, last in _runs(words, lambda i: _is_name(words, i, asked)):
        fit = 1.0
        if kind == "person":
            whole = 1 <= last - first <= 2 and words[last].lower not in VOCABULARY["bodies"]
            fit = 1.0 if whole else 0.4
        elif kind == "place":
            before = words[first - 1].lower if first else ""
            fit = 1.0 if before in ("in", "at", "on", "near", "the") else 0.7
        elif kind == "thing":
            fit = 0.7
        yield _span(words, first, last, fit)


def _is_name(words: Sequence[Word], i: int, asked: frozenset[str]) -> bool:
    word = words[i]
    if not word.text[0].isupper() or word.stems & asked or word.lower in VOCABULARY["calendar"]:
        return False
    opens = i == 0 or words[i - 1].place < word.place - 1
    if word.lower in (STOP_WORDS if opens else _NEVER_NAMES):
        return False
    after = _next(words, i)
    # The capital that opens a sentence says nothing by itself.
    return not opens or after is None or after.text[0].isupper() or after.lower in _COPULAS


def _things(words: Sequence[Word], asked: frozenset[str]) -> Iterator[Span]:
    """Yield short runs of lower-case content words; whole noun phrases fit best."""
    for begin, end in _runs(words, lambda i: _is_plain(words[i], asked)):
        led = begin > 0 and words[begin - 1].clause == words[begin].clause
        led = led and words[begin - 1].lower in _LEADING
        for first in range(begin, end + 1):
            starts = 0.4 if first > begin else 1.0 if led else 0.6
            for last in range(first, min(first + _MAX_WORDS, end + 1)):
                ends = 1.0
                if words[last].lower.endswith(_VERBAL):
                    ends = 0.4
                elif last < end and not words[last + 1].lower.endswith(_VERBAL):
                    ends = 0.6
                yield _span(words, first, last, starts * ends)


def _is_plain(word: Word, asked: frozenset[str]) -> bool:
    return (
        word.text[0].islower()
        and word.lower not in STOP_WORDS
        and not word.stems & asked
        and not word.lower.endswith("ly")
        and not _is_number(word)
    )
