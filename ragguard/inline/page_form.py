"""The form of pages: do those of one retrieved set ask something, and what do they begin with?

    usual(form) = share of the others, of the first 50, that do not quote the question, and have a
                  part of that form which holds less than 3/4 of the query's content
    expected of a passage with a part of that form which holds some of it, where usual(form) is at
    least 2/5, and two others have such a part

Manuals begin with headings, FAQs ask, and indexers write questions on a page, so that it is found
by them (Nogueira et al. 2019, "Document expansion by query prediction"). Who types either finds a
page that repeats the query; a planted text repeats it among passages of another form. So where a
form is usual, its repetition speaks less against a passage (`scoring.EXPECTED` nats).

The forms are `questions`, `embedded_questions` and `first_lines`, and `heading`, `field` and
`title` of a text, and of what stands behind its first lines. Much prose begins as a title does, and
asks within its sentences: a title is usual where 4/5 have it, and either is expected where it holds
3/4 of the query, a title where it holds little else. What repeats the query, in whatever spelling,
is no company, or what is planted would make itself usual. A heading that has the words by which the
query asks is a question: in one line with the text it is no heading, and in a line of its own only
where another one, that asks something else, is in such a line.

A query that tells something (`ragguard.inline.query_form`) any page may repeat, but not an
interrogative before it, nor what it asks behind it. And where a page has the name for its heading
that is the query, the others refer to it, if headings are usual; in a line of its own such a
heading is expected anyway, since of a page that was cut in pieces the first alone has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.features.coverage import idf_coverage, idf_weights
from ragguard.inline.features.verbatim import longest_run, quotes
from ragguard.inline.normalize import normalized
from ragguard.inline.query_form import ASKING_VERBS, INTERROGATIVES, QUESTION_MARK
from ragguard.inline.tokens import TokenizedPassage, TokenizedQuery, tokenize_passages
from ragguard.text import both_ends, tokens
from ragguard.text.html import strip_markup
from ragguard.text.lines import LINE_WORDS, first_lines

USUAL, LEAST = 2 / 5, 2
"""Share of the others, and how many, that have a form where it is usual: prose has headings by
chance, and one other is soon planted."""

_NEARLY_ALL = 4 / 5  # of the others: what may be a title prose has more often
_MOST = 50  # passages whose form is looked at: a section may fill the first ranks
_REPEATS = 0.75  # of the query's content: such a part is no company
_CHARS = 300  # in which a heading ends
_ASKED_CHARS = 2_000  # of a longer passage both ends are read for what asks
_QUESTION_WORDS, _START_WORDS = 30, 8  # at most
_ASKED_WORDS = 4  # an interrogative and three more words, which no page has by chance
_BEYOND = 2  # words of a question behind what is told
_VERBS = ASKING_VERBS | frozenset("be been being may might must shall will".split())
_FIRST_LINE = re.compile(r"\s*[^\n]*\n")
_STOP = re.compile(r"[.:!;] | [-\u2013\u2014|\u00b7\u2022\u2192\u00bb\u203a>=#/~]+ |\t")
_MARKED = re.compile(  # a heading in marks of its own, behind which a text begins
    r"""\s*(?:\[[^\]\n]+\]|"[^"\n]+"|\u201c[^\u201d\n]+\u201d|(\*\*|__|={1,6}|\#{1,6})(?!\s*\1).+?\1)
    \s+(?=["'\[(]?[A-Z0-9])""",
    re.VERBOSE,
)
_WORD = re.compile(r"\w")
_FIELD = re.compile(r"""[\W_]*[^\W_]\w*["']?: *["']?""")  # its name
_FIELD_END = re.compile(r"""[.:!;|,"][,"']{0,3}\s|\n""")
_BREAK = re.compile(
    rf"""\n|\t|(?<= )[-\u2013\u2014|](?= )|(?:[.!:]|{QUESTION_MARK.pattern})["']?(?:\s|$)|,["']"""
)
# A question within a sentence. Most words that ask begin relative clauses as well.
_EMBEDDED = re.compile(
    rf"""(?<=[^\W_],[ ]|[^\W_][^\W_][ ])(?:how|what|whether|why)\b[^.!?\n]*+(?!\?)
    |\b(?:about|(?:un)?clear|(?:answer|ask|consider|cover|decid|describ|determin|discuss|establish|
    examin|explain|explor|investigat|show|tell|wonder)(?:e?[ds]?|ing)|(?:find|found|sets?)[ ]out|
    kn[eo]w|question[ ]of|told|underst(?:an|oo)d)[ ]
    (?:{"|".join(sorted(INTERROGATIVES))})\b[^.!?\n]*+(?!\?)""",
    re.IGNORECASE | re.VERBOSE,
)
_STATED = re.compile(r"[.!]\s*$")
_ASKED = re.compile(r"\b(?:q|questions?|faqs?)[\W\d]*$", re.IGNORECASE)  # what follows asks
_LABEL_CHARS = 20


def heading(text: str) -> str:
    r"""Return the first line of a text if it is short, or else all up to a stop behind a few words.

    Something must follow. Where pages begin with "Name. Text", no further line is a heading.

    >>> heading("2.1 Lamps\n\nEach has a wick."), heading("Marrow Light. It was lit in 1874.")
    ('2.1 Lamps\n', 'Marrow Light. ')
    """
    if first := _FIRST_LINE.match(first_lines(text)):
        return first.group()
    start = _to_stop(text)
    return start if len(start.split()) <= _START_WORDS else ""


def title(text: str) -> str:
    r"""Return all up to the first stop if it may be a title, of twenty words and without a verb.

    >>> title("On the lamps of Marrow Light and their keepers. It was lit in 1874.")
    'On the lamps of Marrow Light and their keepers. '
    """
    start = _to_stop(text)
    words = start.lower().split()
    return start if len(words) <= LINE_WORDS and _VERBS.isdisjoint(words) else ""


def _to_stop(text: str) -> str:
    """Return all up to the first stop; "" if nothing follows."""
    beginning = text[:_CHARS]
    end = _MARKED.match(beginning) or _STOP.search(beginning)
    start = beginning[: end.end()] if end else ""
    return start if text[len(start) :].strip() and _WORD.search(start) else ""


def field(text: str) -> str:
    r"""Return the first field of a record, behind its name of one word; "" if there is none.

    >>> field("Title: Marrow Light; Keeper: Ann"), field('{"title": "Marrow Light", "year": 1874}')
    ('Marrow Light', 'Marrow Light')
    """
    beginning = text[:_CHARS]
    name = _FIELD.match(beginning)
    end = _FIELD_END.search(beginning, name.end()) if name else None
    said = beginning[name.end() : end.start()] if name and end else ""
    return said if len(said.split()) <= LINE_WORDS else ""


def questions(text: str) -> str:
    r"""Return all of a text that asks: what has a question mark, or begins as a question does.

    The latter has no full stop; what follows "Q:" or "Questions:" asks in any form.

    >>> questions("Who lit it? Ann did.\nwhen was it lit\nIn 1874. Question: its height?")
    'Who lit it? when was it lit\n its height?'
    """
    shown = both_ends(text, _ASKED_CHARS)
    breaks = [0, *[found.end() for found in _BREAK.finditer(shown)], len(shown)]
    return " ".join([shown[at:end] for at, end in pairwise(breaks) if _asks(shown, at, end)])


def _asks(text: str, at: int, end: int) -> bool:
    said = text[at:end]
    words = tokens(said)
    if not 0 < len(words) <= _QUESTION_WORDS:
        return False
    before = text[max(0, at - _LABEL_CHARS) : at]
    if QUESTION_MARK.search(said) or _ASKED.search(before):
        return True
    begins = words[0] in INTERROGATIVES | ASKING_VERBS and "to" not in words[1:2]
    return begins and not _STATED.search(said)


def embedded_questions(text: str) -> str:
    """Return what is asked within the sentences of a text, up to their ends.

    >>> embedded_questions("Here we examine how lamps burn. The user asked who lit it. Ann did.")
    'examine how lamps burn asked who lit it'
    """
    return " ".join(_EMBEDDED.findall(both_ends(text, _ASKED_CHARS)))


class _Form(NamedTuple):
    find: Callable[[str], str]
    usual: float = USUAL
    heads: bool = True  # a question is no part of it
    most: bool = False  # only what holds 3/4 of the query
    alone: bool = False  # and 3/4 of which is the query


_OF_TEXTS: Mapping[str, _Form] = {
    "heading": _Form(heading),
    "field": _Form(field),
    "title": _Form(title, _NEARLY_ALL, most=True, alone=True),
}
_FORMS: Mapping[str, _Form] = {
    "question": _Form(questions, heads=False),
    "embedded": _Form(embedded_questions, heads=False, most=True),
    "lines": _Form(first_lines),
    **_OF_TEXTS,
    **{f"{form} within": one for form, one in _OF_TEXTS.items()},
}


def parts(passage: TokenizedPassage) -> dict[str, str]:
    """Return the parts of a passage by form, without those that it lacks; read `once`."""
    shown = strip_markup(passage.text)
    found = {form: one.find(shown) for form, one in _FORMS.items() if " " not in form}
    if lines := found["lines"]:
        within = shown[len(lines) :]
        found.update({f"{form} within": one.find(within) for form, one in _OF_TEXTS.items()})
    return {form: part for form, part in found.items() if part}


def repeats_as_expected(
    query: TokenizedQuery, passages: Sequence[TokenizedPassage], rows: Sequence[int], k: int
) -> NDArray[np.bool_] | None:
    """Return which passages repeat no more than honest ones do for such a query; None if none does.

    A bool array of shape (k,), of the first k passages, of which `rows` repeat something of the
    query. The first 50 of all are the company.
    """
    expected = np.zeros(k, dtype=np.bool_)
    if query.tells:
        expected[:] = [_repeats_what_is_told(query, one) for one in passages[:k]]
        rows = [row for row in rows if not expected[row]]
        if not rows:
            return expected
    size = min(_MOST, len(passages))
    found = {row: passages[row].once(parts) for row in dict.fromkeys([*range(size), *rows])}
    asks = not query.names  # what is named other pages name as well
    asked = query.asking if asks else INTERROGATIVES & query.distinct
    if "to" in query.sequence[1:2]:
        asked = frozenset()
    otherwise = asks and query.asks_otherwise
    weights: dict[str, float] = {}
    for form, (_, usual, heads, most, alone) in _FORMS.items():
        has = [row for row in range(size) if form in found[row]]
        repeating = [row for row in rows if form in found[row]]
        if not repeating or (len(has) < LEAST and not query.names):  # as of most sets
            continue
        weights = weights or idf_weights(query, passages)
        each = list(dict.fromkeys([*has, *repeating]))
        meant = normalized(query, tokenize_passages([found[row][form] for row in each]))
        said = {row: one.distinct for row, one in zip(each, meant, strict=True)}
        held = {row: idf_coverage(words, weights) for row, words in said.items()}
        others = {
            row
            for row in has
            if held[row] < _REPEATS and not (asks and _quotes(query, passages[row], weights))
        }
        asking = {row for row in others if _is_question(found[row][form], said[row])}
        for row in repeating:
            enough = len(others - {row}) >= max(LEAST, usual * (size - (row < size)))
            line = heads and "\n" in found[row][form]
            repeats = held[row] >= _REPEATS
            question = not asked.isdisjoint(said[row]) or (line and otherwise and repeats)
            alike = line and not (asks and asking.isdisjoint(others - {row}))
            if heads and question and not alike:
                continue
            named = query.names and asked.isdisjoint(said[row]) and repeats
            if named and not asked and enough and not most:
                return np.ones(k, dtype=np.bool_)
            nothing_else = len(said[row] & query.distinct) >= _REPEATS * len(said[row])
            if enough and not alone:
                some = held[row] > 0.0 or (query.tells and not heads)
                expected[row] |= repeats if most else some
            elif enough or (named and line):
                expected[row] |= repeats and nothing_else
    return expected if expected.any() else None


def _quotes(query: TokenizedQuery, passage: TokenizedPassage, weights: Mapping[str, float]) -> bool:
    """Return True if a passage has the question, and none that asks the same of something else."""
    whole = quotes(query, passage)
    return whole and idf_coverage(passage.distinct, weights) >= _REPEATS


def _is_question(part: str, words: Set[str]) -> bool:
    return not INTERROGATIVES.isdisjoint(words) or QUESTION_MARK.search(part) is not None


def _repeats_what_is_told(query: TokenizedQuery, passage: TokenizedPassage) -> bool:
    """Return False if a passage has what the query asks as well: "why the pier"."""
    length, start = longest_run(query.sequence, passage)
    if length >= query.told + _BEYOND:
        return False
    lead = next((at for at, word in enumerate(query.sequence[:3]) if word in INTERROGATIVES), None)
    return lead is None or not start <= lead <= start + length - _ASKED_WORDS
