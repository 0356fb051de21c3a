"""The form of a query (query intent): does it ask, name what it is about, or tell something?

Broder (2002, "A taxonomy of web search") tells queries apart by what people want; here words must
do, and a look at the pages (`ragguard.inline.page_form`). Honest pages repeat what is named, their
title, and what is told, a pasted sentence or an error message. They hardly ever repeat a question
of many words, so only such a repetition speaks against a passage.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib import resources

from ragguard.inline.class_bigram import class_bigram
from ragguard.text import STOP_WORDS, has_function_words, split_words, tokens
from ragguard.text.ngrams import words_meant

INTERROGATIVES = frozenset("who whom whose what which when where why how".split())
"""The words that a question asks with."""

CLAUSES = frozenset("when where who".split())
"""Those that often begin a clause instead."""

ASKING_VERBS = frozenset("are can could did do does had has have is should was were would".split())
"""The verbs that a question without such a word begins with."""

BEGINNINGS = INTERROGATIVES | ASKING_VERBS
"""All of these."""

TELLING = frozenset(
    """a an another each every he her his i it its my one our she some such that the their there
    these they this those we you your""".split()
)
"""Words with which a clause goes on that tells: "when the war ended", "who it was"."""

_ASKING = INTERROGATIVES | frozenset("describe explain list show tell whats whos".split())

REQUESTING = _ASKING - INTERROGATIVES | frozenset(
    """compare define discuss find give identify name please provide state summarise summarize
    write""".split()
)
"""The words that a request begins with."""

ASKERS = frozenset("i me my us we".split())
"""Who asks: "I wonder why", "let me know which"."""

BEFORE = frozenset("about at by for from in of on to with".split())
"""Words before an interrogative with which a question begins: "in which year"."""

QUESTION_MARK = re.compile("[?\uff1f\u061f\u037e]|(?<=[\u0370-\u03ff]);")  # Arabic, Greek as well
_GREEK = re.compile("[\u0370-\u03ff]")

_ADVERBS = frozenset("come when where why".split())  # as in "how come"
_FRONT = frozenset("am can could may might must shall should will would".split())
_ANYWHERE = frozenset("are did do does had has have is was were".split())
_NEGATED = frozenset(
    """aren cannot couldn didn doesn don hadn hasn haven isn mustn shouldn wasn weren won
    wouldn""".split()
)
_INVERTED = ASKING_VERBS | _FRONT | {"not", "to"}
OPENING = _FRONT | _ANYWHERE | _NEGATED
"""The verbs that a question without an interrogative begins with."""

_RELATIVE = re.compile(  # a clause, unless a question mark ends the query
    rf",\s+(?:whose\b|which(?=\s+(?:{'|'.join(sorted(_FRONT | _ANYWHERE))})\b))", re.IGNORECASE
)

_DEFINED = frozenset("who what".split())
_LIST = ("list", "of")  # many titles begin so
_BEING = frozenset("is are was were s".split())  # of "what's" the s is a word
_RELATIONS = frozenset("for in of on to".split())
_IN_NAMES = _RELATIONS | frozenset("a an and the".split())
_LONGEST_TITLE = 8  # words
_LONGEST_NAME = 6  # words; what is longer asks for more than a name, unless it is written as one
_TYPED = 11  # words that somebody types without a stop or comma; a longer row was pasted
_STOPS = re.compile(r"[.,:;!](?:\s|$)")
_CLOSED = re.compile(r"(?:[^\W_]{3}[.!]|[\u3002\uff01\u0964])[\"')\]\u201d\u2019]*\s*$")
_PARTED = re.compile(r"(?:[^\W\d_]{3}[.!;]\s|[\u3002\uff01\u0964]\s?)(\w)")  # two sentences
_EDGE = 3  # words at both ends of a query: there an interrogative asks
_LATIN_EDGE, _LEAST_LATIN = 2, 4  # the same of other languages in Latin script; and words at least
_EDGE_LETTERS = 8  # of scripts that put no spaces between words
_TO_COMPLETE = frozenset("are called is named was were".split())  # what follows, but for one word
_LONGEST_QUESTION = 30  # words without a mark; a longer text may hold any word inside

# How other languages ask: by words, in Latin script at an end alone, since some ask nothing within;
# or by letters anywhere where no spaces part words.
_FILE = resources.files("ragguard.inline") / "interrogatives.json"
_OTHERS = json.loads(_FILE.read_text(encoding="utf-8"))
_WRITTEN = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_ELSEWHERE = frozenset(" ".join(_OTHERS["words"].values()).casefold().split())
_IN_LATIN = frozenset(" ".join(_OTHERS["latin"].values()).casefold().split())
_WITHIN = re.compile("|".join(" ".join(_OTHERS["within"].values()).split()))


def names(text: str, words: Sequence[str]) -> bool:
    """Return True if a query, given with its words as they are folded, only names something.

    That is "TITLE", "TITLE and other key words" and "what is TITLE?", but not "what is the height
    of TITLE?", and no query with another interrogative, a verb, "tell me", or a question mark. In
    other scripts than Latin it is one without an interrogative (`interrogatives.json`) or a mark.
    Where every word but the little ones has a capital, any words are a name: "Who Framed Ann".

    >>> names("What is the Marrow Light?", "what is the marrow light".split())
    True
    >>> names("when was Marrow Light built", "when was marrow light built".split())
    False
    """
    defined = len(words) > 2 and words[0] in _DEFINED and words[1] in _BEING
    named = words[2:] if defined else words
    length = words_meant(named)
    if not 0 < length <= _LONGEST_TITLE:
        return False
    if _has_capitals(text, skipped=2 if defined else 0) and (
        defined or not has_question_mark(text)
    ):
        return True
    return length <= _LONGEST_NAME and not _asks(text, named, defined=defined)


def begins_as_question(words: Sequence[str]) -> bool:
    """Return True if two words or more begin a question by an interrogative.

    >>> [begins_as_question(said.split()) for said in ("in which year", "when did", "when the war")]
    [True, True, False]
    """
    if words[0] in INTERROGATIVES:
        return words[0] not in CLAUSES or words[1] not in TELLING
    return words[0] in BEFORE and words[1] in INTERROGATIVES


def has_question_mark(text: str) -> bool:
    """Return True if a text has a question mark, or ends in a Greek one."""
    if QUESTION_MARK.search(text):
        return True
    return text.rstrip().endswith(";") and _GREEK.search(text) is not None


def asking_words(words: Sequence[str]) -> frozenset[str]:
    """Return the words that ask in English: the interrogatives, or else the verb at the beginning.

    >>> [*asking_words("is the keeper who lit it".split())], [*asking_words("is it lit".split())]
    (['who'], ['is'])
    """
    return INTERROGATIVES.intersection(words) or OPENING.intersection(words[:1])


def asks_about_clause(words: Sequence[str]) -> bool:
    """Return True if two words or more are an interrogative and a clause, not put as a question.

    >>> [asks_about_clause(said.split()) for said in ("why the lamp", "why did", "how old")]
    [True, False, False]
    """
    if words[0] == "how":
        return words[1] in TELLING or words[1] == "come"
    return words[0] in _ADVERBS and words[1] not in _INVERTED


def is_to_complete(words: Sequence[str]) -> bool:
    """Return True if two words or more end as what is to be completed.

    >>> is_to_complete("the lamp is called the".split())
    True
    """
    return words[-1] in _TO_COMPLETE or (words[-2] in _TO_COMPLETE and words[-1] in STOP_WORDS)


def tells(text: str, words: Sequence[str]) -> bool:
    """Return True if a query tells something and asks nothing, as pasted text does.

    It has more words than a name, no question mark, begins with no request or verb that asks, and

    - is not English, asks neither at its beginning nor at its end, and a stop ends it or stands in
      it, or it has more than thirty words;
    - or is an English sentence: a full stop ends it, nobody says "I", and it does not begin as a
      question;
    - or is English, has a comma or stop or a dozen words, and does not end as what is to be
      completed ("is called the"); no interrogative is among its first or last three words, and in
      thirty words or less none but "who", "when" and "where" anywhere.

    >>> tells("Ann lit it, when she woke, at dusk", "ann lit it when she woke at dusk".split())
    True
    >>> tells("keeper of the lamp when it was new", "keeper of the lamp when it was new".split())
    False
    """
    if not words or words[0] in REQUESTING | _FRONT | _ANYWHERE or has_question_mark(text):
        return False
    if not has_function_words(words):
        return _tells_elsewhere(text, words)
    if len(words) <= _LONGEST_NAME or asks_elsewhere(text):
        return False
    if _CLOSED.search(text) and ASKERS.isdisjoint(words):
        return not begins_as_question(words)
    if len(words) <= _TYPED and not _STOPS.search(text):
        return False
    inside = INTERROGATIVES - CLAUSES if len(words) <= _LONGEST_QUESTION else frozenset[str]()
    asking = not INTERROGATIVES.isdisjoint([*words[:_EDGE], *words[-_EDGE:]])
    fronted = words[0] in ("among", "of")  # "of the lamps, which is the oldest"
    asking = asking or not inside.isdisjoint(words if fronted else tokens(_RELATIVE.sub(" ", text)))
    return not (asking or is_to_complete(words))


def _tells_elsewhere(text: str, words: Sequence[str]) -> bool:
    """Return True if what is not English tells: sentences, or what is too long for a question."""
    length = words_meant(words)
    if length <= _LONGEST_NAME or begins_as_question([*words, ""]):
        return False
    parted = any(not begins.islower() for begins in _PARTED.findall(text))
    if not (_CLOSED.search(text) or parted or length > _LONGEST_QUESTION):
        return False
    shown, written = text.strip(), split_words(text.casefold())
    edges = f"{shown[:_EDGE_LETTERS]}\n{shown[-_EDGE_LETTERS:]}"
    return _ELSEWHERE.isdisjoint([*written[:_EDGE], *written[-_EDGE:]]) and not _WITHIN.search(
        edges
    )


def _has_capitals(text: str, *, skipped: int) -> bool:
    """Return True if a text, but for its first words, is written as titles are."""
    written = _WRITTEN.findall(text)[skipped:]
    large = [word for word in written if word.lower() not in STOP_WORDS]
    return len(written) > 1 and all(word[0].isupper() or word[0].isdigit() for word in large)


def _asks(text: str, named: Sequence[str], *, defined: bool) -> bool:
    if asks_elsewhere(text):
        return True
    functions = STOP_WORDS.intersection(named)
    if defined:
        property_of = named[0] == "the" and not functions.isdisjoint(_RELATIONS)
        return property_of or not functions <= _IN_NAMES
    verb = named[0] in _FRONT or not _ANYWHERE.isdisjoint(functions)
    told = named[2:] if tuple(named[:2]) == _LIST else named
    if verb or not _ASKING.isdisjoint(told):
        return True
    return has_question_mark(text) and not (functions <= _IN_NAMES | {"s"} and _is_english(text))


def _is_english(text: str) -> bool:
    """Return True if all words of a text but capitalised ones are English, or those are all."""
    if _has_capitals(text, skipped=0) and not text.isupper():
        return True
    first, *others = _WRITTEN.findall(text)
    small = tokens(" ".join([first, *[word for word in others if not word[0].isupper()]]))
    return class_bigram().listed.issuperset([word for word in small if not word[0].isdigit()])


def asks_otherwise(text: str) -> bool:
    """Return True if a text has a question mark, or an interrogative of another language.

    >>> asks_otherwise("wann brannte die Lampe"), asks_otherwise("the lamp of the pier")
    (True, False)
    """
    return has_question_mark(text) or asks_elsewhere(text)


def asks_elsewhere(text: str) -> bool:
    """Return True if a text has an interrogative of another language than English."""
    words = split_words(text.casefold())
    ends = (*words[:_LATIN_EDGE], *words[-_LATIN_EDGE:])
    if len(words) >= _LEAST_LATIN and not _IN_LATIN.isdisjoint(ends) and not _is_english(text):
        return True
    if text.isascii():
        return False
    return _WITHIN.search(text) is not None or not _ELSEWHERE.isdisjoint(words)
