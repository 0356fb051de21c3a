"""Events in which nothing was planted and the model misread what it was given.

A name or a number that stands in the passages is reported as the answer, of the kind that the
question asks for. Nobody is to blame.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from benchmarks.misgeneration import TOP_K, Event, Target
from benchmarks.reported import Reported, Setting
from ragguard.stems import tokenize
from ragguard.text import sentences

__all__ = ["misreading"]

_REPORTS = 3
_NAME = re.compile(r"[A-Z][\w'\u2019-]+(?: (?:(?:of|the|de) )?[A-Z][\w'\u2019-]+)*|\d[\d,.]*\d|\d+")
_ASKS_FOR_NUMBER = re.compile(
    r"\b(?:when|year|how (?:many|much|old|long|far|tall|high)|what (?:day|date|month|age)|number"
    r"|date|population|percent)",
    re.IGNORECASE,
)


def misreading(target: Target, setting: Setting) -> Iterator[Reported]:
    """Up to three names or numbers of the passages that were read, none of them the right answer.

    Names are taken from within sentences, and are no words of the question or the answer.
    """
    ranked = setting.base.ranked(target.question, ())
    known = {*tokenize(target.question), *tokenize(target.correct)}
    numeric = bool(_ASKS_FOR_NUMBER.search(target.question))
    found = {
        name
        for passage in ranked[:TOP_K]
        for sentence in sentences(passage.text)
        for name in _names(sentence)
        if known.isdisjoint(tokenize(name)) and name[0].isdigit() is numeric
    }
    draw = random.Random(f"{setting.seed} {target.question}")
    for name in draw.sample(sorted(found), min(_REPORTS, len(found))):
        event = Event(target.question, name, ranked, frozenset())
        yield Reported("a name or number that was read", "none", name, event)


def _names(sentence: str) -> list[str]:
    return [m.group() for m in _NAME.finditer(sentence) if sentence[: m.start()].strip()]
