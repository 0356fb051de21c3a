"""The words of a passage, read once and shared by every signal."""

from __future__ import annotations

import re
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

from ragguard.inline.features.gibberish import language_model
from ragguard.inline.normalize.html import unmarked
from ragguard.inline.normalize.typos import LONGEST, SHORTEST, Spellings
from ragguard.lru import Remembered
from ragguard.prompt_injection import address, may_address
from ragguard.text import (
    MAX_CHARS,
    MOST_CHARS,
    STOP_WORDS,
    both_ends,
    fold,
    parted_words,
    tokens,
    tokens_counted,
)

__all__ = [
    "ENDS",
    "PassageWords",
    "QueryWords",
    "ends_of",
    "names",
    "passage_words",
    "query_words",
]

# Bytes of what is remembered.
_PASSAGES, _NAMES, _QUERIES = 64 * 2**20, 16 * 2**20, 16 * 2**20
_WORD = 150  # bytes of a word in a tuple and in a set, with what is said of it
ENDS = 2_000
"""Characters at both ends of a passage that are read whatever the time."""

_QUERY_CHARS, _QUERY_WORDS = 2_000, 300  # of a longer question both ends are read
_PIECE = re.compile(r"[^\W_]+")
_SPACED = bytes(byte if chr(byte).isalnum() else 32 for byte in range(128)).ljust(256)
_FEW_WORDS, _FEW_LETTERS = 3, 12  # a question of less may be found in other words by chance
_INTERROGATIVES = frozenset("who whom whose what which when where why how".split())


class PassageWords(NamedTuple):
    """A passage as the signals read it.

    Attributes:
        sequence: Its words in order, and after them the parts of those that some retrievers part.
        distinct: Its words as a set.
        address: How clearly it speaks to a language model (`ragguard.prompt_injection`).
        odd: Its words of 4 to 32 letters that the model of `features.gibberish` does not
            list.
        text: The passage as it was given.
        letters: The words of `sequence` without anything between them.
        unread: How many characters in the middle of a very long text were not read.
    """

    sequence: tuple[str, ...]
    distinct: frozenset[str]
    address: float
    odd: frozenset[str] = frozenset()
    text: str = ""
    letters: str = ""
    unread: int = 0

    @property
    def joined(self) -> str:
        """Its words between single spaces, with a space at both ends.

        A run of words is in the passage if and only if it is in this string. Put together anew for
        whoever asks, since that are few.
        """
        return f" {' '.join(self.sequence)} "


class QueryWords(NamedTuple):
    """A question as the signals read it.

    Attributes:
        sequence: Its words in order.
        distinct: Its words as a set.
        content: Its distinct words without English function words, in order; all of its words if
            it has no others.
        pairs: Its pairs of neighbours.
        parted: Its pairs of content words that only function words part: neighbours in a string
            of key words, but not in the question.
        asking: The words that make it a question: its interrogatives, or else the verb or other
            function word that it begins with; empty if it is no question.
        spellings: How its words of 4 to 32 letters may be written (`normalize.typos`).
        letters: Its words without anything between them; empty for a short question.
        digest: 16 hex digits of its content words without their order: the cheapest ways to ask
            the same again are to shuffle, and to vary function words.
    """

    sequence: tuple[str, ...]
    distinct: frozenset[str]
    content: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    parted: frozenset[tuple[str, str]]
    asking: frozenset[str]
    spellings: Spellings
    letters: str
    digest: str


def ends_of(text: str) -> PassageWords:
    """Read both ends of a passage, for which there is always time."""
    read = _read(both_ends(text, ENDS))
    return read._replace(unread=read.unread + max(0, len(text) - ENDS))


def passage_words(text: str) -> PassageWords:
    """Read a passage; recent ones are remembered unless they are very long."""
    return _remembered(text)


def _read(text: str) -> PassageWords:
    shown = unmarked(text)
    sequence, unread = tokens_counted(shown)
    sequence += parted_words(shown)
    distinct = frozenset(sequence)
    # The words of one passage in thirty leave it open, and only then the text is searched.
    addresses = address(fold(shown), distinct) if may_address(distinct) else 0.0
    unlisted = distinct - language_model().listed
    odd = frozenset(
        [word for word in unlisted if SHORTEST <= len(word) <= LONGEST and not word.isdigit()]
    )
    unread += max(0, len(text) - MOST_CHARS) if shown is not text else 0
    letters = "".join(sequence)
    return PassageWords(tuple(sequence), distinct, addresses, odd, text, letters, unread)


_remembered = Remembered(
    _read,
    max_bytes=_PASSAGES,
    weigh=lambda text, read: 4 * len(text) + _WORD * len(read.sequence) + 1000,
)


def names(text: str) -> frozenset[str] | None:
    """Return the names and numbers of a text, folded: the words that begin with no small letter.

    In a script without capitals every word does. None if the text has no capital at all, and so
    does not tell names from other words. Not part of `passage_words`, since few passages need it.

    >>> sorted(names("In 1874 the Marrow Light was built.") or ())
    ['1874', 'light', 'marrow']
    """
    return _remembered_names(text).found


class _Names(NamedTuple):
    found: frozenset[str] | None


def _read_names(text: str) -> _Names:
    return _Names(_names(unmarked(text)[:MAX_CHARS]))


def _names(text: str) -> frozenset[str] | None:
    if text.isascii():
        # Twice as fast as below. Of ASCII digits come first, then capitals, then small letters.
        pieces = [piece for piece in text.encode().translate(_SPACED).split() if piece < b"a"]
        if not pieces or max(pieces) < b"A":
            return None
        return frozenset(b" ".join(pieces).lower().decode().split()) - STOP_WORDS
    found = [word for word in _PIECE.findall(text) if not word[0].islower()]
    if not any(word[0].isupper() for word in found):
        return None
    return frozenset(tokens(" ".join(found))) - STOP_WORDS


_remembered_names = Remembered(
    _read_names,
    max_bytes=_NAMES,
    weigh=lambda text, read: 4 * len(text) + _WORD * len(read.found or ()) + 500,
)


def query_words(text: str) -> QueryWords:
    """Read a question, of a very long one both ends; recent ones are remembered."""
    return _remembered_queries(text)


def _read_query(text: str) -> QueryWords:
    sequence = tuple(tokens(both_ends(text, _QUERY_CHARS)))
    if len(sequence) > _QUERY_WORDS:
        half = _QUERY_WORDS // 2
        sequence = sequence[:half] + sequence[-half:]
    in_order = tuple(dict.fromkeys(sequence))
    content = tuple(word for word in in_order if word not in STOP_WORDS) or in_order
    pairs = frozenset(pairwise(sequence))
    # "The keeper's lamp" and "keeper lamp" are one name.
    possessed = pairwise([word for word in sequence if word != "s"])
    parted = frozenset(pairwise(content)) - pairs - frozenset(possessed)
    asking = _INTERROGATIVES.intersection(sequence) or STOP_WORDS.intersection(sequence[:1])
    # A number that differs in one digit is another number.
    spellings = Spellings.of(
        [word for word in in_order if word.isalpha() and SHORTEST <= len(word) <= LONGEST]
    )
    letters = "".join(sequence)
    if len(sequence) < _FEW_WORDS or len(letters) < _FEW_LETTERS:
        letters = ""
    distinct = frozenset(sequence)
    words = " ".join(sorted(content)).encode("utf-8", "surrogatepass")
    digest = blake2b(words, digest_size=8).hexdigest()
    return QueryWords(
        sequence, distinct, content, pairs, parted, asking, spellings, letters, digest
    )


def _query_bytes(text: str, query: QueryWords) -> int:
    # The forms of its longer words, where they have been asked for, are most of it.
    forms = sum([(len(word) + 2) * (len(word) + 160) for word in query.spellings.words])
    return 4 * len(text) + 2 * _WORD * len(query.sequence) + forms + 1000


_remembered_queries = Remembered(_read_query, max_bytes=_QUERIES, weigh=_query_bytes)
