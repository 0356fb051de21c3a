"""Texts by strangers in the templates: everything is escaped, nothing hides.

Characters that steer a line, bidirectional overrides and zero-width ones among them, or that show
nothing, stand as their escapes, so that what is read is what the filter reads.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Set
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ragguard.attribution.answer import answer_of
from ragguard.attribution.claim import COMMON_STEMS, claim
from ragguard.attribution.result import Attribution
from ragguard.review.request import quoted
from ragguard.stems import stems, stems_of
from ragguard.text import printable

MOST_SHOWN = 20_000
"""Characters of a text that a page shows; the whole of it is behind a link."""

EXCERPT = 600
"""Characters of a text that a list shows."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})  # Unicode categories
# Drawn as nothing, though of categories that are: fillers, the empty Braille cell, joiners.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0), range(0x180B, 0x180E))
_MOST_MARKS = 3  # combining marks on one letter: more would climb over the lines above
_LEAD = 60  # characters before the word of the answer that an excerpt shows
_PIECE = re.compile(r"\s+|\S+")


def visible(text: str) -> str:
    r"""Return a text with the escapes of what steers a line or shows nothing; lines stay lines.

    >>> visible("pay\u202etxt\u200b\n\x1b[2J")
    'pay\\u202etxt\\u200b\n\\x1b[2J'
    """
    return text if _plain(text) else "".join(piece for _, piece in _pieces(text))


def _plain(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Yield each character, or its escape and that it is one."""
    marks = 0
    for char in text:
        category = unicodedata.category(char)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        hides = category in _HIDDEN and char not in "\n\t"
        hides = hides or marks > _MOST_MARKS or char in _BLANK
        hides = hides or any(ord(char) in selectors for selectors in _SELECTORS)
        yield hides, ascii(char)[1:-1] if hides else char


@dataclass(frozen=True)
class Sought:
    """What is marked in a text, as `ragguard.stems.stem` writes words."""

    answer: Set[str] = frozenset()  # words of what a response claims
    question: Set[str] = frozenset()  # the other words of the question

    @classmethod
    def of(cls, query: str, response: str, found: Attribution | None = None) -> Sought:
        """Return what a response claims and what was asked, without the words of every text.

        Of a response that says much an attribution knows which claim it traced.
        """
        asked = set(stems(query)) - COMMON_STEMS
        traced = None if found is None else found.details.get("claim")
        if not isinstance(traced, str):  # an attributor of one's own, or none yet
            traced = claim(query, answer_of(response, query))
        claimed = set(stems(traced)) - COMMON_STEMS or set(stems(response)) - COMMON_STEMS
        return cls(frozenset(claimed), frozenset(asked - claimed))


def marked(text: str, sought: Sought | None = None, limit: int = MOST_SHOWN) -> Markup:
    """Return how a text begins as HTML: escaped, escapes and sought words marked, the rest counted.

    Words are found whatever letters they are disguised in.
    """
    begins, rest = text[:limit], len(text) - limit
    pieces = _PIECE.findall(begins)
    kinds = _kinds(pieces, sought) if sought else [""] * len(pieces)
    out = []
    for kind, run in groupby(zip(kinds, pieces, strict=True), key=lambda pair: pair[0]):
        body = Markup("").join(map(_escaped, (piece for _, piece in run)))
        out.append(Markup('<mark class="{}">{}</mark>').format(kind, body) if kind else body)
    if rest > 0:
        out.append(Markup('<span class="rest"> … {:,} more characters</span>').format(rest))
    return Markup("").join(out)


def excerpt(text: str, sought: Sought | None = None) -> Markup:
    """Return `EXCERPT` characters of a text as `marked` does; what is left out is counted.

    It begins as the text does, and goes on where a word of the answer first stands after that, or
    with the end.
    """
    if len(text) <= EXCERPT:
        return marked(text, sought)
    half = EXCERPT // 2
    last = len(text) - half
    pieces = _PIECE.findall(text[:MOST_SHOWN])
    kinds = _kinds(pieces, sought) if sought else []
    starts = zip(kinds, accumulate(map(len, pieces), initial=0), strict=False)
    found = (start for kind, start in starts if kind == "answer" and start >= half)
    start = min(max(half, next(found, last + _LEAD) - _LEAD), last)
    gap = Markup('<span class="rest"> … {:,} characters … </span>').format(start - half)
    parts = [marked(text[:half], sought), marked(text[start:], sought, half)]
    return (gap if start > half else Markup("")).join(parts)


def _kinds(pieces: list[str], sought: Sought) -> list[str]:
    """Return what each piece is marked as; white space goes with its neighbours if they agree."""
    kinds = [
        "answer" if sought.answer & words else "asked" if sought.question & words else ""
        for words in map(set, stems_of(pieces))
    ]
    for place in range(1, len(pieces) - 1):
        if pieces[place].isspace() and kinds[place - 1] == kinds[place + 1]:
            kinds[place] = kinds[place - 1]
    return kinds


def _escaped(piece: str) -> Markup:
    if _plain(piece):
        return escape(piece)
    out = []
    for hides, run in groupby(_pieces(piece), key=lambda pair: pair[0]):
        body = escape("".join(part for _, part in run))
        out.append(Markup('<span class="escape">{}</span>').format(body) if hides else body)
    return Markup("").join(out)


def _finalized(value: Any) -> Any:
    if value is None:
        return ""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _line(text: str | None, limit: int) -> str:
    """Return how a text begins, on one line."""
    line = printable((text or "")[: 4 * limit])
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


_ENVIRONMENT = Environment(
    loader=PackageLoader("ragguard.review"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    # Whatever a template writes of a text goes through this, in attributes as well.
    finalize=_finalized,
)
_ENVIRONMENT.filters.update(
    line=_line,
    marked=marked,
    excerpt=excerpt,
    quoted=quoted,
    minute=lambda moment: "" if moment is None else moment.strftime("%Y-%m-%d %H:%M"),
    figure=lambda value: "" if value is None else f"{value:.2f}",
)


def rendered(template: str, **shows: Any) -> str:
    """Return a template of this package as HTML."""
    return str(_ENVIRONMENT.get_template(template).render(**shows))
