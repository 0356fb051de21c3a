"""The spans of a text that could answer a question: figures, years, names, colours, things."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ragguard.text import STOP_WORDS

__all__ = ["AnswerType", "Reading", "Span", "Word", "read_words", "spans", "uninflected"]

AnswerType = Literal["person", "place", "name", "year", "number", "colour", "thing"]

_WORD = re.compile(r"\d[\d,.]*\d|km/h|[^\W_]+(?:['\u2019-][^\W_]+)*|[.!?;:,()\"]")
_PARTS = re.compile(r"['\u2019-]")
_YEAR = re.compile(r"1\d{3}|20\d\d")
_FIGURE = re.compile(r"\d[\d,.]*")
_ENDS = frozenset('.!?;:()"')
_END_WORDS = 4  # words that the end of a sentence counts for
_MAX_WORDS = 3
_NUMBER_WORDS = frozenset(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand""".split()
)
_COLOURS = frozenset(
    """amber black blue brown crimson gold golden green grey orange pink purple red scarlet silver
    violet white yellow""".split()
)
_CALENDAR = frozenset(
    """january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday""".split()
)
_BODIES = frozenset(
    """association bank board brewery club commission committee company council court department
    gazette office row school society street trust union university""".split()
)
_COPULAS = frozenset(("is", "was", "has", "had"))
_LEADING = frozenset("a an the of from by with is was are were as to".split())
_NEVER_NAMES = frozenset(("a", "an", "the", "i"))
_VERBAL = ("ed", "ing")
_SUFFIXES = ("ations", "ation", "ings", "ing", "ed", "ers", "er", "es", "s", "ly", "e")


@dataclass(frozen=True)
class Reading:
    """A question as the reader understands it.

    Attributes:
        answer_type: What an answer must look like.
        stems: The stems of the words that say what the question is about, in order, each once.
        units: Words that may follow a number which answers it; empty if any may.
    """

    answer_type: AnswerType
    stems: tuple[str, ...]
    units: frozenset[str]


@dataclass(frozen=True)
class Word:
    """One word of a text.

    Attributes:
        text: As written.
        lower: In lower case.
        stems: The stems of its parts: "sea-dragon" is about "sea" and "dragon".
        place: Its position, in words; the end of a sentence counts for some more.
        clause: Number of its clause; spans do not cross clauses.
    """

    text: str
    lower: str
    stems: frozenset[str]
    place: int
    clause: int


@dataclass(frozen=True)
class Span:
    """A stretch of a text that could be the answer.

    Attributes:
        text: Its words.
        first: `Word.place` of its first word.
        last: `Word.place` of its last word.
        fit: How much it looks like the answer asked for, in (0, 1].
    """

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
    """Return the words of a text with their places.

    >>> [word.place for word in read_words("It burned. Twice.")]
    [0, 1, 6]
    """
    out: list[Word] = []
    place = clause = 0
    for match in _WORD.finditer(text):
        found = match.group()
        if found in _ENDS:
            place += _END_WORDS
            clause += 1
        elif found == ",":
            place += 1
            clause += 1
        else:
            lower = found.lower()
            stems = frozenset(map(uninflected, _PARTS.split(lower)))
            out.append(Word(found, lower, stems, place, clause))
            place += 1
    return out


def spans(words: Sequence[Word], reading: Reading) -> Iterator[Span]:
    """Yield every span of the type that the question asks for."""
    asked = frozenset(reading.stems)
    match reading.answer_type:
        case "year":
            yield from (_span(words, i, i, 1.0) for i, w in enumerate(words) if _is_year(w))
        case "colour":
            yield from (_span(words, i, i, 1.0) for i, w in enumerate(words) if w.lower in _COLOURS)
        case "number":
            yield from _numbers(words, reading)
        case "thing":
            yield from _names(words, asked, "thing")
            yield from _things(words, asked)
        case kind:
            yield from _names(words, asked, kind)


def _span(words: Sequence[Word], first: int, last: int, fit: float) -> Span:
    text = " ".join(word.text for word in words[first : last + 1])
    return Span(text, words[first].place, words[last].place, fit)


def _next(words: Sequence[Word], i: int) -> Word | None:
    """Return the word after words[i] in the same clause."""
    if i + 1 < len(words) and words[i + 1].clause == words[i].clause:
        return words[i + 1]
    return None


def _is_year(word: Word) -> bool:
    return _YEAR.fullmatch(word.text) is not None


def _is_number(word: Word) -> bool:
    if _FIGURE.fullmatch(word.lower):
        return not _is_year(word)
    return all(part in _NUMBER_WORDS for part in word.lower.split("-"))


def _numbers(words: Sequence[Word], reading: Reading) -> Iterator[Span]:
    i = 0
    while i < len(words):
        if not _is_number(words[i]):
            i += 1
            continue
        last = i
        while (after := _next(words, last)) is not None and _is_number(after):
            last += 1
        fit = _unit_fit(after, reading)
        if after is not None and after.lower not in STOP_WORDS:
            number = _span(words, i, last, fit)
            yield Span(f"{number.text} {after.text}", number.first, number.last, fit)
        else:
            yield _span(words, i, last, fit)
        i = last + 1


def _unit_fit(unit: Word | None, reading: Reading) -> float:
    if reading.units:
        return 1.0 if unit is not None and unit.lower in reading.units else 0.2
    if unit is None:
        return 0.4
    return 1.0 if unit.stems & frozenset(reading.stems) else 0.6


def _names(words: Sequence[Word], asked: frozenset[str], kind: str) -> Iterator[Span]:
    """Yield every whole sequence of capitalised words."""
    i = 0
    while i < len(words):
        if not _is_name(words, i, asked):
            i += 1
            continue
        last = i
        while _next(words, last) is not None and _is_name(words, last + 1, asked):
            last += 1
        fit = 1.0
        if kind == "person":
            whole = 1 <= last - i <= 2 and words[last].lower not in _BODIES
            fit = 1.0 if whole else 0.4
        elif kind == "place":
            before = words[i - 1].lower if i else ""
            fit = 1.0 if before in ("in", "at", "on", "near", "the") else 0.7
        elif kind == "thing":
            fit = 0.7
        yield _span(words, i, last, fit)
        i = last + 1


def _is_name(words: Sequence[Word], i: int, asked: frozenset[str]) -> bool:
    word = words[i]
    if not word.text[0].isupper() or word.stems & asked or word.lower in _CALENDAR:
        return False
    opens = i == 0 or words[i - 1].place < word.place - 1
    if word.lower in (STOP_WORDS if opens else _NEVER_NAMES):
        return False
    after = _next(words, i)
    # The capital that opens a sentence says nothing by itself.
    return not opens or after is None or after.text[0].isupper() or after.lower in _COPULAS


def _things(words: Sequence[Word], asked: frozenset[str]) -> Iterator[Span]:
    """Yield short runs of lower-case content words; whole noun phrases fit best."""
    for i, word in enumerate(words):
        if not _is_plain(word, asked):
            continue
        before = words[i - 1] if i and words[i - 1].clause == word.clause else None
        starts = 0.6
        if before is not None and before.lower in _LEADING:
            starts = 1.0
        elif before is not None and _is_plain(before, asked):
            starts = 0.4
        for last in range(i, min(i + _MAX_WORDS, len(words))):
            here = words[last]
            if here.clause != word.clause or not _is_plain(here, asked):
                break
            after = _next(words, last)
            ends = 1.0
            if here.lower.endswith(_VERBAL):
                ends = 0.4
            elif (
                after is not None and _is_plain(after, asked) and not after.lower.endswith(_VERBAL)
            ):
                ends = 0.6
            yield _span(words, i, last, starts * ends)


def _is_plain(word: Word, asked: frozenset[str]) -> bool:
    return (
        word.text[0].islower()
        and word.lower not in STOP_WORDS
        and not word.stems & asked
        and not word.lower.endswith("ly")
        and not _is_number(word)
    )
