"""What kind of answer a question asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragguard.text import STOP_WORDS, tokens

__all__ = ["AnswerType", "Reading", "read_question", "stem"]

AnswerType = Literal["person", "place", "name", "year", "number", "colour", "thing"]

_PERSONS = frozenset(
    """advocate architect artist author captain composer director discoverer doctor engineer
    explorer founder inventor judge lawyer man master naturalist painter person poet presenter
    runner scientist sculptor skipper woman writer""".split()
)
_PLACES = frozenset("building ground home house stadium street town valley venue village".split())
_NAMES = frozenset("called call firm named name nickname nicknamed title vessel".split())
_TIME = frozenset("day days hour hours minute minutes month months week weeks year years".split())
_LENGTH = frozenset(
    "centimetre centimetres feet kilometre kilometres metre metres mile miles".split()
)
_UNITS: dict[str, frozenset[str]] = {
    "tall": _LENGTH,
    "high": _LENGTH,
    "height": _LENGTH,
    "wide": _LENGTH,
    "deep": _LENGTH,
    "far": _LENGTH,
    "diameter": _LENGTH,
    "length": _LENGTH,
    "size": _LENGTH,
    "extent": _LENGTH,
    "long": _LENGTH | _TIME,
    "time": _TIME,
    "hot": frozenset(("degree", "degrees")),
    "temperature": frozenset(("degree", "degrees")),
    "weigh": frozenset("kilogram kilograms kilos ton tons tonne tonnes gram grams".split()),
    "mass": frozenset("kilogram kilograms kilos ton tons tonne tonnes gram grams".split()),
    "speed": frozenset(("km/h", "knots", "kilometres")),
    "gust": frozenset(("km/h", "knots", "kilometres")),
    "money": frozenset(("mark", "marks", "bits")),
    "cash": frozenset(("mark", "marks", "bits")),
}
_COUNTING = frozenset("number total capacity margin".split())
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


def stem(word: str) -> str:
    """Return a lower-case word without its inflection.

    >>> stem("designed"), stem("designer"), stem("locks")
    ('design', 'design', 'lock')
    """
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4 - (suffix in ("s", "e")):
            return word.removesuffix(suffix)
    return word


def read_question(question: str) -> Reading:
    """Return what the question asks for.

    >>> read_question("how tall is the tolvin hill radio mast").answer_type
    'number'
    """
    words = tokens(question)
    present = set(words)
    answer_type, asking = _answer_type(words, present)
    units: frozenset[str] = frozenset()
    if answer_type == "number":
        units = frozenset().union(*(_UNITS[word] for word in words if word in _UNITS))
    about = dict.fromkeys(
        stem(word) for word in words if word not in STOP_WORDS and word not in asking
    )
    return Reading(answer_type, tuple(about), units)


def _answer_type(words: list[str], present: set[str]) -> tuple[AnswerType, frozenset[str]]:
    """Return the answer's type and the words that only ask, such as "many" in "how many"."""
    opening = words[:3]
    if present & {"who", "whom", "whose"}:
        return "person", frozenset()
    if words[:1] == ["when"] or ("year" in present and present & {"what", "which"}):
        return "year", frozenset(("year",))
    if "how" in opening:
        after = words[words.index("how") + 1 :][:1]
        if after and (after[0] in _UNITS or after[0] in ("many", "much")):
            return "number", frozenset(("many", "much", after[0], "money"))
    if "where" in present:
        return "place", frozenset()
    if set(opening) & {"colour", "color"} or "tinted" in present:
        return "colour", frozenset()
    if set(opening) & _PERSONS:
        return "person", frozenset()
    if set(words) & _NAMES:
        person = present & _PERSONS
        return ("person" if person else "name"), frozenset(_NAMES - {"title"})
    if set(words[:7]) & (_COUNTING | (_UNITS.keys() - {"time", "long"})):
        return "number", frozenset(("number", "total"))
    if set(words[:4]) & _PLACES:
        return "place", frozenset()
    return "thing", frozenset()
