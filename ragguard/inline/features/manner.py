"""Manner (stylometry): how a passage is written, whatever it is about.

    window = bias + sum of w[n-gram] over its n-grams / max(tokens, 48)
    whole  = the same of all n tokens
    count  = min(max(n / 48, 1), 4), how many windows side by side the text is taken to have
    nats   = max(highest window - ln(count), u + (whole - u) sqrt(count))
    manner = max(nats of the text, nats of its sentences by themselves - 2, nats of a part - 2,
                 all three of its body, all three without notes - 2)
    relevance = long (2 min(c / 0.5, 1) + 2.5 lead) + 3 min(concentration / 0.2, 1) min(m / 12, 1)
    company = max(0, min(least manner of the others + 3.5, 3)), of 8 others at least
    signal = (manner + relevance - company - 4.5) / 10.5, at least 0 and at most 1

A linear n-gram classifier, as in the PAN shared task of 2024 on machine-written text, with hashed
weights (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning") of a logistic
regression on windows of planted and of honest texts (`benchmarks/fit_manner.py`). A text that is to
state an answer with authority is written for that: complete, sure of itself, often by a language
model (whose excess words Kobak et al. 2025 count); honest pages hardly are.

A window is 48 tokens of the passage, whose beginning and end are tokens too; n-grams have one to
three. A function word and a mark stand for themselves, a number for how many digits it has, a word
with a capital for that alone, any other for its last three letters and for whether it is long: no
name, number or subject has a weight. A part is the neighbouring sentences that have most, of 24 to
150 tokens, as if they were all there is, less ln(sentences); the body is the text within lines such
as its title and its source (`ragguard.text.lines`). u = -6 nats is the median of honest passages.

c is the coverage of the question; lead is c less the mean of the others', from -0.1 (0) to 0.35
(1), and counts for nothing where a query tells in more than 40 words; m is how many content words
the passage has, and long min(words of the question / 8, 1). Of a query that was pasted from a page
that page leads anyway. What else each term is for says docs/signals.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import inf, log, nan, sqrt
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.features.concentration import concentration, content_words
from ragguard.inline.features.coverage import Match, rescale
from ragguard.inline.features.gibberish import is_english
from ragguard.inline.features.prose import (
    CHARS,
    as_prose,
    prose_tokens,
    sentence_bounds,
    sentence_tokens,
)
from ragguard.inline.tokens import ENDS, TokenizedPassage, tokenize_ends
from ragguard.lru import on_forget
from ragguard.text import STOP_WORDS, both_ends
from ragguard.text.html import strip_markdown
from ragguard.text.lines import body, without_list_mark
from ragguard.text.notes import without_notes

BUCKETS = 2**16
"""How many weights there are."""

WINDOW, STEP = 48, 12
"""Tokens of a window, which a shorter text is taken to have as well; and from one to the next."""

COVERAGE, LEAD, CONCENTRATION = 2.0, 2.5, 3.0
"""Nats at most for what a passage holds of the question, for how far that is more than others do,
and for how much of it others say."""

_USUAL = -6.0  # nats: the median of honest passages, by their windows alone
_ALIKE, _MOST_ALIKE = -3.5, 3.0  # nats: where all others have more, and how much less it says then
_OTHERS = (8, 30)  # at least; and at most, those that rank first
_MOST_WINDOWS = 4  # that a text is taken to have: what is longer has several authors
_HELD, _AHEAD, _SHARED = (0.0, 0.5), (-0.1, 0.35), (0.0, 0.2)  # what says nothing, and all
_ENOUGH = 12  # content words of a passage; fewer are shared by chance
_RANGE = (4.5, 15.0)  # nats: hardly any clean passage is above the middle
_LONG = 7  # letters of a short word
_PASTED = 40  # words: what tells and is longer was pasted from a page

_ODD, _ODDER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_SHIFT = np.uint64(48)  # of 64 bits, the upper 16 are the bucket
_REREAD = 2.0  # nats: how much less another reading of a text says
_LONGEST_PART = 150  # tokens
_MOST_KEPT, _LONGEST_KEPT = 50_000, 24  # tokens, and letters of one


class _Classes(dict[str, int]):
    """The class of a token as a number; tokens are remembered until there are too many."""

    def __missing__(self, token: str) -> int:
        number = crc32(_class_of(token).encode("utf-8", "replace"))
        if len(token) <= _LONGEST_KEPT:
            if len(self) >= _MOST_KEPT:
                self.clear()
            self[token] = number
        return number


def _class_of(token: str) -> str:
    lower = token.lower()
    if lower in STOP_WORDS:
        return lower if token[0].islower() else f"^{lower}"
    if token.isdigit():
        return f"#{min(len(token), 5)}"
    if not token.isalpha():
        return token
    if not token[0].islower():
        return "AA" if token.isupper() and len(token) > 1 else "Aa"
    return f"-{lower[-3:]}{'+' * (len(token) > _LONG)}"


_CLASSES = _Classes()
on_forget(_CLASSES.clear)


def buckets_of(found: list[str]) -> NDArray[np.intp]:
    """Return the buckets of the n-grams of one, two and three tokens that begin at each of n.

    int array of shape (3, n); `BUCKETS` where the text ends before the n-gram does.
    """
    classes = np.fromiter(map(_CLASSES.__getitem__, found), np.uint64, len(found))
    out = np.full((3, len(classes)), BUCKETS, dtype=np.intp)
    one = (classes + np.uint64(1)) * _ODD
    two = (one[:-1] ^ classes[1:]) * _ODDER
    three = (two[:-1] ^ classes[2:]) * _ODD
    for row, hashed in enumerate((one, two, three)):
        out[row, : len(hashed)] = hashed >> _SHIFT
    return out


def windows(tokens: int, step: int = STEP) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where the windows of a text of so many tokens begin and end; the last ends with it."""
    last = max(0, tokens - WINDOW)
    starts = np.append(np.arange(0, last, step), last)
    return starts, np.minimum(starts + WINDOW, tokens)


@dataclass(frozen=True, eq=False)
class MannerModel:
    """What each n-gram says.

    Attributes:
        bias: In nats.
        weights: float64 array of shape (BUCKETS + 1,), in nats; the last one is 0.
    """

    bias: float
    weights: NDArray[np.float64]

    def manner(self, text: str) -> float:
        """Return how clearly a text is written as planted ones are, in nats.

        >>> MannerModel(-1.0, np.zeros(BUCKETS + 1)).manner("The pier was sold in 1874.")
        -1.0
        """
        nats = self._read(text)
        if (said := body(text)) is not text:
            nats = max(nats, self._read(said))
        if (bare := without_notes(text)) is not text:
            nats = max(nats, self._read(bare) - _REREAD)
        return nats

    def _read(self, text: str) -> float:
        found = prose_tokens(text)
        prose, sentences = as_prose(found), sentence_tokens(found)
        each = self._nats(prose)
        others = self._part(prose, each)
        if sentences != prose:
            others = max(others, self._manner(self._nats(sentences)))
        return max(self._manner(each), others - _REREAD)

    def _nats(self, found: list[str]) -> NDArray[np.float64]:
        return self.weights.take(buckets_of(found))

    def _manner(self, nats: NDArray[np.float64]) -> float:
        each: NDArray[np.float64] = nats.sum(axis=0)
        tokens = len(each)
        whole = self.bias + float(each.sum()) / max(tokens, WINDOW)
        if tokens <= WINDOW:
            return whole
        sums = np.zeros(tokens + 1)
        each.cumsum(out=sums[1:])
        held = (sums[WINDOW::STEP] - sums[:-WINDOW:STEP]).max()
        highest = self.bias + float(max(held, sums[-1] - sums[-1 - WINDOW])) / WINDOW
        count = min(tokens / WINDOW, _MOST_WINDOWS)
        return max(highest - log(count), _USUAL + (whole - _USUAL) * sqrt(count))

    def _part(self, found: list[str], nats: NDArray[np.float64]) -> float:
        """Return the manner of the neighbouring sentences that have most, as if they were all."""
        begins, ends = sentence_bounds(found)
        if len(begins) < 2:
            return -inf
        count, length = len(begins), len(found)
        sums = np.zeros((3, length + 1))
        nats.cumsum(axis=1, out=sums[:, 1:])
        # Of the n-grams at an edge those with its mark are the part's own; the others end in it.
        edges = [token for at in begins for token in ("\x02", *found[at : at + 2])]
        edges += [token for at in ends for token in (*found[at - 2 : at], "\x03")]
        own = self._nats(edges).reshape(3, 2 * count, 3)
        opens = own[:, :count, 0].sum(axis=0)
        closes = own[0, count:, 2] + own[1, count:, 1] + own[2, count:, 0]
        first, last = np.array(begins)[:, None], np.array(ends)
        inner = sums[0][last] + sums[1][last - 1] + sums[2][last - 2] - sums[:, first].sum(axis=0)
        lengths = last - first + 2
        each = self.bias + (inner + opens[:, None] + closes) / np.maximum(lengths, WINDOW)
        fits = (lengths >= WINDOW // 2) & (lengths <= _LONGEST_PART)
        return float(np.where(fits, each, -inf).max()) - log(count)

    def whole(self, text: str) -> float:
        """Return how all of a text is written, in nats: not its oddest part, as `manner` does."""
        nats = self._nats(as_prose(prose_tokens(text)))
        return self.bias + float(nats.sum()) / max(int(nats.shape[1]), WINDOW)

    def of(self, passage: TokenizedPassage) -> float:
        """Return the manner of a passage, markup aside, and with the signs of Markdown or without.

        They speak neither for a passage nor against it: the lesser of both counts.
        """
        return self._least(self.manner, passage)

    def whole_of(self, passage: TokenizedPassage) -> float:
        """Return how a passage is written as a `whole`, in the same way."""
        return self._least(self.whole, passage)

    @staticmethod
    def _least(read: Callable[[str], float], passage: TokenizedPassage) -> float:
        text = without_list_mark(both_ends(passage.shown, 2 * CHARS))
        return min(map(read, {text, strip_markdown(text)}))


@cache
def shipped() -> MannerModel:
    """Return the shipped model, read at the first call."""
    file = resources.files("ragguard.inline") / "manner.npz"
    with file.open("rb") as stream, np.load(stream) as stored:
        weights = stored["weights"].astype(np.float64)
        return MannerModel(float(stored["bias"]), np.append(weights, 0.0))


def manner_of(text: str, *, whole: bool = False) -> float:
    """Return the manner of a text, or how it is written as a whole; NaN where it is not English.

    Of a long one the ends are read.
    """
    read = tokenize_ends(text)
    if not read.once(is_english):
        return nan
    return shipped().whole_of(read) if whole else read.once(shipped().of)


def manner_signals(match: Match) -> dict[str, float]:
    """Return the signal of a passage that is written to state the answer to the question."""
    if not match.english:  # the weights are of English texts
        return {}
    nats = match.passage.written.once(shipped().of)
    held = COVERAGE * rescale(match.coverage, _HELD)
    if not (match.query.tells and match.query.length > _PASTED):
        held += LEAD * rescale(match.lead, _AHEAD)
    nats += match.long * held
    if nats <= _RANGE[0] - CONCENTRATION:  # as of most passages
        return {}
    enough = min(1.0, len(match.passage.written.once(content_words)) / _ENOUGH)
    shared = enough * rescale(concentration(match.passage, match.retrieved), _SHARED)
    shared *= CONCENTRATION
    if nats + shared > _RANGE[0]:  # else it says nothing, whatever its company
        nats -= _company(match)
    return {"manner": rescale(nats + shared, _RANGE)}


def _company(match: Match) -> float:
    """Return how much less manner says where all that was retrieved is written alike, in nats.

    Who floods a set must leave no honest passage in it; what is too long to read counts as one.
    """
    least, most = _OTHERS
    others = [one for one in match.reference[:most] if one.text != match.passage.text]
    if len(others) < least or any(len(one.text) > ENDS for one in others):
        return 0.0
    lowest = inf
    for one in others:
        lowest = min(lowest, one.written.once(shipped().of))
        if lowest <= _ALIKE:  # as one of most pages has
            return 0.0
    return min(lowest - _ALIKE, _MOST_ALIKE)
