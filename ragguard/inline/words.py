"""The words of a passage, read once and shared by every signal."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from ragguard.inline.address import address, may_address
from ragguard.inline.markup import unmarked
from ragguard.inline.naturalness import language_model
from ragguard.inline.spelling import LONGEST, SHORTEST, Spellings, likenesses
from ragguard.text import MAX_CHARS, STOP_WORDS, fold, parted_words, tokens

__all__ = [
    "PassageWords",
    "QueryWords",
    "forget_passages",
    "names",
    "passage_words",
    "query_words",
]

_CACHED_PASSAGES = 4096
_LONGEST_CACHED = 4096  # characters
_CACHED_QUERIES = 1024
_PIECE = re.compile(r"[^\W_]+")
_SPACED = bytes(byte if chr(byte).isalnum() else 32 for byte in range(128)).ljust(256)
_FEW_WORDS, _FEW_LETTERS = 3, 12  # a question of less may be found in other words by chance
_INTERROGATIVES = frozenset("who whom whose what which when where why how".split())


class PassageWords(NamedTuple):
    """A passage as the signals read it.

    Attributes:
        sequence: Its words in order, and after them the parts of those that some retrievers part.
        distinct: Its words as a set.
        address: How clearly it speaks to a language model (`ragguard.inline.address`).
        odd: Its words of 4 to 32 letters that the model of `ragguard.inline.naturalness` does not
            list.
        text: The passage as it was given.
        letters: The words of `sequence` without anything between them.
    """

    sequence: tuple[str, ...]
    distinct: frozenset[str]
    address: float
    odd: frozenset[str] = frozenset()
    text: str = ""
    letters: str = ""

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
        spellings: How its words of 4 to 32 letters may be written (`ragguard.inline.spelling`).
        letters: Its words without anything between them; empty for a short question.
    """

    sequence: tuple[str, ...]
    distinct: frozenset[str]
    content: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    parted: frozenset[tuple[str, str]]
    asking: frozenset[str]
    spellings: Spellings
    letters: str


def passage_words(text: str) -> PassageWords:
    """Read a passage; recent ones are remembered unless they are very long."""
    return _remembered(text) if len(text) <= _LONGEST_CACHED else _read(text)


def _read(text: str) -> PassageWords:
    shown = unmarked(text)
    sequence = tokens(shown)
    sequence += parted_words(shown)
    distinct = frozenset(sequence)
    # The words of one passage in thirty leave it open, and only then the text is searched.
    addresses = address(fold(shown), distinct) if may_address(distinct) else 0.0
    unlisted = distinct - language_model().listed
    odd = frozenset(
        [word for word in unlisted if SHORTEST <= len(word) <= LONGEST and not word.isdigit()]
    )
    return PassageWords(tuple(sequence), distinct, addresses, odd, text, "".join(sequence))


_remembered = lru_cache(maxsize=_CACHED_PASSAGES)(_read)


def names(text: str) -> frozenset[str] | None:
    """Return the names and numbers of a text, folded: the words that begin with no small letter.

    In a script without capitals every word does. None if the text has no capital at all, and so
    does not tell names from other words. Not part of `passage_words`, since few passages need it.

    >>> sorted(names("In 1874 the Marrow Light was built.") or ())
    ['1874', 'light', 'marrow']
    """
    return _remembered_names(text) if len(text) <= _LONGEST_CACHED else _read_names(text)


def _read_names(text: str) -> frozenset[str] | None:
    text = unmarked(text)[:MAX_CHARS]
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


_remembered_names = lru_cache(maxsize=_CACHED_PASSAGES)(_read_names)


def forget_passages() -> None:
    """Forget the passages and spellings read so far; a benchmark of first readings needs it."""
    _remembered.cache_clear()
    _remembered_names.cache_clear()
    likenesses.cache_clear()


@lru_cache(maxsize=_CACHED_QUERIES)
def query_words(text: str) -> QueryWords:
    """Read a question; recent ones are remembered."""
    sequence = tuple(tokens(text))
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
    return QueryWords(sequence, distinct, content, pairs, parted, asking, spellings, letters)
