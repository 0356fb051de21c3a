"""What a passage means by its words: the question's, where it writes them in another way.

Retrievers that see parts of words, and people, read "howmanydoors", "h-o-w m-a-n-y d-o-o-r-s" and
"hwo mnay d00r$" as the question that they are; a comparison word for word sees none of it. Undone
before any signal is read are, in this order:

- signs for letters, where more of the question's words appear with the letters;
- other gaps than the question's: its letters in a row, however they are parted;
- a passage that begins or ends with the question, word by word alike: by Dice's coefficient (1945)
  of their letters, of which a typing error changes few;
- single words between the question's, where a passage begins or ends so;
- its two pieces in the other order there, or one at the beginning and one at the end;
- words with a typing error anywhere (`ragguard.inline.normalize.typos`).
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from operator import eq

from ragguard.inline.features.verbatim import lead_in
from ragguard.inline.normalize.html import unmarked
from ragguard.inline.normalize.typos import LONGEST, letters_of, likenesses, respelled
from ragguard.inline.tokens import PassageWords, QueryWords, passage_words
from ragguard.text import MOST_CHARS, STOP_WORDS, both_ends, tokens

__all__ = ["alike", "as_meant"]

_FEW_WORDS = 3  # a question of less may be met by chance
_SEVERAL = 2  # misspelt words
_IN_A_WORD = re.compile(r"[@$](?:(?=[^\W\d_])|(?<=[^\W\d_].))")
_SIGN = re.compile(r"[@$]|[!|+](?=[^\W_]|[@$!|+])|(?<=[^\W_])[+]")
_SIGNS = {"@": "a", "$": "s", "!": "i", "|": "l", "+": "t"}
_SHORTEST = 3  # letters of a word that may have a typing error, where it is known which it is
_ALIKE = 2 / 3
_UNLIKE = 5  # one word in so many may be another
_MISSPELT = 3  # of so many content words that differ
_LEAST_PIECE = 2  # words
_FIRST = 3  # words: if none of a row's is the question's, nor any unlisted, it is not written alike
_KNOWN = 2  # one of so many words is the question's, or is not listed


def as_meant(query: QueryWords, passage: PassageWords) -> PassageWords:
    """Return a passage with the question's words in place of what means them."""
    if "@" in passage.text or "$" in passage.text:
        passage = _with_letters(query, passage)
    for step in (_as_a_whole, _respelled):
        sequence = step(query, passage)
        if sequence is not None:
            passage = passage._replace(sequence=sequence, distinct=frozenset(sequence))
    return passage


def alike(one: str, other: str) -> bool:
    """Return True if two words have most of their letters in common; numbers if they are one.

    >>> alike("gardens", "gadrns"), alike("gardens", "islands")
    (True, False)
    """
    if one.isdigit() or other.isdigit():
        return one == other
    letters, others = set(letters_of(one)), set(letters_of(other))
    return 2 * len(letters & others) >= _ALIKE * (len(letters) + len(others))


def _with_letters(query: QueryWords, passage: PassageWords) -> PassageWords:
    """Return a passage as it reads with letters for signs, if it says more of the question so."""
    if query.letters and query.letters in passage.letters:
        return passage  # or signs behind its words would hide a question that stands there
    if not _IN_A_WORD.search(passage.text):
        return passage
    text = both_ends(passage.text, MOST_CHARS)
    # Only what stands beside a sign reads otherwise: in most texts that is no word of the question.
    beside = _lettered(" ".join([piece for piece in text.split() if _SIGN.search(piece)]))
    if query.distinct.isdisjoint(map(letters_of, tokens(unmarked(beside)))):
        return passage
    read = passage_words(_lettered(text))
    counts = [
        sum(map(query.distinct.__contains__, map(letters_of, one.sequence)))
        for one in (passage, read)
    ]
    return read if counts[1] > counts[0] else passage


def _lettered(text: str) -> str:
    return _SIGN.sub(lambda sign: _SIGNS[sign[0]], text)


def _as_a_whole(query: QueryWords, passage: PassageWords) -> tuple[str, ...] | None:
    """Return the words with the question where it stands as a whole, written in another way."""
    return _regapped(query, passage) or _at_an_edge(query, passage)


def _regapped(query: QueryWords, passage: PassageWords) -> tuple[str, ...] | None:
    """Return the words with the question's where its letters first stand in a row, if they do."""
    if not query.letters or query.letters not in passage.letters:
        return None
    words, letters, said = query.sequence, passage.letters, passage.sequence
    if f" {' '.join(words)} " in passage.joined:
        return None
    first = letters.index(query.letters)
    stop = first + len(query.letters)
    ends = [0, *accumulate(map(len, said))]
    begin, end = bisect_right(ends, first) - 1, bisect_left(ends, stop)
    # What a word holds besides, in front or behind, stays.
    rest = letters[ends[begin] : first], letters[stop : ends[end]]
    before, after = ((word,) if word else () for word in rest)
    return (*said[:begin], *before, *words, *after, *said[end:])


def _at_an_edge(query: QueryWords, passage: PassageWords) -> tuple[str, ...] | None:
    """Return the words with the question in place of what is like it at the beginning or the end.

    None if nothing is, or if it is the question already.
    """
    asked, said = query.sequence, passage.sequence
    n, left = len(asked), len(said) - len(asked)
    if n < _FEW_WORDS or left < 0:
        return None
    lead = lead_in(query, said)
    for first in (lead, left):
        there = said[first : first + n]
        # Most passages have nothing here of the question, however it is written.
        if passage.odd.isdisjoint(there) and not any(map(eq, asked[:_FIRST], there)):
            continue
        known = sum(map(eq, asked, there))
        if known == n:
            return None
        known += len(passage.odd.intersection(there))
        if _KNOWN * known >= n and len(there) == n and _alike(asked, there):
            return (*said[:first], *asked, *said[first + n :])
    if not query.distinct <= passage.distinct or f" {' '.join(asked)} " in passage.joined:
        return None
    return _with_words_between(asked, said, lead) or _in_two_pieces(asked, said, lead)


def _with_words_between(
    asked: tuple[str, ...], said: tuple[str, ...], lead: int
) -> tuple[str, ...] | None:
    """Return the words with the question in one piece where single words stand between its own."""
    if (found := _strewn_through(asked, said[lead:])) is not None:
        between, stop = found
        return (*said[:lead], *asked, *between, *said[lead + stop :])
    if (found := _strewn_through(asked[::-1], said[::-1])) is not None:
        between, stop = found
        return (*said[: len(said) - stop], *between[::-1], *asked)
    return None


def _strewn_through(
    asked: tuple[str, ...], said: tuple[str, ...]
) -> tuple[tuple[str, ...], int] | None:
    """Return the single words between those of the question, and how many words all are.

    None if said does not begin so, with every word of the question the next one or the one after.
    """
    # Shift-And (Baeza-Yates and Gonnet 1992): bit i of `ends` stands for "i words said so far".
    behind: dict[str, int] = {}
    for stop, word in enumerate(said[: 2 * len(asked)], start=1):
        behind[word] = behind.get(word, 0) | 1 << stop
    ends = 1
    for word in asked:
        ends = (ends << 1 | ends << 2) & behind.get(word, 0)
        if not ends:
            return None
    stop = (ends & -ends).bit_length() - 1  # the lowest bit
    left, between = Counter(asked), []
    for word in said[:stop]:
        if left[word]:
            left[word] -= 1
        else:
            between.append(word)
    return tuple(between), stop


def _in_two_pieces(
    asked: tuple[str, ...], said: tuple[str, ...], lead: int
) -> tuple[str, ...] | None:
    """Return the words with the question where its second piece stands first, or at the end."""
    n, left = len(asked), len(said) - len(asked)
    cuts = range(_LEAST_PIECE, n - _LEAST_PIECE + 1)
    if lead <= left and said[lead] == asked[0] and said[-1] == asked[-1]:
        for cut in cuts:
            if said[lead : lead + cut] == asked[:cut] and said[left + cut :] == asked[cut:]:
                return (*said[:lead], *asked, *said[lead + cut : left + cut])
    for first in (lead, left):
        there = said[first : first + n]
        if any(there == asked[cut:] + asked[:cut] for cut in cuts if there[0] == asked[cut]):
            return (*said[:first], *asked, *said[first + n :])
    return None


def _alike(asked: Sequence[str], said: Sequence[str]) -> bool:
    """Return True if two rows of words of one length are the same but for errors of typing."""
    unlike = others = 0
    content = []
    for one, other in zip(asked, said, strict=True):
        if one == other:
            continue
        if one not in STOP_WORDS:
            content.append((one, other))
        if not alike(one, other):
            unlike += 1
            others += one not in STOP_WORDS
            if unlike > len(asked) // _UNLIKE:
                return False
    # A content word that differs may be the name of something else, unless by one letter alone or
    # among others that are misspelt.
    if len(content) == 1:
        return _one_letter_off(*content[0])
    return len(content) >= _MISSPELT * others


def _one_letter_off(one: str, other: str) -> bool:
    """Return True if two words may be one with a typing error (`normalize.typos`)."""
    lengths = len(one), len(other)
    if one.isdigit() or other.isdigit():  # another number is another number
        return False
    if min(lengths) < _SHORTEST or max(lengths) > LONGEST or abs(lengths[0] - lengths[1]) > 1:
        return False
    return not likenesses(one).isdisjoint(likenesses(other))


def _respelled(query: QueryWords, passage: PassageWords) -> tuple[str, ...] | None:
    """Return the words with those of the question in place of misspelt ones; None if none is.

    One word may be like one of the question by chance, a plural or another spelling: so several
    must be, and then those as well that are misspelt into another word where the question goes on
    so; a single one only between the words that the question has beside it.
    """
    if not passage.odd or not query.spellings.words:
        return None
    meant = respelled(query.spellings, query.distinct, passage.odd)
    if not meant:
        return None
    if len(set(meant.values())) < _SEVERAL:
        return _one_respelled(query.sequence, passage.sequence, meant)
    # Who writes digits for letters does so in short words as well.
    meant |= {
        word: letters
        for word in passage.distinct - query.distinct
        if not word.isalpha() and (letters := letters_of(word)) in query.distinct
    }
    return _in_place(query, [meant.get(word, word) for word in passage.sequence])


def _one_respelled(
    asked: tuple[str, ...], said: tuple[str, ...], meant: Mapping[str, str]
) -> tuple[str, ...] | None:
    """Return the words with a misspelt one replaced, if it stands as the question has it."""
    for at, word in enumerate(said):
        if word in meant:
            place = asked.index(meant[word])
            # Both neighbours, or the two beside a word that begins or ends the question.
            first = max(0, min(place - 1, len(asked) - 3))
            start = at - place + first
            there = [*said[max(start, 0) : at], meant[word], *said[at + 1 : start + 3]]
            if len(there) == 3 and tuple(there) == asked[first : first + 3]:
                return (*said[:at], meant[word], *said[at + 1 :])
    return None


def _in_place(query: QueryWords, said: list[str]) -> tuple[str, ...]:
    """Return the words with those replaced that are like what the question has in their place."""
    pairs = query.pairs
    firsts, seconds = {one for one, _ in pairs}, {other for _, other in pairs}
    forms: dict[str, list[str]] = {}
    for word in query.distinct:
        if _SHORTEST <= len(word) <= LONGEST:
            for form in likenesses(word):
                forms.setdefault(form, []).append(word)
    last = len(said) - 1
    for at, word in enumerate(said):
        before = said[at - 1] if at else ""
        after = said[at + 1] if at < last else ""
        if word in query.distinct or not (before in firsts or after in seconds):
            continue
        if not _SHORTEST <= len(word) <= LONGEST:
            continue
        found = {one for form in likenesses(word) for one in forms.get(form, ())}
        like = [
            one
            for one in found
            if ((before, one) in pairs or (one, after) in pairs) and _one_letter_off(word, one)
        ]
        if like:
            said[at] = min(like)
    return tuple(said)
