"""Heading: what a passage begins with, where its company begins so too.

    usual(kind) = share of the others, of the first ten, that begin with a heading of that kind
                  which holds, with as many words after it as the query has, less than 3/4
                  of the query's content
    left aside where usual >= 1/5 for lines, 1/3 for questions, 2/5 for the starts of sentences,
    and two others at least

A page of a manual begins with its heading, a page of questions and answers with its question, and
who types either finds it: such a page repeats the query, and says nothing by that. A planted text
that repeats the query does so among passages that begin otherwise. So where headings of its kind
are usual, what a passage repeats of the query is read below its heading, as if that were absent.

A heading is a line, a sentence that asks, or all up to a full stop or colon of a few words. Where
two that ask repeat the query, neither is one: a page has its question for itself. Nor is the start
of a sentence that asks without a mark. How common each kind is in prose decides how usual it must
be: of the sets of the choosing half, which hold no manuals, at most one in fifty has two that ask.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ragguard.inline.features.coverage import COMPANY, idf_coverage
from ragguard.inline.normalize import normalized
from ragguard.inline.query_form import ASKING_VERBS, INTERROGATIVES, QUESTION_MARK
from ragguard.inline.tokens import (
    TokenizedPassage,
    TokenizedQuery,
    tokenize_passage,
    tokenize_passages,
)
from ragguard.text import tokens
from ragguard.text.html import strip_markup
from ragguard.text.ngrams import ngrams

_CHARS = 300  # in which a heading ends
_LABEL = re.compile(r"\W*(?:(?:\d+(?:\.\d+)*|q|question|faq)\b\W*){0,2}", re.IGNORECASE)
_ENDS = {"line": re.compile(r"\n"), "question": QUESTION_MARK, "start": re.compile(r"[.:!] ")}
_MOST_WORDS = {"line": 20, "question": 30, "start": 8}
USUAL = {"line": 1 / 5, "question": 1 / 3, "start": 2 / 5}
"""Share of the others from which on a heading of a kind is left aside."""
_LEAST = 2  # others: one is soon planted
_LETTERS = 8  # of a word, with what stands between two
_REPEATS = 0.75  # of the query's content: such a heading is no company


class Heading(NamedTuple):
    """What a passage begins with.

    Attributes:
        kind: "line", "question" or "start".
        asks: True if it asks something.
        words: Its words, folded, and those of a label in front ("2.1", "Q:").
        end: Where in the passage without markup the text begins that follows it.
    """

    kind: str
    asks: bool
    words: tuple[str, ...]
    end: int


def heading(passage: TokenizedPassage) -> Heading | None:
    r"""Return the heading of a passage, or None if it has none, or nothing follows it.

    >>> from ragguard.inline.tokens import tokenize_passage
    >>> heading(tokenize_passage("2.1 Lamps\nEach has a wick.")).kind
    'line'
    >>> heading(tokenize_passage("Who lit the pier? Ann did.")).asks
    True
    """
    shown = strip_markup(passage.text)
    beginning = shown[:_CHARS]
    label = _LABEL.match(beginning)
    start = label.end() if label else 0
    for kind, ends in _ENDS.items():
        end = ends.search(beginning, start)
        if end is None or not shown[end.end() :].strip():
            continue
        said = beginning[start : end.end()]
        words = tuple(ngrams(tokens(said)))
        if not words or len(said.split()) > _MOST_WORDS[kind]:
            continue
        asks = _asks(words)
        if not (asks and kind == "start"):
            asks = asks or QUESTION_MARK.search(said) is not None
            return Heading(kind, asks, tuple(ngrams(tokens(beginning[: end.end()]))), end.end())
    return None


def _asks(words: Sequence[str]) -> bool:
    """Return True if words begin as a question does; "how to lock the screen" only names."""
    return words[0] in INTERROGATIVES | ASKING_VERBS and "to" not in words[1:2]


def below_headings(
    query: TokenizedQuery,
    passages: Sequence[TokenizedPassage],
    rows: Sequence[int],
    weights: Mapping[str, float],
    k: int,
) -> dict[int, TokenizedPassage]:
    """Return what follows a heading that says something of the query, by row, if that is usual.

    Args:
        query: The query.
        passages: What is retrieved for it; the first ten are the company.
        rows: Of which passages.
        weights: The weight of every content word of the query; sum 1.
        k: How many of the passages are normalized; of others the headings are, where they count.
    """
    begun = [passage.written.once(heading) for passage in passages]
    content = query.distinct.intersection(query.content)
    rows = [row for row in rows if (one := begun[row]) and not content.isdisjoint(one.words)]
    if not rows:  # as of most sets
        return {}
    held = [
        idf_coverage(_words(one, query, passage), weights) if one else 0.0
        for one, passage in zip(begun, passages, strict=True)
    ]
    found = _usual(query, begun, held, rows)
    if found and k < min(len(begun), COMPANY):
        for row, one in enumerate(begun[k:COMPANY], k):
            if one:
                end = one.end + _LETTERS * len(query.sequence)
                said = tokenize_passage(strip_markup(passages[row].text)[:end])
                held[row] = idf_coverage(normalized(query, [said])[0].distinct, weights)
        found = _usual(query, begun, held, found)
    texts = [strip_markup(passages[row].text)[one.end :] for row, one in found.items()]
    return dict(zip(found, normalized(query, tokenize_passages(texts)), strict=True))


def _words(one: Heading, query: TokenizedQuery, passage: TokenizedPassage) -> Sequence[str]:
    """Return the words of a heading, and as many after it as the query has: it may hold a mark."""
    return passage.sequence[: len(one.words) + len(query.sequence)]


def _usual(
    query: TokenizedQuery,
    begun: Sequence[Heading | None],
    held: Sequence[float],
    rows: Iterable[int],
) -> dict[int, Heading]:
    """Return the headings that are left aside, by row."""
    company = [(one, share) for one, share in zip(begun[:COMPANY], held, strict=False) if one]
    usual = Counter([one.kind for one, share in company if share < _REPEATS])
    asking = sum([one.asks and share >= _REPEATS for one, share in company])
    asked = frozenset[str]() if "to" in query.sequence[1:2] else INTERROGATIVES & query.distinct
    found = {}
    for row in rows if usual else ():
        one = begun[row]
        if one is None:
            continue
        if asking > 1 if one.asks else one.kind == "start" and not asked.isdisjoint(one.words):
            continue
        inside = row < COMPANY
        others = usual[one.kind] - (inside and held[row] < _REPEATS)
        if others >= max(_LEAST, USUAL[one.kind] * (min(COMPANY, len(begun)) - inside)):
            found[row] = one
    return found
