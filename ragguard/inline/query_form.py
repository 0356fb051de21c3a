"""The form of a query: does it ask something, or does it only name what it is about?

Honest pages repeat what is named: a page begins with its title, and whoever types the title, or
"what is" and the title, finds it. They hardly ever repeat a question of many words. So the same
repetition speaks against a passage in one form and says little in the other. Broder (2002, "A
taxonomy of web search") tells the forms apart by what people want; here words must do, and a look
at what is retrieved: where no page has the name for its title, none repeats it by being about it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from importlib import resources
from itertools import islice

from ragguard.text import STOP_WORDS, tokens
from ragguard.text.ngrams import ngrams, words_meant

INTERROGATIVES = frozenset("who whom whose what which when where why how".split())
"""The words that a question asks with."""

ASKING_VERBS = frozenset("are can could did do does had has have is should was were would".split())
"""The verbs that a question without such a word begins with."""

TELLING = frozenset(
    """a an another each every he her his i it its my one our she some such that the their there
    these they this those we you your""".split()
)
"""Words with which a clause goes on that tells: "when the war ended", "who it was"."""

QUESTION_MARK = re.compile("[?\uff1f\u061f\u037e]")  # also of full width, Arabic and Greek

_ASKING = INTERROGATIVES | frozenset("describe explain list show tell whats whos".split())
_FRONT = frozenset("am can could may might must shall should will would".split())
_ANYWHERE = frozenset("are did do does had has have is was were".split())
_DEFINED = frozenset("who what".split())
_LIST = ("list", "of")  # many titles begin so
_BEING = frozenset("is are was were s".split())  # of "what's" the s is a word
_RELATIONS = frozenset("for in of on to".split())
_IN_NAMES = _RELATIONS | frozenset("a an and the".split())
_LONGEST_TITLE = 8  # words
_TITLE_CHARS = 100
_TITLE_ENDS = re.compile(r"[.:] |\n")
_MOST_ENDS = 4  # that are tried: "St. Ann: Keeper of the Light" has three
_MOST_PAGES = 2  # that lack a word of the query, of one title
_LONGEST_NAME = 6  # words; what is longer asks for more than a name, unless it is written as one

# How other scripts than Latin ask: by words, or by letters anywhere where no spaces part them.
_FILE = resources.files("ragguard.inline") / "interrogatives.json"
_OTHERS = json.loads(_FILE.read_text(encoding="utf-8"))
_WORD = re.compile(r"[^\W_]+")
_WRITTEN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_ELSEWHERE = frozenset(" ".join(_OTHERS["words"].values()).casefold().split())
_WITHIN = re.compile("|".join(" ".join(_OTHERS["within"].values()).split()))
_MARK = re.compile("[?\uff1f\u061f\u037e]|[\u0370-\u03ff];\\s*$")  # at last the Greek one


def words_named(text: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of what a query names, in order; none if it asks for more than the name.

    That is "TITLE", "TITLE and other key words" and "what is TITLE?", but not "what is the height
    of TITLE?", and no query with another interrogative, a verb, "tell me", or a question mark. In
    other scripts than Latin it is one without an interrogative (`interrogatives.json`) or a mark.
    Where every word but the little ones has a capital, any words are a name: "Who Framed Ann".

    Args:
        text: The query.
        words: Its words in order, folded.

    >>> words_named("What is the Marrow Light?", "what is the marrow light".split())
    ('the', 'marrow', 'light')
    >>> words_named("when was Marrow Light built", "when was marrow light built".split())
    ()
    """
    defined = len(words) > 2 and words[0] in _DEFINED and words[1] in _BEING
    named = tuple(words[2:] if defined else words)
    length = words_meant(named)
    if not 0 < length <= _LONGEST_TITLE:
        return ()
    if _has_capitals(text, skipped=2 if defined else 0) and (defined or not _MARK.search(text)):
        return named
    return named if length <= _LONGEST_NAME and not _asks(text, named, defined=defined) else ()


def _has_capitals(text: str, *, skipped: int) -> bool:
    """Return True if a text, but for its first words, is written as titles are."""
    written = _WRITTEN.findall(text)[skipped:]
    large = [word for word in written if word.lower() not in STOP_WORDS]
    return len(written) > 1 and all(word[0].isupper() or word[0].isdigit() for word in large)


def _asks(text: str, named: Sequence[str], *, defined: bool) -> bool:
    if not text.isascii() and (
        _WITHIN.search(text) or not _ELSEWHERE.isdisjoint(_WORD.findall(text.casefold()))
    ):
        return True
    functions = STOP_WORDS.intersection(named)
    if defined:
        property_of = named[0] == "the" and not functions.isdisjoint(_RELATIONS)
        return property_of or not functions <= _IN_NAMES
    verb = named[0] in _FRONT or not _ANYWHERE.isdisjoint(functions)
    told = named[2:] if tuple(named[:2]) == _LIST else named
    return verb or not _ASKING.isdisjoint(told) or _MARK.search(text) is not None


def titles_named(named: Sequence[str], texts: Sequence[str]) -> list[frozenset[str]]:
    """Return for every text the title that it repeats, as words, if the query names it; else none.

    A title is a line, or all up to a full stop or colon, of eight words at most. At least half of
    the texts must begin with one: where titles are not usual, none is named. It has no word that is
    not the query's. If it is the whole name, the other texts that repeat it refer to that page, and
    all are given it. If it lacks one content word, so are those that begin with it, two at most:
    where more do, they may have been planted to make a title of the query.

    Args:
        named: What the query names (`words_named`).
        texts: What is retrieved for it.

    >>> titles_named(["marrow", "pier"], ["Marrow. It was lit in 1874.", "It is old"])
    [frozenset({'marrow'}), frozenset()]
    """
    none: frozenset[str] = frozenset()
    begun = [_titles(text[:_TITLE_CHARS].lstrip()) for text in texts]
    if not named or 2 * sum(map(bool, begun)) < len(texts):
        return [none] * len(texts)
    words = frozenset(named)
    content = (words - STOP_WORDS) or words
    found = []
    for titles in begun:
        fitting = [one for one in titles if one <= words and len(content - one) <= 1]
        found.append(max(fitting, key=len, default=none))
    whole = next((one for one in found if content <= one), none)
    if whole:
        return [whole] * len(texts)
    pages = Counter(found)
    return [one if pages[one] <= _MOST_PAGES else none for one in found]


def _titles(beginning: str) -> list[frozenset[str]]:
    """Return what may be the title of a text, shortest first, as words."""
    ends = islice(_TITLE_ENDS.finditer(beginning), _MOST_ENDS)
    titles = [beginning[: end.start()] for end in ends if end.start()]
    if not titles or len(titles[0].split()) > _LONGEST_TITLE:
        return []
    return [frozenset(ngrams(tokens(title))) for title in titles]
