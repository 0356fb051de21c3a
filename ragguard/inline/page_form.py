"""The form of pages: do those of one retrieved set ask something, and what do they begin with?

    usual(form) = share of the others, of the first 50, that do not quote the question, and have a
                  part of that form which holds less than 3/4 of the query's content
    expected of a passage with a part of that form which holds some of it, where usual(form) is at
    least 2/5, and two others have such a part

Manuals begin with headings, FAQs ask, and indexers write questions on a page, so that it is found
by them (Nogueira et al. 2019, "Document expansion by query prediction"). Who types either finds a
page that repeats the query; a planted text repeats it among passages of another form. So where a
form is usual, its repetition speaks less against a passage (`scoring.EXPECTED` nats).

The forms are the parts of `page_parts`: what a page asks, its first lines, its `fields`, and
`heading`, `field`, `title` and `run_in_heading` of a text and of what stands behind its first
lines. Where a query does not ask, a name may stand in any field of a row: loaders of tables write
all of them. Much prose begins as a title does, and asks within its sentences: a title is usual
where 4/5 have it, and either is expected where it holds 3/4 of the query, a title where it holds
little else. A run-in heading counts where the query names something; where a page begins with that
and goes on with a capital, it is one. What repeats the query, in whatever spelling, is no company,
or what is planted would make itself usual, and what several pages ask in the same words ("Was this
helpful?") counts once. With one other passage or none nobody can tell, and what the query names is
expected. A heading that has the words by which the query asks is a question: in one line with the
text it is no heading, and in a line of its own only where another one, that asks something else, is
in such a line, and where enough others are.

A query that tells something (`ragguard.inline.query_form`) any page may repeat, but not an
interrogative before it, nor what it asks behind it, and two pages may not begin or end with all of
it and go on differently. And where a page has the name for its heading that is the query, the
others refer to it, if headings are usual; in a line of its own such a heading is expected anyway,
since of a page that was cut in pieces the first alone has it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
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
    fields,
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
    asked: bool = True  # where the query asks, too


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
    "fields": _Form(fields, most=True, asked=False),
    **_OF_TEXTS,
    **{f"{form} within": one for form, one in _OF_TEXTS.items()},
}
ASKING = ("question", "embedded")
"""What a page asks; the same words count but once."""

AS_STORED = (*ASKING, "fields")
"""What is looked for with the labels as well with which most passages of a set begin."""


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
    query: TokenizedQuery,
    passages: Sequence[TokenizedPassage],
    rows: Sequence[int],
    k: int,
    forms: Collection[str] = _FORMS,
) -> NDArray[np.bool_]:
    """Return which passages repeat no more than honest ones do for such a query.

    A bool array of shape (k,), of the first k passages, of which `rows` repeat something of the
    query. The first 50 of all are the company, and `forms` what is looked at.
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
    asking = query.asking or query.asks_otherwise
    weights: dict[str, float] = {}
    quoting: set[int] = set()
    for name in forms:
        form = _FORMS[name]
        texts = {row: one[name] for row, one in found.items() if name in one}
        repeating = [row for row in rows if row in texts]
        few = asks and sum(row < size for row in texts) < LEAST
        if not repeating or few or (form.named and asks):  # as of most sets
            continue
        if asking and not form.asked:
            continue
        if not weights:
            weights = idf_weights(query, passages)
            quoting = {n for n in range(size) if asks and _quotes(query, passages[n], weights)}
        meant = normalized(query, tokenize_passages(list(texts.values())))
        said = {
            row: _Part(texts[row], one.distinct, idf_coverage(one.distinct, weights))
            for row, one in zip(texts, meant, strict=True)
        }
        others = {
            row: part.text
            for row, part in said.items()
            if row < size and not (part.repeats or row in quoting)
        }
        for row in repeating:
            company = [text for other, text in others.items() if other != row]
            if name in ASKING:
                company = list(set(company))
            if form.heads and said[row].in_own_line and _asks(query, said[row]):
                # Titles in one line with their text are another form than a question above it.
                company = [text for text in company if "\n" in text]
            rest = set(range(size)) - quoting - {row}
            enough = len(company) >= max(LEAST, form.usual * len(rest))
            enough = enough or (query.names and size <= LEAST)
            if form.heads and _is_question(query, said[row], company):
                continue
            if enough and not form.most and _names(query, said[row]) and not _asked(query):
                return np.ones(k, dtype=np.bool_)  # the others refer to it
            if _is_spared(query, form, said[row], enough=enough):
                expected[row] |= not (
                    form.heads and asking and _quotes_beside(query, passages[row], said[row])
                )
    return expected


class _Part(NamedTuple):
    """A part of a page: as it is shown, its words as the query has them, and how much they hold."""

    text: str
    words: frozenset[str]
    held: float  # of the query's content, by weight

    @property
    def repeats(self) -> bool:
        return self.held >= _REPEATS

    @property
    def in_own_line(self) -> bool:
        return "\n" in self.text


def _asked(query: TokenizedQuery) -> frozenset[str]:
    """Return the words by which a query asks; none of "how to ...", nor of a plain name."""
    if "to" in query.sequence[1:2]:
        return frozenset()
    return INTERROGATIVES & query.distinct if query.names else query.asking


def _is_question(query: TokenizedQuery, part: _Part, company: Sequence[str]) -> bool:
    """Return True if a heading asks what the query does, among pages whose headings do not ask."""
    spared = part.in_own_line and (query.names or any(map(questions, company)))
    return _asks(query, part) and not spared


def _asks(query: TokenizedQuery, part: _Part) -> bool:
    """Return True if a part has the words by which a query asks."""
    return not _asked(query).isdisjoint(part.words) or (query.asks_otherwise and part.repeats)


def _names(query: TokenizedQuery, part: _Part) -> bool:
    """Return True if a part is what the query names."""
    return query.names and part.repeats and _asked(query).isdisjoint(part.words)


def _is_spared(query: TokenizedQuery, form: _Form, part: _Part, *, enough: bool) -> bool:
    """Return True if such a part may repeat the query so, where `enough` others have that form."""
    if not form.alone and (enough or form.most):
        some = part.held > 0.0 or (query.tells and not form.heads)
        return enough and (part.repeats or (some and not form.most))
    nothing_else = len(part.words & query.distinct) >= _REPEATS * len(part.words)
    expected = enough or (form.heads and part.in_own_line and _names(query, part))
    return expected and part.repeats and nothing_else


def _quotes_beside(query: TokenizedQuery, passage: TokenizedPassage, part: _Part) -> bool:
    """Return True if a passage has the question beside a heading that holds some of it, or all."""
    if part.repeats:
        rest = passage.once(_shown).replace(part.text.strip(), " ", 1)
        (passage,) = tokenize_passages([rest])
    return quotes(query, *normalized(query, [passage]))


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
    lead = next((at for at, word in enumerate(query.sequence[:3]) if word in query.asking), None)
    return lead is None or not start <= lead <= start + length - _ASKED_WORDS
