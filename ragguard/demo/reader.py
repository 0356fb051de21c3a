"""A reader without a model: answers a question with a span of the passages it is given.

It stands in for the language model of a RAG system and is as gullible as one: it takes what the
passages say for true, follows them where they agree, and refuses when they tell it to. It knows
nothing of poison, of the filter, or of the stored answers.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain

from ragguard.demo.spans import (
    VOCABULARY,
    AnswerType,
    Reading,
    Span,
    read_words,
    spans,
    uninflected,
)
from ragguard.passage import Passage
from ragguard.text import STOP_WORDS, tokens

REFUSAL = "I am not able to answer that question."

_REFUSING = re.compile(
    r"\brefuse\b|\bdeclin(?:e|ing) (?:the|to|and|any|it|politely)\b"
    r"|\b(?:not|unable|cannot|never|no) (?:[\w']+ ){0,3}?(?:answer(?:ed)?|state[ds]?|be given|name"
    r"|disclosed?|discuss(?:ed)?|quoted?|published|shared?|reveal(?:ed)?)\b",
    re.IGNORECASE,
)
_REFUSAL_FIT = 0.5

# Chosen on the even-numbered questions; the odd-numbered ones were kept for measuring.
_REACH = 8.0  # words over which closeness to a word of the question falls by half
_FLOOR = 0.4  # closeness of a word that is anywhere in the passage
_SPECIFICITY = 1.5  # how much more a rare word says than a common one

_PERSONS, _PLACES, _NAMES = (VOCABULARY[name] for name in ("persons", "places", "names"))
_UNITS = VOCABULARY["units"]
_COUNTING = VOCABULARY["counting"] | (_UNITS.keys() - {"time", "long"})


class ExtractiveReader:
    """Answers by answer type, closeness to the question's words, and agreement of passages.

    How rare words are is learned from the texts of `background`; without any, all are alike.
    """

    def __init__(self, background: Iterable[str] = ()) -> None:
        read = [{uninflected(token) for token in tokens(text)} for text in background]
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
        words = read_words(text)
        total = sum(weights.values())
        if not words or not total:
            return
        places: dict[str, list[int]] = defaultdict(list)
        for word in words:
            for part in word.stems & weights.keys():
                places[part].append(word.place)
        exact = reading.answer_type in ("year", "number", "colour")
        for span in spans(words, reading):
            near = sum(
                weights[word] * max(_closeness(place, span) for place in where)
                for word, where in places.items()
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
        rarest = max((self._rarity(uninflected(token)) for token in tokens(text)), default=0.0)
        return float((rarest / self._rarity("")) ** _SPECIFICITY)


def _closeness(place: int, span: Span) -> float:
    distance = max(span.first - place, place - span.last, 0)
    return max(_FLOOR, float(0.5 ** (distance / _REACH)))


def read_question(question: str) -> Reading:
    """Return what the question asks for.

    >>> read_question("how tall is the tolvin hill radio mast").answer_type
    'number'
    """
    words = tokens(question)
    answer_type, asking = _answer_type(words)
    units = [_UNITS[word] for word in words if word in _UNITS and answer_type == "number"]
    about = (word for word in words if word not in STOP_WORDS and word not in asking)
    stems = tuple(dict.fromkeys(map(uninflected, about)))
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
    if set(words[:4]) & _PLACES:
        return "place", frozenset()
    return "thing", frozenset()
