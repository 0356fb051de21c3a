"""The parts of a page that may repeat a query: its headings, its fields, and what it asks.

Each is found in a text without markup and list mark, and is "" where there is none. What they have
to do with a query, and in which form pages have them, says `ragguard.inline.page_form`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise

from ragguard.inline.query_form import ASKING_VERBS, BEGINNINGS, INTERROGATIVES, QUESTION_MARK
from ragguard.text import STOP_WORDS, both_ends, tokens
from ragguard.text.lines import LINE_WORDS, LINES_CHARS, first_lines

_ASKED_CHARS = 2_000  # of a longer passage both ends are read for what asks
_QUESTION_WORDS, _START_WORDS, _TITLE_WORDS = 30, 8, 9  # at most
_VERBS = ASKING_VERBS | frozenset("be been being may might must shall will".split())
_FIRST_LINE = re.compile(r"\s*[^\n]*\n")
_STOP = re.compile(r"[.:!;] | [-\u2013\u2014|\u00b7\u2022\u2192\u00bb\u203a>=#/~]+ |\t")
_MARKED = re.compile(  # a heading in marks of its own, behind which a text begins
    r"""\s*(?:\[[^\]\n]+\]|"[^"\n]+"|\u201c[^\u201d\n]+\u201d|(\*\*|__|={1,6}|\#{1,6})(?!\s*\1).+?\1)
    \s+(?=["'\[(]?[A-Z0-9])""",
    re.VERBOSE,
)
_WORD = re.compile(r"\w")
_WORDS = re.compile(r"(\w+(?:[-'\u2019.&]\w+)*)([^\w\s]*[.!?:;](?=[\s\[]))?")
_FIELD = re.compile(r"""[\W_]*[^\W_]\w*["']?: *["']?""")  # its name
_FIELDS = re.compile(  # each in a line of its own, behind a name of three words at most
    r"""^[^\w\n]*+[^\W\d_]\w*+(?:[ ]\w++){0,2}+["'*]{0,3}+:(?=[\s"'*])([^\n]*+)""",
    re.MULTILINE | re.VERBOSE,
)
_LEAST_FIELDS = 2  # of a record; prose has one by chance
_FIELD_END = re.compile(r"""[.:!;|,"][,"']{0,3}\s|\n""")
_BREAK = re.compile(  # where a sentence or line ends, in quotation marks or a link as well
    rf"""\n|\t|(?<=[ ])[-\u2013\u2014|](?=[ ])|,["']|[\u0964\u3002\uff01\uff1f]
    |(?:[.!:]|{QUESTION_MARK.pattern})["')\]]{{0,2}}(?:\s|$|(?=[,}}\]|(]))
    |/(?=[^\W_]+(?:[-_][^\W_]+){{2}})""",  # the last step of a path
    re.VERBOSE,
)
# A question within a sentence. Most words that ask begin relative clauses as well.
_EMBEDDED = re.compile(
    rf"""(?<=[^\W_],[ ]|[^\W_][^\W_][ ])(?:how|what|whether|why)\b[^.!?\n]*+(?!\?)
    |\b(?:about|(?:un)?clear|(?:answer|ask|consider|cover|decid|describ|determin|discuss|establish|
    examin|explain|explor|investigat|show|tell)(?:e?[ds]?|ing)|(?:find|found|sets?)[ ]out|
    kn[eo]w|told|underst(?:an|oo)d)[ ]
    (?:{"|".join(sorted(INTERROGATIVES))})\b[^.!?\n]*+(?!\?)""",
    re.IGNORECASE | re.VERBOSE,
)
_BEGINS = "|".join(sorted(BEGINNINGS))
_ANNOUNCED = re.compile(  # one that is quoted, or said to be asked
    rf"""\b(?:ask(?:ed|ing|s)?(?:[ ]\w+)?[:,]|question[ ]of|wonder(?:ed|ing|s)?)[ ]
    (?:{_BEGINS})\b[^.!?\n]*+(?!\?)
    |(?<=["\u201c'])(?:{_BEGINS})\b[^."\u201d!?\n]{{8,120}}(?=["\u201d'])""",
    re.IGNORECASE | re.VERBOSE,
)
_STATED = re.compile(r"[.!]\s*$")
_ASKED = re.compile(r"\b(?:q|questions?|faqs?)[\W\d]*$", re.IGNORECASE)  # what follows asks
_LABEL_CHARS = 20  # in front of what asks: longer than any label, shorter than a sentence


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


def marked(text: str) -> str:
    """Return a heading in brackets, quotation marks or signs of its own.

    >>> marked("[Marrow Light] It was lit in 1874."), marked("**Marrow Light** It was lit.")
    ('[Marrow Light] ', '**Marrow Light** ')
    """
    found = _MARKED.match(text[:LINES_CHARS])
    return found.group() if found else ""


def title(text: str) -> str:
    r"""Return all up to the first stop if it may be a title, of twenty words and without a verb.

    >>> title("On the lamps of Marrow Light and their keepers. It was lit in 1874.")
    'On the lamps of Marrow Light and their keepers. '
    """
    start = _to_stop(text)
    words = start.lower().split()
    return start if len(words) <= LINE_WORDS and _VERBS.isdisjoint(words) else ""


def run_in_heading(text: str) -> str:
    """Return a heading that the text follows without a mark, of nine words at most.

    The text begins, in capitals, with a function word or with one that the heading has, which
    ends with no function word.

    >>> run_in_heading("Marrow Light The tower was lit in 1874.")
    'Marrow Light '
    >>> run_in_heading("Marrow Light Marrow Light is a tower.")
    'Marrow Light '
    """
    said, before = set[str](), "the"
    for word in islice(_WORDS.finditer(text[:LINES_CHARS]), _TITLE_WORDS + 1):
        lower = word[1].lower()
        begins = word[1][0].isupper() and lower in said | STOP_WORDS
        if begins and before not in STOP_WORDS:
            return text[: word.start()]
        if word[2]:
            return ""
        said.add(lower)
        before = lower
    return ""


def begins_with(words: Sequence[str], text: str) -> str:
    """Return these words where a text begins with them and goes on with a capital.

    >>> begins_with(["son", "of", "a", "lamp"], "Son of a Lamp Ann Dove wrote it in 1874.")
    'Son of a Lamp '
    """
    for word in islice(_WORDS.finditer(text[:LINES_CHARS]), 1, _TITLE_WORDS + 1):
        before = text[: word.start()]
        if word[1][0].isupper() and tokens(before) == [*words]:
            return before
    return ""


def _to_stop(text: str) -> str:
    """Return all up to the first stop; "" if nothing follows."""
    end = _STOP.search(text[:LINES_CHARS])
    start = text[: end.end()] if end else ""
    return start if text[len(start) :].strip() and _WORD.search(start) else ""


def field(text: str) -> str:
    r"""Return the first field of a record, behind its name of one word; "" if there is none.

    >>> field("Title: Marrow Light; Keeper: Ann"), field('{"title": "Marrow Light", "year": 1874}')
    ('Marrow Light', 'Marrow Light')
    """
    beginning = text[:LINES_CHARS]
    name = _FIELD.match(beginning)
    end = _FIELD_END.search(beginning, name.end()) if name else None
    said = beginning[name.end() : end.start()] if name and end else ""
    return said if len(said.split()) <= LINE_WORDS else ""


def fields(text: str) -> str:
    r"""Return what the fields of a record hold that have lines of their own, if it is short.

    >>> fields("Keeper: Ann\nAbout: It was lit in 1874.\nName: Marrow Light")
    'Ann\nIt was lit in 1874.\nMarrow Light'
    >>> fields("Note: the tower was lit in 1874.\nIt is tall.")
    ''
    """
    held = [said.strip() for said in _FIELDS.findall(both_ends(text, _ASKED_CHARS))]
    held = [said for said in held if said]
    if len(held) < _LEAST_FIELDS:
        return ""
    return "\n".join([said for said in held if len(said.split()) <= LINE_WORDS])


def questions(text: str) -> str:
    r"""Return all of a text that asks: what has a question mark, or begins as a question does.

    The latter has no full stop, unless it is quoted or said to be asked ("the question of why");
    what follows "Q:" or "Questions:" asks in any form.

    >>> questions("Who lit it? Ann did.\nwhen was it lit\nIn 1874. Question: its height?")
    'Who lit it? when was it lit\n its height?'
    """
    shown = both_ends(text, _ASKED_CHARS)
    breaks = [0, *[found.end() for found in _BREAK.finditer(shown)], len(shown)]
    asked = [shown[at:end] for at, end in pairwise(breaks) if _asks(shown, at, end)]
    announced = _ANNOUNCED.findall(shown)
    return " ".join([*asked, *[one for one in announced if not any(one in part for part in asked)]])


def _asks(text: str, at: int, end: int) -> bool:
    said = text[at:end]
    words = tokens(said)
    if not 0 < len(words) <= _QUESTION_WORDS:
        return False
    before = text[max(0, at - _LABEL_CHARS) : at]
    if QUESTION_MARK.search(said) or _ASKED.search(before):
        return True
    begins = words[0] in BEGINNINGS and "to" not in words[1:2]
    return begins and not _STATED.search(said)


def embedded_questions(text: str) -> str:
    """Return what is asked within the sentences of a text, up to their ends.

    >>> embedded_questions("Here we examine how lamps burn. The user asked who lit it. Ann did.")
    'examine how lamps burn asked who lit it'
    """
    return " ".join(_EMBEDDED.findall(both_ends(text, _ASKED_CHARS)))
