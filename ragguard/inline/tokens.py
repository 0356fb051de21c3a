"""Tokenisation: a query and a passage as lists of words, read once and shared by every feature."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Self, TypeVar

from ragguard.fork import WorkedOutOnce
from ragguard.inline.class_bigram import SHORTEST, oov_words
from ragguard.inline.code_form import is_code
from ragguard.inline.query_form import (
    asking_words,
    asks_otherwise,
    has_question_mark,
    names,
    tells,
)
from ragguard.inline.query_reduction import (
    PASTED,
    asks_at_end,
    is_one_question,
    questions_in,
    told_in,
)
from ragguard.lru import Remembered
from ragguard.prompt_injection import injection_strength
from ragguard.text import MOST_CHARS, STOP_WORDS, both_ends, parted_words, tokens, tokens_counted
from ragguard.text.html import strip_markup
from ragguard.text.ngrams import has_unspaced, ngrams, ngrams_counted, words_meant
from ragguard.text.typed import as_typed

T = TypeVar("T")

_MAX_BYTES = 128 * 2**20  # of all passages that are remembered, with what features keep of them
_WORD_BYTES = 300  # of a word in a tuple and in sets, that of names among them
_MAX_QUERY_BYTES = 32 * 2**20  # of one a 256th at most: some 40 words
ENDS = 2_000
"""Characters at both ends of a passage that are read whatever the time."""

LABELS = frozenset(
    """answers ask asked faq faqs frequently q query question questions re subject title topic
    user""".split()
)
"""Words that announce a question or a title."""
_NUMBER = re.compile(r"q?[0-9]{1,2}")
_NUMBERS_BEGIN = frozenset("q0123456789")
LONGEST_LABEL = 3  # words
_MOST_NGRAMS = 8_000  # of a passage with more both ends are read
_QUERY_CHARS, _QUERY_WORDS = 2_000, 300  # of a longer question both ends are read
_FEW_WORDS, _FEW_LETTERS = 3, 12  # a question of less may be found in other words by chance


@dataclass(eq=False)
class _Tokenized:
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)
    _latest: tuple[Any, Any] = field(default=(None, None), init=False, repr=False)

    def once(self, read: Callable[[Self], T]) -> T:
        """Return `read(self)`, which is worked out once for as long as this is remembered."""
        if read not in self._kept:
            self._kept[read] = read(self)
        found: T = self._kept[read]
        return found

    def latest(self, read: Callable[[Self], T]) -> T:
        """Return `read(self)`, remembered until another is read: one of many at a time."""
        last, found = self._latest
        if last != read:
            found = read(self)
            self._latest = (read, found)
        kept: T = found
        return kept


@dataclass(eq=False)
class TokenizedPassage(_Tokenized):
    """A passage as the features read it. To be read only.

    Attributes:
        sequence: Its words in order, and after them the parts of those that some retrievers part.
        text: The passage as it was given.
        unread: How many characters in the middle of a very long text were not read.
        oov: Its words that the language model does not list, as they are written.
        injection: How clearly it, markup aside, speaks to a language model, in [0, 1].
        distinct: Its words as a set.
        letters: Its words without anything between them.
    """

    sequence: tuple[str, ...]
    text: str = ""
    unread: int = 0
    oov: frozenset[str] = frozenset()
    injection: float = 0.0
    _written: TokenizedPassage | None = field(default=None, repr=False)
    distinct: frozenset[str] = field(init=False, repr=False)
    letters: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Collect the words."""
        self.distinct = frozenset(self.sequence)
        self.letters = "".join(self.sequence)

    def rewritten(self, sequence: tuple[str, ...]) -> TokenizedPassage:
        """Return the passage with words of the question in place of others."""
        return replace(self, sequence=sequence, _written=self.written)

    @property
    def written(self) -> TokenizedPassage:
        """The passage as it is written, before `rewritten`."""
        return self._written or self

    @WorkedOutOnce
    def shown(self) -> str:
        """The passage without its markup."""
        return strip_markup(self.text)

    @property
    def joined(self) -> str:
        """Its words between single spaces, and around: a run is in it if it is in the passage."""
        return f" {' '.join(self.sequence)} "


@dataclass(eq=False)
class TokenizedQuery(_Tokenized):
    """A question as the features read it. To be read only.

    Attributes:
        sequence: Its words in order.
        distinct: Its words as a set.
        content: Its distinct words without English function words, in order; all of its words if
            it has no others.
        pairs: Its pairs of neighbours.
        parted: Its pairs of content words that only function words part, as no key words do.
        asking: The words that make it a question: its interrogatives, or else the verb that it
            begins with; empty if it is no question.
        asks_otherwise: True if it is a question by its mark, or an interrogative of another script,
            and has no such word.
        marked: True if it has a question mark.
        names: True if it only names something (`ragguard.inline.query_form`).
        length: How many words it has; n-grams count as parts of one.
        told: How many of its words tell something, as pasted text does, and may stand in any page:
            all, but for a question at the end of a few sentences.
        reduced: The questions in it, where it holds more than one question; they have none.
        behind: The word behind which it stands in such a query; empty if it is none of these.
    """

    sequence: tuple[str, ...]
    distinct: frozenset[str]
    content: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    parted: frozenset[tuple[str, str]]
    asking: frozenset[str]
    names: bool
    length: float
    asks_otherwise: bool = False
    marked: bool = False
    told: int = 0
    reduced: tuple[TokenizedQuery, ...] = ()
    behind: str = ""

    @property
    def tells(self) -> bool:
        """True if it tells something as well."""
        return self.told > 0

    @WorkedOutOnce
    def letters(self) -> str:
        """Its words without anything between them; empty for a short question."""
        letters = "".join(self.sequence)
        return "" if len(self.sequence) < _FEW_WORDS or len(letters) < _FEW_LETTERS else letters


def tokenize_passage(text: str) -> TokenizedPassage:
    """Read a passage without its markup; recent ones are remembered unless they are very long."""
    return tokenize_passages([text])[0]


def tokenize_ends(text: str) -> TokenizedPassage:
    """Read both ends of a long passage, for which there is always time, or all of a short one."""
    if len(text) <= ENDS:
        return tokenize_passage(text)
    read = _read_passage(both_ends(text, ENDS))
    read.unread += len(text) - ENDS
    return read


def _read_passage(text: str) -> TokenizedPassage:
    shown = strip_markup(text)
    words, unread = tokens_counted(shown)
    ascii_only = shown.isascii()
    sequence, left_out = (words, 0) if ascii_only else ngrams_counted(words, _MOST_NGRAMS)
    # Scripts without spaces are joined across every gap, so that nothing is parted there.
    parts = [word for word in parted_words(shown) if not has_unspaced(word)]
    passage = TokenizedPassage((*sequence, *parts), text, unread + left_out)
    if shown is not text:
        passage.unread += max(0, len(text) - MOST_CHARS)
    long = passage.distinct
    if sequence is not words:  # n-grams are shorter than all that may be misspelt
        long = frozenset([word for word in long if len(word) >= SHORTEST])
    passage.shown = shown
    passage.oov = oov_words(long)
    passage.injection = injection_strength(shown, passage.distinct)
    return passage


tokenize_passages: Remembered[str, TokenizedPassage] = Remembered(
    lambda texts: [_read_passage(text) for text in texts],
    max_bytes=_MAX_BYTES,
    weigh=lambda text, read: 4 * len(text) + _WORD_BYTES * len(read.sequence) + 1000,
)
"""Reads each of several passages as `tokenize_passage` does."""


def tokenize_query(text: str) -> TokenizedQuery:
    """Read a question, of a very long one both ends; recent ones are remembered."""
    return _queries.get(text) or _queries([text])[0]


def _read_query(text: str) -> TokenizedQuery:
    shown = as_typed(both_ends(text, _QUERY_CHARS))
    whole = _read_question(shown)
    if is_one_question(shown, whole.sequence):
        return whole
    parts = [] if whole.names else [_read_question(part) for part in questions_in(shown)]
    if not (parts or whole.asks_otherwise) and is_code(shown, whole.sequence):
        return replace(whole, asking=frozenset(), told=len(whole.sequence))
    told = told_in(shown)
    words = tokens(told)
    said = tuple(ngrams(words)) if tells(told, words) else ()
    reduced = [_within(whole, part, said) for part in parts if part.sequence != whole.sequence]
    few = len(words) <= PASTED and asks_at_end(shown)
    length = len(said if few else whole.sequence) if said else 0
    return replace(whole, told=length, reduced=tuple(reduced))


def _within(whole: TokenizedQuery, part: TokenizedQuery, told: tuple[str, ...]) -> TokenizedQuery:
    """Return a part of a query with the word behind which it stands, and how much it tells."""
    asked, own = whole.sequence, part.sequence
    places = [at for at in range(1, len(asked)) if asked[at : at + len(own)] == own]
    tells_too = told and told == own[len(own) - len(told) :]
    behind = asked[places[0] - 1] if places else ""
    return replace(part, behind=behind, told=len(told) if tells_too else 0)


def _read_question(shown: str) -> TokenizedQuery:
    sequence = tuple(ngrams(tokens(shown)))
    if len(sequence) > _QUERY_WORDS:
        half = _QUERY_WORDS // 2
        sequence = sequence[:half] + sequence[-half:]
    in_order = tuple(dict.fromkeys(sequence))
    content = tuple(word for word in in_order if word not in STOP_WORDS) or in_order
    pairs = frozenset(pairwise(sequence))
    # "The keeper's lamp" and "keeper lamp" are one name.
    possessed = pairwise([word for word in sequence if word != "s"])
    parted = frozenset(pairwise(content)) - pairs - frozenset(possessed)
    asking = asking_words(sequence)
    named = names(shown, sequence)
    distinct, length = frozenset(sequence), words_meant(sequence)
    otherwise = not (asking or named) and asks_otherwise(shown)
    marked = has_question_mark(shown)
    return TokenizedQuery(
        sequence, distinct, content, pairs, parted, asking, named, length, otherwise, marked
    )


def _query_bytes(text: str, query: TokenizedQuery) -> int:
    # Most are the keys of misspelt words, where they have been asked for, and the pieces of words.
    keys = sum([(len(word) + 2) * (len(word) + 200) for word in query.distinct if len(word) <= 32])
    return (
        4 * len(text)
        + 1000 * len(query.sequence)
        + keys
        + 1000
        + sum([_query_bytes("", part) for part in query.reduced])
    )


_queries = Remembered(
    lambda texts: [_read_query(text) for text in texts],
    max_bytes=_MAX_QUERY_BYTES,
    weigh=_query_bytes,
)


def leading_label(sequence: Sequence[str], asked: Set[str] = frozenset()) -> int:
    """Return how many leading words only announce a question ("Q:", "FAQ 3."), at most three.

    A word of the question, which is `asked`, is none of them, nor is a passage's last word.

    >>> leading_label("faq 12 who lit the pier".split())
    2
    """
    for at, word in enumerate(sequence[:LONGEST_LABEL]):
        leads = word in LABELS or (word[0] in _NUMBERS_BEGIN and _NUMBER.fullmatch(word))
        if not leads or word in asked:
            return at
    return max(0, min(LONGEST_LABEL, len(sequence) - 1))
