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
from collections.abc import Sequence, Set
from importlib import resources

from ragguard.text import STOP_WORDS, tokens
from ragguard.text.ngrams import ngrams, words_meant

__all__ = ["INTERROGATIVES", "names_topic", "titles_named"]

INTERROGATIVES = frozenset("who whom whose what which when where why how".split())
"""The words that a question asks with."""

_ASKING = INTERROGATIVES | frozenset("describe explain list show tell whats whos".split())
_FRONT = frozenset("am can could may might must shall should will would".split())
_ANYWHERE = frozenset("are did do does had has have is was were".split())
_DEFINED = frozenset("who what".split())
_BEING = frozenset("is are was were s".split())  # of "what's" the s is a word
_RELATIONS = frozenset("for in of on to".split())
_IN_NAMES = _RELATIONS | frozenset("a an and the".split())
_LONGEST_TITLE = 8  # words
_TITLE_CHARS = 100
_MOST_PAGES = 2  # of one title
_LONGEST_NAME = 6  # words; what is longer asks for more than a name

# How other scripts than Latin ask: by words, or by letters anywhere where no spaces part them.
_FILE = resources.files("ragguard.inline") / "interrogatives.json"
_OTHERS = json.loads(_FILE.read_text(encoding="utf-8"))
_WORD = re.compile(r"[^\W_]+")
_ELSEWHERE = frozenset(" ".join(_OTHERS["words"].values()).casefold().split())
_WITHIN = re.compile("|".join(" ".join(_OTHERS["within"].values()).split()))
_MARK = re.compile("[?\uff1f\u061f\u037e]|[\u0370-\u03ff];\\s*$")  # at last the Greek one


def names_topic(text: str, words: Sequence[str]) -> bool:
    """Return True if a query asks nothing but what, or who, it names.

    That is "TITLE", "TITLE and other key words" and "what is TITLE?", but not "what is the height
    of TITLE?", and no query with another interrogative, a verb, "tell me", or a question mark. In
    other scripts than Latin it is one without an interrogative (`interrogatives.json`) or a mark.

    Args:
        text: The query.
        words: Its words in order, folded.

    >>> names_topic("What is the Marrow Light?", "what is the marrow light".split())
    True
    >>> names_topic("when was Marrow Light built", "when was marrow light built".split())
    False
    """
    defined = len(words) > 2 and words[0] in _DEFINED and words[1] in _BEING
    named = words[2:] if defined else words
    if not 0 < words_meant(named) <= _LONGEST_NAME:
        return False
    if not text.isascii() and (
        _WITHIN.search(text) or not _ELSEWHERE.isdisjoint(_WORD.findall(text.casefold()))
    ):
        return False
    functions = STOP_WORDS.intersection(named)
    if defined:
        property_of = named[0] == "the" and not functions.isdisjoint(_RELATIONS)
        return functions <= _IN_NAMES and not property_of
    asks = named[0] in _FRONT or not _ANYWHERE.isdisjoint(functions)
    return not asks and _ASKING.isdisjoint(named) and not _MARK.search(text)


def titles_named(
    content: Sequence[str], words: Set[str], texts: Sequence[str]
) -> list[frozenset[str]]:
    """Return the titles of texts that a query names, as words; none where titles are not usual.

    At least half of the texts must begin with a title: a line, or all up to a full stop or colon,
    of eight words at most. A title that is named has no word that is not the query's, and lacks
    one of its content words at most. Two texts at most begin with it: where more do, they may have
    been planted to make a title of the query.

    Args:
        content: The query's content words.
        words: All of its words, folded.
        texts: What is retrieved for it.

    >>> titles_named(["marrow"], {"marrow"}, ["Marrow. It was lit in 1874.", "It is old"])
    [frozenset({'marrow'})]
    """
    titles = [title for text in texts if (title := _title(text[:_TITLE_CHARS].lstrip()))]
    if 2 * len(titles) < len(texts):
        return []
    spoken = Counter(frozenset(ngrams(tokens(title))) for title in titles)
    return [
        title
        for title, pages in spoken.items()
        if pages <= _MOST_PAGES and title and title <= words and len(set(content) - title) <= 1
    ]


def _title(beginning: str) -> str:
    ends = [at for mark in (". ", ": ", "\n") if (at := beginning.find(mark)) > 0]
    title = beginning[: min(ends, default=0)]
    return title if len(title.split()) <= _LONGEST_TITLE else ""
