"""A reader without a model: answers a question with a span of the passages it is given.

It stands in for the language model of a RAG system and is as gullible as one: it takes what the
passages say for true, follows them where they agree, and refuses when they tell it to. It knows
nothing of poison, of the filter, or of the stored answers.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Literal, Self

from ragguard.demo.corpus import VOCABULARY
from ragguard.passage import Passage
from ragguard.text import STOP_WORDS, tokens

REFUSAL = "I am not able to answer that question."

_REFUSING = re.compile(
    r"\brefuse\b|\bdeclin(?:e|ing) (?:the|to|and|any|it|politely)\b"
    r"|\b(?:not|unable|cannot|never|no) (?:[\w']+ ){0,3}?(?:answer(?:ed)?|state[ds]?|be given|name"
    r"|disclosed?|discuss(?:ed)?|quoted?|published|shared?|reveal(?:ed)?)\b",
    re.IGNORECASE,
)
# Chosen on the even-numbered questions; the odd-numbered ones were kept for measuring.
_REACH = 8.0  # words over which closeness to a word of the question falls by half
_FLOOR = 0.4  # closeness of a word that is anywhere in the passage
_SPECIFICITY = 1.5  # how much more a rare word says than a common one
_REFUSAL_FIT = 0.5

AnswerType = Literal["person", "place", "name", "year", "number", "colour", "thing"]
_PERSONS, _NAMES, _UNITS = (VOCABULARY[name] for name in ("persons", "names", "units"))
_COUNTING = VOCABULARY["counting"] | (_UNITS.keys() - {"time", "long"})

_WORD = re.compile(r"\d[\d,.]*\d|km/h|[^\W_]+(?:['\u2019-][^\W_]+)*|[.!?;:,()\"]")
_YEAR, _FIGURE = re.compile(r"1\d{3}|20\d\d"), re.compile(r"\d[\d,.]*")
_END_WORDS = 4  # words that the end of a sentence counts for
_MAX_WORDS = 3
_VERBAL = ("ed", "ing")
_SUFFIXES = ("ations", "ation", "ings", "ing", "ed", "ers", "er", "es", "s", "ly", "e")


@dataclass(frozen=True)
class Reading:
    """A question as the reader understands it."""

    answer_type: AnswerType
    stems: tuple[str, ...]  # of the words that say what it is about, in order, each once
    units: frozenset[str]  # words that may follow a number which answers it; empty if any may


@dataclass(frozen=True)
class _Word:
    """One word: its parts' stems, and its place in the text, in words."""

    text: str
    lower: str
    stems: frozenset[str]
    place: int

    @classmethod
    def of(cls, text: str, place: int) -> Self:
        stems = map(_stem, re.split(r"['\u2019-]", text.lower()))
        return cls(text, text.lower(), frozenset(stems), place)


_Clause = Sequence[_Word]  # without any mark between them: no span leaves it


@dataclass(frozen=True)
class _Span:
    """What could be the answer: its words, their places, and how well it fits, in (0, 1]."""

    text: str
    first: int
    last: int
    fit: float

    def closeness(self, place: int) -> float:
        """Return how close a word stands to it, in [0.4, 1]."""
        distance = max(self.first - place, place - self.last, 0)
        return max(_FLOOR, float(0.5 ** (distance / _REACH)))


class ExtractiveReader:
    """Answers by answer type, closeness to the question's words, and agreement of passages.

    How rare words are is learned from the texts of `background`; without any, all are alike.
    """

    def __init__(self, background: Iterable[str] = ()) -> None:
        read = [{_stem(token) for token in tokens(text)} for text in background]
        self._texts, self._texts_with = len(read), Counter(chain.from_iterable(read))

    def answer(self, question: str, passages: Sequence[Passage]) -> str:
        """Return the span of the passages that best answers the question, or "" if none could."""
        reading = read_question(question)
        weights = {word: self._rarity(word) for word in reading.stems}
        support: dict[str, dict[str, float]] = defaultdict(dict)  # by passage, each in [0, 1]
        spelling: dict[str, str] = {"": ""}
        for passage in passages:
            for text, score in self._candidates(passage.text, reading, weights):
                key = " ".join(tokens(text))
                spelling.setdefault(key, text)
                support[key][passage.id] = max(score, support[key].get(passage.id, 0.0))
        best = max(support, key=lambda key: sum(support[key].values()), default="")
        return spelling[best]

    def _candidates(
        self, text: str, reading: Reading, weights: Mapping[str, float]
    ) -> Iterator[tuple[str, float]]:
        """Yield every possible answer in one passage, with its score in [0, 1]."""
        clauses = _read_clauses(text)
        total = sum(weights.values())
        if not clauses or not total:
            return
        places: dict[str, list[int]] = defaultdict(list)
        for word in chain.from_iterable(clauses):
            for part in word.stems & weights.keys():
                places[part].append(word.place)
        exact = reading.answer_type in ("year", "number", "colour")
        for span in _spans(clauses, reading):
            near = sum(
                weights[word] * max(map(span.closeness, where)) for word, where in places.items()
            )
            specific = 1.0 if exact else self._specificity(span.text)
            yield span.text, span.fit * specific * (near / total) ** 2
        if _REFUSING.search(text):
            about = sum(weights[word] for word in places) / total
            yield REFUSAL, _REFUSAL_FIT * about**2

    def _rarity(self, word: str) -> float:
        return math.log((self._texts + 1.0) / (self._texts_with.get(word, 0) + 0.5)) + 1.0

    def _specificity(self, text: str) -> float:
        """Return 1 for a text with a word never seen before, towards 0 for common words."""
        rarest = max((self._rarity(_stem(token)) for token in tokens(text)), default=0.0)
        return float((rarest / self._rarity("")) ** _SPECIFICITY)


def read_question(question: str) -> Reading:
    """Return what the question asks for.

    >>> read_question("how tall is the tolvin hill radio mast").answer_type
    'number'
    """
    words = tokens(question)
    answer_type, asking = _answer_type(words)
    units = [_UNITS[word] for word in words if word in _UNITS and answer_type == "number"]
    about = (word for word in words if word not in STOP_WORDS and word not in asking)
    stems = tuple(dict.fromkeys(map(_stem, about)))
    return Reading(answer_type, stems, frozenset().union(*units))


def _answer_type(words: list[str]) -> tuple[AnswerType, Set[str]]:
    """Return the answer's type and the words that only ask, such as "many" in "how many"."""
    present, opening = set(words), set(words[:3])
    if present & {"who", "whom", "whose"}:
        return "person", frozenset()
    if words[:1] == ["when"] or ("year" in present and present & {"what", "which"}):
        return "year", {"year"}
    if "how" in opening:
        (after,) = words[words.index("how") + 1 :][:1] or [""]
        if after in _UNITS or after in ("many", "much"):
            return "number", {"many", "much", after, "money"}
    if "where" in present:
        return "place", frozenset()
    if opening & {"colour", "color"} or "tinted" in present:
        return "colour", frozenset()
    if opening & _PERSONS:
        return "person", frozenset()
    if present & _NAMES:
        return ("person" if present & _PERSONS else "name"), _NAMES - {"title"}
    if set(words[:7]) & _COUNTING:
        return "number", {"number", "total"}
    return ("place" if set(words[:4]) & VOCABULARY["places"] else "thing"), frozenset()


def _stem(word: str) -> str:
    """Return a lower-case word without its inflection."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4 - (suffix in ("s", "e")):
            return word.removesuffix(suffix)
    return word


def _read_clauses(text: str) -> list[_Clause]:
    """Return the words of a text; the end of a sentence counts for some more."""
    out: list[_Clause] = []
    place = 0
    for is_mark, run in groupby(_WORD.findall(text), '.!?;:,()"'.__contains__):
        if is_mark:
            place += sum(1 if mark == "," else _END_WORDS for mark in run)
            continue
        out.append([_Word.of(found, at) for at, found in enumerate(run, start=place)])
        place += len(out[-1])
    return out


def _spans(clauses: Sequence[_Clause], reading: Reading) -> Iterator[_Span]:
    """Yield every span of the type that the question asks for."""
    kind, asked = reading.answer_type, frozenset(reading.stems)
    for words in clauses:
        if kind in ("year", "colour"):
            for i, word in enumerate(words):
                if _is_year(word) if kind == "year" else word.lower in VOCABULARY["colours"]:
                    yield _span(words, i, i, 1.0)
        elif kind == "number":
            yield from _numbers(words, reading)
        else:
            yield from _capitalised(words, asked, kind)
    if kind == "thing":
        yield from chain.from_iterable(_things(words, asked) for words in clauses)


def _span(words: _Clause, first: int, last: int, fit: float) -> _Span:
    text = " ".join(word.text for word in words[first : last + 1])
    return _Span(text, words[first].place, words[last].place, fit)


def _runs(words: _Clause, belongs: Callable[[int], bool]) -> Iterator[tuple[int, int]]:
    """Yield where each longest run of words that belong begins and ends."""
    for found, run in groupby(range(len(words)), belongs):
        if found:
            places = list(run)
            yield places[0], places[-1]


def _is_year(word: _Word) -> bool:
    return _YEAR.fullmatch(word.text) is not None


def _is_number(word: _Word) -> bool:
    if _FIGURE.fullmatch(word.lower):
        return not _is_year(word)
    return all(part in VOCABULARY["numbers"] for part in word.lower.split("-"))


def _numbers(words: _Clause, reading: Reading) -> Iterator[_Span]:
    """Yield every number, with the word behind it where that may be its unit."""
    for first, last in _runs(words, lambda i: _is_number(words[i])):
        unit = words[last + 1] if last + 1 < len(words) else None
        if unit is None:
            fit = 0.2 if reading.units else 0.4
        elif reading.units:
            fit = 1.0 if unit.lower in reading.units else 0.2
        else:
            fit = 1.0 if unit.stems & frozenset(reading.stems) else 0.6
        number = _span(words, first, last, fit)
        if unit is not None and unit.lower not in STOP_WORDS:
            number = replace(number, text=f"{number.text} {unit.text}")
        yield number


def _capitalised(words: _Clause, asked: frozenset[str], kind: str) -> Iterator[_Span]:
    """Yield every whole sequence of capitalised words."""
    for first, last in _runs(words, lambda i: _is_name(words, i, asked)):
        fit = 1.0
        if kind == "person":
            whole = 1 <= last - first <= 2 and words[last].lower not in VOCABULARY["bodies"]
            fit = 1.0 if whole else 0.4
        elif kind != "name":
            before = words[first - 1].lower if first and kind == "place" else ""
            fit = 1.0 if before in ("in", "at", "on", "near", "the") else 0.7
        yield _span(words, first, last, fit)


def _is_name(words: _Clause, i: int, asked: frozenset[str]) -> bool:
    word = words[i]
    if not word.text[0].isupper() or word.stems & asked or word.lower in VOCABULARY["calendar"]:
        return False
    if word.lower in (VOCABULARY["never_names"] if i else STOP_WORDS):
        return False
    after = words[i + 1] if i + 1 < len(words) else None
    # The capital that opens a sentence says nothing by itself.
    followed = after is None or after.text[0].isupper() or after.lower in VOCABULARY["copulas"]
    return i > 0 or followed


def _things(words: _Clause, asked: frozenset[str]) -> Iterator[_Span]:
    """Yield short runs of lower-case content words; whole noun phrases fit best."""
    for begin, end in _runs(words, lambda i: _is_plain(words[i], asked)):
        led = begin > 0 and words[begin - 1].lower in VOCABULARY["leading"]
        for first in range(begin, end + 1):
            starts = 0.4 if first > begin else 1.0 if led else 0.6
            for last in range(first, min(first + _MAX_WORDS, end + 1)):
                whole = last == end or words[last + 1].lower.endswith(_VERBAL)
                ends = 0.4 if words[last].lower.endswith(_VERBAL) else 1.0 if whole else 0.6
                yield _span(words, first, last, starts * ends)


def _is_plain(word: _Word, asked: frozenset[str]) -> bool:
    if word.lower in STOP_WORDS or word.stems & asked or word.lower.endswith("ly"):
        return False
    return word.text[0].islower() and not _is_number(word)
