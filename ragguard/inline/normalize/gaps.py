"""Gaps within the question's words, or none between them, wherever these stand.

    "#ChicagoFire #seasonfour" -> chicago fire season four,    "epi-sodes", "ep*sodes" -> episodes

Another way to set the gaps of the question as a whole is undone in `alignment`. Here each word, and
each row of words written as one, is read by itself, so that neither their order nor what stands
between them matters: retrievers that see parts of words read hashtags and hyphens as they read
words, and so do people. (Word segmentation, with the question for a dictionary; Norvig 2009,
"Natural language corpus data".)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ragguard.fork import WorkedOutOnce
from ragguard.inline.class_bigram import LONGEST, SHORTEST
from ragguard.inline.tokens import TokenizedPassage, TokenizedQuery
from ragguard.text import STOP_WORDS
from ragguard.text.ngrams import has_unspaced

_SEVERAL = 2  # words of `SHORTEST` letters at least, and no function words
_ALIKE = 4  # words that begin alike are looked at
_LOST = 3  # one letter in so many
_MOST = 2  # times the letters of the question: a longer word is no row of its words


class Gaps:
    """How a question's words may be written as one, and each in pieces.

    Attributes:
        words: Its words, the longest first.
        heads: The first two letters of any row of them.
        tails: The last two letters of any such row.
        most: How many letters a row of them may have.
        beginnings: From what a word of `SHORTEST` letters or more begins with to such words, of
            many the first ones.
        inner: Such words without their first letter: any other piece stands in one of these lines.
    """

    def __init__(self, query: TokenizedQuery) -> None:
        words = sorted(word for word in query.distinct if not has_unspaced(word))
        self.words = sorted(words, key=len, reverse=True)
        first, last = {word[:1] for word in words}, {word[-1:] for word in words}
        self.heads = {(word + one)[:2] for word in words for one in first}
        self.tails = {(one + word)[-2:] for word in words for one in last}
        self.most = _MOST * sum(map(len, query.sequence))
        long = [word for word in words if SHORTEST <= len(word) <= LONGEST and word.isalpha()]
        self.inner = "\n".join([word[1:] for word in long])
        self.beginnings: dict[str, list[str]] = {}
        for word in long:
            for at in range(1, len(word)):
                alike = self.beginnings.setdefault(word[:at], [])
                if len(alike) < _ALIKE:
                    alike.append(word)

    @WorkedOutOnce
    def word(self) -> re.Pattern[str]:
        """Any of the words, the longest that fits; most texts hold nothing that may be a row."""
        return re.compile("|".join(map(re.escape, self.words)))

    def rows(self, odd: Iterable[str]) -> dict[str, list[str]]:
        """Return what is written as one, with the words of it, if it has nothing else."""
        heads, tails = self.heads, self.tails
        may_be = [one for one in odd if one[:2] in heads and one[-2:] in tails]
        found = {one: self.word.findall(one) for one in may_be if len(one) <= self.most}
        return {
            one: words for one, words in found.items() if len(words) > 1 and "".join(words) == one
        }


def regap_words(
    query: TokenizedQuery, passages: Sequence[TokenizedPassage]
) -> list[TokenizedPassage]:
    """Undo other gaps than the question's within its words, and none between them.

    One word may be written so in a name or an address; several of a passage must be. A passage that
    has the question as it is stays as it is.
    """
    if not query.letters:
        return list(passages)
    gaps = query.once(Gaps)
    # Passages of one set have many words in common: each is looked at once.
    odd = frozenset[str]().union(*[passage.once(_odd) for passage in passages])
    rows = gaps.rows(odd - query.distinct)
    signs = rows.keys() | {one for one in odd if one in gaps.inner}
    return [
        passage
        if passage.once(_odd).isdisjoint(signs)
        else _regapped(
            query, gaps, passage, {one: rows[one] for one in rows.keys() & passage.once(_odd)}
        )
        for passage in passages
    ]


def _regapped(
    query: TokenizedQuery, gaps: Gaps, passage: TokenizedPassage, rows: Mapping[str, Sequence[str]]
) -> TokenizedPassage:
    if query.letters in passage.letters:  # as a whole, for `alignment`
        return passage
    said, pieces = passage.sequence, list(_in_pieces(query, gaps, passage))
    meant = {word for row in rows.values() for word in row}
    meant |= {word for _, _, word in pieces}
    several = sum([len(word) >= SHORTEST for word in meant - STOP_WORDS]) >= _SEVERAL
    if not several or f" {' '.join(query.sequence)} " in passage.joined:
        return passage
    words, stop = list[str](), 0
    for begin, end, whole in (*pieces, (len(said), len(said), "")):
        for word in said[stop:begin]:
            words += rows.get(word, (word,))
        words += [whole] if whole else []
        stop = end
    return passage.rewritten(tuple(words))


def _in_pieces(
    query: TokenizedQuery, gaps: Gaps, passage: TokenizedPassage
) -> Iterator[tuple[int, int, str]]:
    """Yield where words of the question begin and end that a passage has in pieces, and the words.

    For signs between the pieces a third of the letters may be missing, one for each.
    """
    begins = gaps.beginnings.keys() & passage.distinct
    said, stop = passage.sequence, 0
    for begin in [at for at, word in enumerate(said) if word in begins]:
        if begin < stop:
            continue
        for word in gaps.beginnings[said[begin]]:
            end = _end(word, said, begin)
            if end and not query.distinct.issuperset(said[begin:end]):
                stop = end
                yield begin, end, word
                break


def _end(word: str, said: Sequence[str], begin: int) -> int:
    """Return where a word ends of which the first piece stands at a place, or 0."""
    read, lost = len(said[begin]), 0
    for end, piece in enumerate(said[begin + 1 : begin + len(word)], begin + 2):
        missing = not word.startswith(piece, read)
        lost += missing
        if lost * _LOST > len(word) or not word.startswith(piece, read + missing):
            break
        read += missing + len(piece)
        if read == len(word):
            return end
    return 0


def _odd(passage: TokenizedPassage) -> frozenset[str]:
    """Return the words that are not listed, or too long or too short to be looked up."""
    known = passage.distinct - STOP_WORDS
    return passage.oov.union([one for one in known if not SHORTEST <= len(one) <= LONGEST])
