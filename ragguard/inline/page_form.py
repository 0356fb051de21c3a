"""The form of pages: do those of one retrieved set ask something, and what do they begin with?

    usual(form) = share of the others, of the first 50, that do not quote the question, and have a
                  part of that form which holds less than 3/4 of the query's content
    expected of a passage with a part of that form which holds some of it, where usual(form) is at
    least 2/5, and two others have such a part

Manuals begin with headings, FAQs ask, and indexers write questions on a page, so that it is found
by them (Nogueira et al. 2019, "Document expansion by query prediction"). Who types either finds a
page that repeats the query; a planted text repeats it among passages of another form. So where a
form is usual, its repetition speaks less against a passage (`scoring.EXPECTED` nats).

The forms are the parts of `page_parts`: what a page asks, its first lines, and `heading`, `field`,
`title` and `run_in_heading` of a text and of what stands behind its first lines. Much prose begins
as a title does, and asks within its sentences: a title is usual where 4/5 have it, and either is
expected where it holds 3/4 of the query, a title where it holds little else. A run-in heading
counts where the query names something; where a page begins with that and goes on with a capital, it
is one. What repeats the query, in whatever spelling, is no company, or what is planted would make
itself usual, and what several pages ask in the same words ("Was this helpful?") counts once. With
one other passage or none nobody can tell, and what the query names is expected. A heading that has
the words by which the query asks is a question: in one line with the text it is no heading, and in
a line of its own only where another one, that asks something else, is in such a line.

A query that tells something (`ragguard.inline.query_form`) any page may repeat, but not an
interrogative before it, nor what it asks behind it, and two pages may not begin or end with all of
it and go on differently. And where a page has the name for its heading that is the query, the
others refer to it, if headings are usual; in a line of its own such a heading is expected anyway,
since of a page that was cut in pieces the first alone has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.features.coverage import idf_coverage, idf_weights
from ragguard.inline.features.verbatim import boundary_runs, longest_run, quotes
from ragguard.inline.normalize import normalized
from ragguard.inline.page_parts import (
    begins_with,
    embedded_questions,
    field,
    heading,
    marked,
    questions,
    run_in_heading,
    title,
)
from ragguard.inline.query_form import INTERROGATIVES
from ragguard.inline.tokens import TokenizedPassage, TokenizedQuery, tokenize_passages
from ragguard.text.lines import first_lines, without_list_mark

USUAL, LEAST = 2 / 5, 2
"""Share of the others, and how many, that have a form where it is usual: prose has headings by
chance, and one other is soon planted."""

_NEARLY_ALL = 4 / 5  # of the others: what may be a title prose has more often
_MOST = 50  # passages whose form is looked at: a section may fill the first ranks
_REPEATS = 0.75  # of the query's content: such a part is no company
_ASKED_WORDS = 4  # an interrogative and three more words, which no page has by chance
_VERSION = 0.5  # of the words beside the query, that two versions of a page share
_BEYOND = 2  # words of a question behind what is told


class _Form(NamedTuple):
    find: Callable[[str], str]
    usual: float = USUAL
    heads: bool = True  # a question is no part of it
    most: bool = False  # only what holds 3/4 of the query
    alone: bool = False  # and 3/4 of which is the query
    named: bool = False  # only where the query names something


_OF_TEXTS: Mapping[str, _Form] = {
    "heading": _Form(heading),
    "marked": _Form(marked),
    "field": _Form(field),
    "title": _Form(title, _NEARLY_ALL, most=True, alone=True),
    "run-in": _Form(run_in_heading, most=True, alone=True, named=True),
}
_FORMS: Mapping[str, _Form] = {
    "question": _Form(questions, heads=False),
    "embedded": _Form(embedded_questions, heads=False, most=True),
    "lines": _Form(first_lines),
    **_OF_TEXTS,
    **{f"{form} within": one for form, one in _OF_TEXTS.items()},
}
_ASKING = ("question", "embedded")  # forms that the same words have but once


def _shown(passage: TokenizedPassage) -> str:
    return without_list_mark(passage.shown.replace("\u00a0", " "))


def parts(passage: TokenizedPassage) -> dict[str, str]:
    """Return the parts of a passage by form, without those that it lacks; read `once`."""
    shown = passage.once(_shown)
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
        planted = _placed_apart(query, passages[:_MOST])
        expected[:] = [
            row not in planted and _repeats_what_is_told(query, one)
            for row, one in enumerate(passages[:k])
        ]
        rows = [row for row in rows if not expected[row]]
        if not rows:
            return expected
    size = min(_MOST, len(passages))
    found = {row: passages[row].once(parts) for row in dict.fromkeys([*range(size), *rows])}
    titled = query.names and sum("run-in" in one for one in found.values()) >= LEAST
    for row in rows if titled else ():
        if start := begins_with(query.sequence, passages[row].once(_shown)):
            found[row] = {**found[row], "run-in": start}
    asks = not query.names  # other pages hold a name as well
    asked = query.asking if asks else INTERROGATIVES & query.distinct
    if "to" in query.sequence[1:2]:
        asked = frozenset()
    otherwise = asks and query.asks_otherwise
    weights: dict[str, float] = {}
    held_by_rows = {form for row in rows for form in found[row]}
    for form, (_, usual, heads, most, alone, of_names) in _FORMS.items():
        if form not in held_by_rows or (of_names and asks):
            continue
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
        for row in repeating:
            company = others - {row}
            if form in _ASKING:
                company = set({found[other][form]: other for other in company}.values())
            enough = len(company) >= max(LEAST, usual * (size - (row < size)))
            enough = enough or (query.names and size <= LEAST)
            line = heads and "\n" in found[row][form]
            repeats = held[row] >= _REPEATS
            question = not asked.isdisjoint(said[row]) or (otherwise and repeats)
            asking = (questions(found[other][form]) for other in company)
            if heads and question and not (line and (not asks or any(asking))):
                continue
            named = query.names and asked.isdisjoint(said[row]) and repeats
            if named and not asked and enough and not most:
                return np.ones(k, dtype=np.bool_)
            if enough and not alone:
                some = held[row] > 0.0 or (query.tells and not heads)
                spared = repeats or (some and not most)
            else:
                nothing_else = len(said[row] & query.distinct) >= _REPEATS * len(said[row])
                spared = (enough or (named and line)) and repeats and nothing_else
            beside = heads and (query.asking or otherwise) and not repeats
            expected[row] |= spared and not (beside and quotes(query, passages[row]))
    return expected if expected.any() else None


def _quotes(query: TokenizedQuery, passage: TokenizedPassage, weights: Mapping[str, float]) -> bool:
    """Return True if a passage has the question, and none that asks the same of something else."""
    whole = quotes(query, passage)
    return whole and idf_coverage(passage.distinct, weights) >= _REPEATS


def _placed_apart(query: TokenizedQuery, passages: Sequence[TokenizedPassage]) -> set[int]:
    """Return the rows of passages that begin or end with a whole query, if they go on differently.

    A query is pasted from one page, which may be stored in several versions: then none. Each is
    compared with the first alone, so that the time grows with what is read.
    """
    rest = {
        row: one.distinct - query.distinct
        for row, one in enumerate(passages)
        if sum(boundary_runs(query, one.sequence)) >= len(query.sequence)
    }
    first = next(iter(rest.values()), frozenset[str]())
    apart = (len(first & own) < _VERSION * min(len(first), len(own)) for own in rest.values())
    return set(rest) if any(apart) else set()


def _repeats_what_is_told(query: TokenizedQuery, passage: TokenizedPassage) -> bool:
    """Return False if a passage has what the query asks as well: "why the pier"."""
    length, start = longest_run(query.sequence, passage)
    if length >= query.told + _BEYOND:
        return False
    lead = next((at for at, word in enumerate(query.sequence[:3]) if word in INTERROGATIVES), None)
    return lead is None or not start <= lead <= start + length - _ASKED_WORDS
