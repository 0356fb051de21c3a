"""The question as a whole, written in another way: other gaps, other letters, another order.

    Dice(u, v) = 2 |letters(u) & letters(v)| / (|letters(u)| + |letters(v)|) >= 2/3

Dice's coefficient (1945) says which words are alike: a typing error changes few of their letters.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Sequence
from itertools import accumulate, pairwise
from operator import eq

from ragguard.inline.normalize.edits import edited, may_be_edited, most_lost, with_aside
from ragguard.inline.normalize.leet import letters_of
from ragguard.inline.normalize.typos import one_letter_off
from ragguard.inline.tokens import TokenizedPassage, TokenizedQuery, leading_label
from ragguard.text import MOST_CHARS, STOP_WORDS, both_ends, tokens
from ragguard.text.html import strip_markup
from ragguard.text.ngrams import ngrams
from ragguard.text.notes import rejoined, without_notes

_FEW_WORDS = 3  # a question of less may be met by chance
_ALIKE = 2 / 3
_UNLIKE = 5  # one word in so many may be another
_MISSPELT = 3  # of so many content words that differ
_LEAST_PIECE = 2  # words
_BETWEEN, _STREWN = 2, 10  # words at most between two of the question's: at an end, anywhere
_AT_AN_END = 0b11  # one word may stand in front
_MANY_WORDS = 6  # of a question, which no text holds in order by chance
_FIRST = 3  # words: if none of a row's is the question's, nor any unlisted, it is not written alike
_KNOWN = 2  # one of so many words is the question's, or is not listed


def realign(query: TokenizedQuery, passages: Sequence[TokenizedPassage]) -> list[TokenizedPassage]:
    """Put the question in place of what is written like it as a whole, in each passage."""
    return [_realigned(query, passage) or passage for passage in passages]


def _realigned(query: TokenizedQuery, passage: TokenizedPassage) -> TokenizedPassage | None:
    for undone in (regap, align, unparted):
        if (read := undone(query, passage)) is not None:
            return read
    asked, said = query.sequence, passage.sequence
    missing = len(query.distinct - passage.distinct)
    if not missing and _FEW_WORDS <= len(asked) <= len(said):
        if _quotes(query, passage):
            return None
        for undone in (rotated, strewn):
            if (read := undone(query, passage)) is not None:
                return read
    if missing > most_lost(query) or not may_be_edited(query, said):
        return None
    return edited(query, passage) or with_aside(query, passage)


def regap(query: TokenizedQuery, passage: TokenizedPassage) -> TokenizedPassage | None:
    """Undo other gaps than the question's, where its letters first stand in a row."""
    if not query.letters or query.letters not in passage.letters or _quotes(query, passage):
        return None
    letters, said = passage.letters, passage.sequence
    first = letters.index(query.letters)
    stop = first + len(query.letters)
    ends = [0, *accumulate(map(len, said))]
    begin, end = bisect_right(ends, first) - 1, bisect_left(ends, stop)
    # What a word holds besides, in front or behind, stays.
    rest = letters[ends[begin] : first], letters[stop : ends[end]]
    before, after = ((word,) if word else () for word in rest)
    return passage.rewritten((*said[:begin], *before, *query.sequence, *after, *said[end:]))


def align(query: TokenizedQuery, passage: TokenizedPassage) -> TokenizedPassage | None:
    """Undo a question at the beginning or the end that is written alike, word by word."""
    asked, said = query.sequence, passage.sequence
    n, left = len(asked), len(said) - len(asked)
    if n < _FEW_WORDS or left < 0:
        return None
    for first in (leading_label(said, query.distinct), left):
        there = said[first : first + n]
        known = sum(map(eq, asked, there))
        if known == n:
            return None
        unlisted = len(passage.oov.intersection(there))
        if (
            _KNOWN * (known + unlisted) >= n
            and (unlisted or any(map(eq, asked[:_FIRST], there)))
            and len(there) == n
            and _alike(asked, there, query.asking)
        ):
            return passage.rewritten((*said[:first], *asked, *said[first + n :]))
    return None


def unparted(query: TokenizedQuery, passage: TokenizedPassage) -> TokenizedPassage | None:
    """Undo notes and tags within the question's words, and notes between them."""
    words = passage.once(_rejoined_words)
    if not words:
        return None
    read = passage.rewritten(words)
    return read if _quotes(query, read) else regap(query, read)


def _rejoined_words(passage: TokenizedPassage) -> tuple[str, ...]:
    """Return the words of a passage without notes; none if it has none within words, or few."""
    text = both_ends(passage.text, MOST_CHARS)
    bare = without_notes(rejoined(text))
    return () if bare == text else tuple(ngrams(tokens(strip_markup(bare))))


def strewn(query: TokenizedQuery, passage: TokenizedPassage) -> TokenizedPassage | None:
    """Undo words between the question's; of what asks little at the beginning or the end alone.

    A word that asks may stand by itself in front of the rest: "What a question! If Ann had ...". If
    its own words stand between, one gap is not enough: "Who won the prize? This year's prize ...".
    Of what names something, or asks nothing in a few words ("tallest tower Skerrin?"), none are:
    "the tallest tower in Skerrin is" names it as any page does.
    """
    if query.names or (not query.asking and query.length < _MANY_WORDS):
        return None
    asked, said = query.sequence, passage.sequence
    lead, last = leading_label(said, query.distinct), len(said) - 1
    much = query.asking and not query.tells and len(asked) >= _MANY_WORDS
    places = _places(asked, said, _STREWN) if much else ()
    steps = zip(asked, pairwise(places), strict=False)
    gaps = sum([then - at > 1 for word, (at, then) in steps if word not in query.asking])
    if gaps <= _has_between(query.content, said, places):
        places = [lead + at for at in _places(asked, said[lead:], _BETWEEN, _AT_AN_END)] or [
            last - at for at in _places(asked[::-1], said[::-1], _BETWEEN, _AT_AN_END)[::-1]
        ]
    if not places:
        return None
    begin, end = places[0], places[-1] + 1
    between = [said[at] for at in range(begin, end) if at not in places]
    if begin <= lead + 1:
        return passage.rewritten((*said[:lead], *asked, *said[lead:begin], *between, *said[end:]))
    if end >= last:
        return passage.rewritten((*said[:begin], *between, *said[end:], *asked))
    return passage.rewritten((*said[:begin], *asked, *between, *said[end:]))


def _has_between(words: Container[str], said: Sequence[str], places: Sequence[int]) -> bool:
    between = set(range(places[0], places[-1])).difference(places) if places else ()
    return any(said[at] in words for at in between)


def _places(
    asked: Sequence[str], said: Sequence[str], most: int, begins: int = -1
) -> Sequence[int]:
    """Return the first places where words stand in order, at most `most` others between two.

    The bits of `begins` are the places of the first word.
    """
    # Shift-And (Baeza-Yates and Gonnet 1992): bit i stands for place i.
    where = dict.fromkeys(asked, 0)
    for place, word in enumerate(said):
        if word in where:
            where[word] |= 1 << place
    ends = [begins & where[asked[0]]]
    for word in asked[1:]:
        reached = ends[-1]
        for _ in range(most):
            reached = ends[-1] | reached << 1
        ends.append(reached << 1 & where[word])
    if not ends[-1]:
        return ()
    places = [(ends[-1] & -ends[-1]).bit_length() - 1]  # the lowest bit
    for before in ends[-2::-1]:
        places.append((before & (1 << places[-1]) - 1).bit_length() - 1)  # the highest below
    return places[::-1]


def rotated(query: TokenizedQuery, passage: TokenizedPassage) -> TokenizedPassage | None:
    """Undo a question whose second piece stands first, or whose pieces begin and end a passage."""
    asked, said = query.sequence, passage.sequence
    lead = leading_label(said, query.distinct)
    n, left = len(asked), len(said) - len(asked)
    cuts = range(_LEAST_PIECE, n - _LEAST_PIECE + 1)
    if lead <= left and said[lead] == asked[0] and said[-1] == asked[-1]:
        for cut in cuts:
            if said[lead : lead + cut] == asked[:cut] and said[left + cut :] == asked[cut:]:
                between = said[lead + cut : left + cut]
                return passage.rewritten((*said[:lead], *asked, *between))
    for first in (lead, left):
        there = said[first : first + n]
        if any(there == asked[cut:] + asked[:cut] for cut in cuts if there[0] == asked[cut]):
            return passage.rewritten((*said[:first], *asked, *said[first + n :]))
    return None


def _quotes(query: TokenizedQuery, passage: TokenizedPassage) -> bool:
    return f" {' '.join(query.sequence)} " in passage.joined


def _alike(asked: Sequence[str], said: Sequence[str], asking: Container[str]) -> bool:
    """Return True if two rows of words of one length are the same but for errors of typing.

    What has another word where the question asks, answers it: "Ann is the keeper of the pier".
    """
    unlike = others = 0
    content = []
    for one, other in zip(asked, said, strict=True):
        if one == other:
            continue
        if one not in STOP_WORDS:
            content.append((one, other))
        if not dice_similar(one, other):
            if one in asking:
                return False
            unlike += 1
            others += one not in STOP_WORDS
            if unlike > len(asked) // _UNLIKE:
                return False
    # A content word that differs may be the name of something else, unless by one letter alone or
    # among others that are misspelt.
    if len(content) == 1:
        return one_letter_off(*content[0])
    return len(content) >= _MISSPELT * others


def dice_similar(one: str, other: str) -> bool:
    """Return True if two words have most of their letters in common; numbers if they are one.

    >>> dice_similar("gardens", "gadrns"), dice_similar("gardens", "islands")
    (True, False)
    """
    if one.isdigit() or other.isdigit():
        return one == other
    letters, others = set(letters_of(one)), set(letters_of(other))
    return 2 * len(letters & others) >= _ALIKE * (len(letters) + len(others))
