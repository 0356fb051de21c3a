"""What a response claims, and when two answers agree.

A generated answer wraps its claim in courtesy and in words of the question. Only the claim tells
passages apart: the rest is in all of them or in none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.answer import answer_of
from ragguard.attribution.coverage import STOP_STEMS
from ragguard.stems import stem, tokenize, words_of
from ragguard.text import STOP_WORDS

# Words that turn an answer round are function words to everybody else.
POLARITY = frozenset({"yes", "no", "not", "never", "none", "true", "false"})
# Words in which answers are given, whatever they say: of sources, of saying, of courtesy.
_FRAME = frozenset(
    """according actually additional agree agreed agrees almost answer answered answering answers
    appear appeared appears approximately around article articles ask asked asking assist assistance
    based belief believe believed believes cited claim claimed claims clear clearly conclude
    concluded conclusion confirm confirmed confirms consistent content context contrary correct
    currently data describe described describes detail details document documents evidence exactly
    excerpt excerpts explain explained explains fact facts feel find follow following found free
    further generally give given gives heard help helps hope however indeed indicate indicated
    indicates indicating information kindly know knowledge known let like likely list listed look
    looked looking make makes material materials matter mean means mention mentioned mentioning
    mentions need note noted notes overall particular passage passages please point points probably
    provide provided provides query question questions read reading refer reference referred refers
    regarding relevant remain remember report reported reportedly reporting reports requested
    requests require required respond response result results retrieved reveal reveals review
    reviewed roughly said say saying says search seem seems several show showed shown shows simply
    snippet snippets something source sources specifically specified state stated statement
    statements states stating suggest suggested suggesting suggests summary sure tell tells text
    texts therefore thing things think thought thus told understand understanding various wanted
    widely wonder""".split()
)
_INSIDE = r"(?:[^.!?]|[.!?](?=\S))"  # "13.00" ends no sentence
_WHILE = rf"\b(?:while|although|though|even though|whereas|despite)\b{_INSIDE}{{3,200}}?\S,\s+"
_CONCEDED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # The comma that ends a clause before the one that stands in "Essex, New Jersey".
        _WHILE + r"(?=(?-i:[a-z]))",
        _WHILE,
        r"(?:^|(?<=[.!?]\s))(?:some|many|most|others|a few|earlier|older)\s(?:\w+\s){0,2}?"
        rf"(?:say|believe|think|claim|state|suggest|assume|argue|list|name|give)s?\b{_INSIDE}*"
        r"[.!?]\s+",
        rf"^(?!\W*(?:yes|no|not|true|false)\b){_INSIDE}{{3,200}}?,?\s(?:but|yet)\s(?=\S)",
    )
)
LEADING = re.compile(r"\d[%\"')]*$|['\u2019]s$")
LONGEST_BRIDGE = 2  # function words between two pieces of one phrase
COMMON_STEMS = STOP_STEMS | {stem(word) for word in _FRAME}
"""Stems of words that are in every text, and of those in which answers are given."""
PUNCTUATION = ".,;:!?\"'()"  # around a letter
_LETTERS = frozenset("BCDEFGHJKLMNOPQRSTUVWXYZ")  # "A" and "I" are words


def claim(query: str, response: str) -> str:
    """Return the part of `response` that is neither in `query` nor in every answer.

    Names and numbers, if the response brings any, with the content word that a number counts or a
    name possesses ("26 km", "Ann's sister"); else its content words; else the names that it takes
    from the question ("Who came first, A or B?"), or its other words; else all of it. Pieces keep
    their order and spelling, and up to two function words between two of them stay, so that "Guns
    N' Roses" or "War and Peace" is still one phrase. What the response only concedes ("While it was
    A for long, it is B now") is not claimed.

    >>> claim("Who led the survey?", "Based on the context, the survey was led by Ada Crane.")
    'Ada Crane.'
    >>> claim("Is the bridge open?", "No, the bridge is not open.")
    'No, not'
    >>> claim("How long is the bridge?", "It is approximately 26 km long.")
    '26 km'
    """
    pieces = _concluded(response).split()
    asked, *words = map(set, words_of([query, *pieces]))
    asked -= POLARITY
    common = STOP_WORDS | _FRAME
    known = common | asked

    def where(test: Callable[[str, set[str]], object]) -> NDArray[np.bool_]:
        return np.array([bool(test(*pair)) for pair in zip(pieces, words, strict=True)], dtype=bool)

    named = where(lambda piece, _: any(c.isupper() or c.isdigit() for c in piece))
    new = where(lambda _, found: found - known - POLARITY)
    letter = where(lambda piece, found: piece.strip(PUNCTUATION) in _LETTERS and not found <= asked)
    polar = where(lambda _, found: found & POLARITY)
    telling = where(lambda _, found: found - common)
    # Further on, "no" may only deny what nobody claims: "no other source mentions it".
    decided = bool(next(filter(None, words), set()) & POLARITY)
    specific = (named & new) | (polar & decided)
    leading = specific & where(lambda piece, _: LEADING.search(piece))
    specific |= np.concatenate(([False], leading))[:-1] & new
    for chosen in (specific, new | letter, polar, named & telling, telling):
        if chosen.any():
            return " ".join(_bridged(pieces, words, chosen.tolist()))
    return response


def only_decides(claimed: str) -> bool:
    """Return True if a claim says yes or no, and nothing that could stand without its question.

    >>> only_decides("No, not"), only_decides("No, Essex")
    (True, False)
    """
    words = set(tokenize(claimed))
    return bool(words) and words <= POLARITY


def _concluded(response: str) -> str:
    """Return the response without what it concedes, or all of it if nothing else is there."""
    whole = " ".join(response.split())
    for conceded in _CONCEDED:
        rest = conceded.sub("", whole)
        if rest != whole and set(tokenize(rest)) - STOP_WORDS - _FRAME:
            return rest
    return response


def _bridged(pieces: Sequence[str], words: Sequence[set[str]], chosen: Sequence[bool]) -> list[str]:
    kept: list[str] = []
    bridge: list[str] | None = None
    for piece, found, telling in zip(pieces, words, chosen, strict=True):
        if telling:
            kept += [*(bridge or ()), piece]
            bridge = []
        elif bridge is not None:
            whole = len(bridge) < LONGEST_BRIDGE and found <= STOP_WORDS
            bridge = [*bridge, piece] if whole else None
    return kept


_REFUSAL = re.compile(
    r"\b(?:can ?not|can'?t|could ?n[o']t|unable|not able|won'?t|do(?:es)? ?n[o']t (?:know|have"
    r"|contain|provide|mention)|i'?m sorry|sorry|apologi[sz]e|insufficient|not enough|no "
    r"information)\b",
    re.IGNORECASE,
)


def answers_agree(query: str, answer: str, response: str) -> bool:
    """Return True if two answers to `query` claim the same, by rule.

    They agree if both refuse, or if the claim of one occurs in the other as a phrase; an answer
    that says yes never agrees with one that says no.

    >>> answers_agree("Who led it?", "It was led by Ada Crane", "Ada Crane, in 1921.")
    True
    >>> answers_agree("Is it open?", "Yes, it is.", "No, it is not open.")
    False
    """
    answer, response = answer_of(answer, query), answer_of(response, query)
    ours, theirs = tokenize(answer), tokenize(response)
    alike = _polarity(ours) * _polarity(theirs)
    if alike < 0:
        return False
    refused = [bool(_REFUSAL.search(text)) for text in (answer, response)]
    if any(refused):
        return all(refused)
    return (
        alike > 0
        or contains_phrase(ours, tokenize(claim(query, response)))
        or contains_phrase(theirs, tokenize(claim(query, answer)))
    )


def _polarity(words: Sequence[str]) -> int:
    first = words[0] if words else ""
    return (first in ("yes", "true")) - (first in ("no", "false"))


def contains_phrase(words: Sequence[str], phrase: Sequence[str]) -> bool:
    """Return True if the words of a phrase, of which there are some, stand in `words` in a row."""
    return bool(phrase) and f" {' '.join(phrase)} " in f" {' '.join(words)} "
