"""What a response claims, and where a text states it in another spelling.

A reader sees the same in "B0b Cr@ne", "B<b></b>ob Cra-ne" and "Bob Crane"; a comparison of words
does not. So a sentence that holds the letters of a claim, as quarantine reads letters, and not its
words, is read as if the claim stood behind it, and so are several sentences of which none does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ragguard.content import content_letters
from ragguard.inline.fingerprints import fingerprints
from ragguard.inline.normalize.leet import lettered
from ragguard.inline.query_form import INTERROGATIVES
from ragguard.lru import Remembered
from ragguard.stems import STOP_STEMS, stem, tokenize, words_of
from ragguard.text import STOP_WORDS, sentences, tokens
from ragguard.text.letters import letters_of

_LEAST = 5  # letters, which stand nowhere by chance
_SENTENCES = 50  # of a text with more nobody asks which of them it is
# Words that turn an answer round are function words to everybody else.
POLARITY = frozenset({"yes", "no", "not", "never", "none", "true", "false"})
# Words in which answers are given, whatever they say: of sources, of saying, of courtesy.
_FRAME = frozenset(
    """according actually additional agree agreed agrees almost answer answered answering answers
    apologies apologise apologize appear appeared appears approximately around article articles ask
    asked asking assist assistance based belief believe believed believes cited claim claimed claims
    clear clearly conclude concluded conclusion confirm confirmed confirms confusion consistent
    content context contrary correct currently data describe described describes detail details
    document documents evidence exactly excerpt excerpts explain explained explains fact facts feel
    find follow following found free further generally give given gives heard help helps hope
    however indeed indicate indicated indicates indicating information kindly know knowledge known
    let like likely list listed look looked looking make makes material materials matter mean means
    mention mentioned mentioning mentions need note noted notes overall particular passage passages
    please point points probably provide provided provides query question questions read reading
    refer reference referred refers regarding relevant remain remember report reported reportedly
    reporting reports requested requests require required respond response result results retrieved
    reveal reveals review reviewed roughly said say saying says search seem seems several show
    showed shown shows simply snippet snippets something sorry source sources specifically specified
    state stated statement statements states stating suggest suggested suggesting suggests summary
    sure tell tells text texts thank thanks therefore thing things think thought thus told
    understand understanding various wanted widely wonder""".split()
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
    >>> claim("Who led the survey?", "No, sorry, it was Ada Crane.")
    'Ada Crane.'
    >>> claim("Is the bridge open?", "No, the bridge is not open.")
    'No, not'
    >>> claim("How long is the bridge?", "It is approximately 26 km long.")
    '26 km'
    """
    pieces = _concluded(response).split()
    distinct = list(dict.fromkeys(pieces))
    asked, *words = map(set, words_of([query, *distinct]))
    words_in = dict(zip(distinct, words, strict=True))
    asked -= POLARITY
    common = STOP_WORDS | _FRAME
    known = common | asked
    named = {piece for piece in distinct if any(c.isupper() or c.isdigit() for c in piece)}
    new = {piece for piece, its in words_in.items() if its - known - POLARITY}
    letter = {piece for piece in distinct if piece.strip(PUNCTUATION) in _LETTERS}
    letter -= {piece for piece, its in words_in.items() if its <= asked}
    polar = {piece for piece, its in words_in.items() if its & POLARITY}
    telling = {piece for piece, its in words_in.items() if its - common}
    # Further on, "no" may only deny what nobody claims: "no other source mentions it".
    decides = next(filter(None, words), set()) & POLARITY
    if named & new and not INTERROGATIVES.isdisjoint(tokenize(query)[:1]):
        decides = set()  # "No, it was Ada Crane" only corrects whoever asks
    specific = (named & new) | (polar if decides else set())
    leading = {piece for piece in specific if LEADING.search(piece)}
    chosen = specific or (new | letter) or polar or (named & telling) or telling
    kept = [
        piece in chosen or (before in leading and piece in new)
        for before, piece in pairwise(["", *pieces])
    ]
    return " ".join(_bridged(pieces, words_in, kept)) or response


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


def _bridged(
    pieces: Sequence[str], words_in: Mapping[str, set[str]], chosen: Sequence[bool]
) -> Iterator[str]:
    bridge: list[str] | None = None
    for piece, telling in zip(pieces, chosen, strict=True):
        if telling:
            yield from (*(bridge or ()), piece)
            bridge = []
        elif bridge is not None:
            whole = len(bridge) < LONGEST_BRIDGE and words_in[piece] <= STOP_WORDS
            bridge = [*bridge, piece] if whole else None


def contains_phrase(words: Sequence[str], phrase: Sequence[str]) -> bool:
    """Return True if the words of a phrase, of which there are some, stand in `words` in a row."""
    return bool(phrase) and f" {' '.join(phrase)} " in f" {' '.join(words)} "


def spelled(claimed: str, texts: Sequence[str]) -> list[str]:
    """Return texts with a claim behind each sentence that states it in another spelling.

    >>> spelled("Bob Crane", ["It was built by B0b Cr@ne. It is of oak.", "Bob Crane built it."])
    ['It was built by B0b Cr@ne. Bob Crane It is of oak.', 'Bob Crane built it.']
    """
    sought = {one for one in letters_of([claimed, lettered(claimed)]) if len(one) >= _LEAST}
    if not sought:
        return [*texts]
    said = f" {' '.join(tokens(claimed))} "
    return [
        _spelled(claimed, sought, text)
        if holds and said not in f" {' '.join(tokens(text))} "
        else text
        for text, holds in zip(texts, _holding(texts, sought), strict=True)
    ]


def _spelled(claimed: str, sought: Set[bytes], text: str) -> str:
    parts = sentences(text)
    if len(parts) > _SENTENCES:
        return f"{text} {claimed}"
    each = zip(parts, _holding(parts, sought), strict=True)
    said = " ".join([f"{part} {claimed}" if holds else part for part, holds in each])
    return said if claimed in said else f"{text} {claimed}"


def _holding(texts: Sequence[str], sought: Set[bytes]) -> list[bool]:
    return [any(one in letters for one in sought) for letters, _ in readings(texts)]


def _read(texts: Sequence[str]) -> list[tuple[bytes, NDArray[np.uint32]]]:
    known = zip(texts, content_letters(texts), strict=True)
    each = [fingerprints([text], [letters]) for text, letters in known]
    return [(one.letters, one.distinct(0)) for one in each]


readings: Remembered[str, tuple[bytes, NDArray[np.uint32]]] = Remembered(
    _read,
    max_bytes=24 * 2**20,
    weigh=lambda text, read: 4 * len(text) + len(read[0]) + read[1].nbytes + 300,
)
"""Returns of every text its letters, as quarantine reads them, and its fingerprints, sorted."""
