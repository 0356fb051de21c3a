"""Manner: how a passage is written, whatever it is about.

    window = bias + sum of w[n-gram] over its n-grams / max(tokens, 48)
    whole  = the same of all n tokens
    count  = min(max(n / 48, 1), 4), how many windows side by side the text is taken to have
    manner = max(highest window - ln(count), u + (whole - u) sqrt(count))
    relevance = long (2 min(c / 0.5, 1) + 2.5 lead) + 3 min(concentration / 0.2, 1) min(m / 12, 1)
    signal = (manner + relevance - 4.5) / 10.5, at least 0 and at most 1

Of more windows the highest is higher by chance, hence ln(count) (a trials factor). u = -6.5 nats is
what honest passages show at the median: the longer a text, the less its mean strays from there by
chance, by the square root of its windows.

A window is 48 tokens of the passage, whose beginning and end are tokens too. Its n-grams are those
of one to three tokens. A function word and a mark stand for themselves, a number for how many
digits it has, a word with a capital for that alone, and any other word for its last three letters
and for whether it is long. So no name, no number and no subject has a weight. Weights are hashed
into `BUCKETS` (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning") and
come from a logistic regression on windows of planted and of honest texts
(`benchmarks/fit_manner.py`). What is hardly prose is read once more as prose (`_plainer`).

A text that is to be retrieved for a question and to state an answer with authority is written for
that: complete, short, sure of itself, often by a language model. Pages that people wrote are not,
nor are the honest pages of language models on other things. But an honest page may be written so
by chance, and counts only as far as it speaks of the question: by its coverage c of the question,
by its lead, which is c less the mean of the others' from -0.1 (0) to 0.35 (1), and by how much of
it the others say as well. Of a short question less is said by chance: long is min(words / 8, 1).
A passage of few content words, m, shares them by chance: so do sentences of one form, as facts are.
Support: Kobak et al. (2025) on
excess words of language models; the PAN shared task of 2024, where a linear model over n-grams was
a strong baseline.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise
from math import log, sqrt
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.features.concentration import concentration, content_words
from ragguard.inline.features.coverage import Match, rescale
from ragguard.inline.tokens import TokenizedPassage
from ragguard.lru import on_forget
from ragguard.text import STOP_WORDS, both_ends, has_function_words
from ragguard.text.characters import FOLDED_LETTERS, respelled
from ragguard.text.html import strip_markdown, strip_markup

BUCKETS = 2**16
"""How many weights there are."""

WINDOW, STEP = 48, 12
"""Tokens of a window, and from the beginning of one to that of the next."""

LEAST = 48
"""Tokens that a window is taken to have at least: what is shorter says little."""

COVERAGE, LEAD, CONCENTRATION = 2.0, 2.5, 3.0
"""Nats at most for what a passage holds of the question, for how far that is more than others do,
and for how much of it others say."""

_USUAL = -6.5  # nats: the median of honest passages, by their windows alone
_MOST_WINDOWS = 4  # that a text is taken to have: what is longer has several authors
_HELD, _AHEAD, _SHARED = (0.0, 0.5), (-0.1, 0.35), (0.0, 0.2)  # what says nothing, and all
_ENOUGH = 12  # content words of a passage; fewer are shared by chance
_RANGE = (4.5, 15.0)  # nats: hardly any clean passage is above the middle
_LONG = 7  # letters of a short word
_CHARS = 10_000  # of a longer text both ends are read

_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|[\n\x02\x03]")
_WITHIN = re.compile(r"(?<=[^\W\d_])[*~`]+(?=[^\W\d_])")  # signs of Markdown inside a word
_NO_WORD = re.compile(r"[^\W_]{30,}")  # a key, an address, something encoded
_ODD, _ODDER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_SHIFT = np.uint64(48)  # of 64 bits, the upper 16 are the bucket
_WORDS, _SMALL = 0.8, 0.5  # of the tokens, and of the words: prose has more, and small ones
_FEW, _BETWEEN = 7, 0.3  # marks of one kind, and for a word: no prose has more of both
_CAPITALS = 0.6  # of the function words
_SMALLER, _TITLE = 0.65, 0.8  # of the words, and of those but function words: names have less
_STREWN = 0.4  # marks for a word
_PROSE_MARKS = frozenset(".,\x02\x03")
_TRAILING = 7  # tokens behind the last sentence at most that are none
_SENTENCE_ENDS = frozenset(".!?")
_CLEAR = 3.0  # nats: a list of names or a table hardly ever has as many, read so
_BEFORE_SENTENCE = frozenset("\x02\n.!?")
_SIGNS = 500  # what has more distinct ones is no English text, and takes long to read
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


def buckets(text: str) -> NDArray[np.intp]:
    """Return the buckets of the n-grams of one, two and three tokens that begin at each of n.

    Args:
        text: A passage without markup; of a long one both ends are read.

    Returns:
        int array of shape (3, n); `BUCKETS` where the text ends before the n-gram does.
    """
    return _hashed(_tokens(text))


def _tokens(text: str) -> list[str]:
    shown = both_ends(text, _CHARS)
    if len(set(shown)) <= _SIGNS:
        shown = respelled(shown, FOLDED_LETTERS)
    shown = _NO_WORD.sub(" ", _WITHIN.sub("", shown))
    return _typed(_TOKEN.findall(f"\x02{shown}\x03"))


def _hashed(found: list[str]) -> NDArray[np.intp]:
    classes = np.array(list(map(_CLASSES.__getitem__, found)), dtype=np.uint64)
    out = np.full((3, len(classes)), BUCKETS, dtype=np.intp)
    one = (classes + np.uint64(1)) * _ODD
    two = (one[:-1] ^ classes[1:]) * _ODDER
    three = (two[:-1] ^ classes[2:]) * _ODD
    for row, hashed in enumerate((one, two, three)):
        out[row, : len(hashed)] = hashed >> _SHIFT
    return out


def _typed(found: list[str]) -> list[str]:
    """Return tokens as prose has them: an attacker is free to choose capitals and what parts words.

    Marks or numbers that part the words are left out, and where most function words have capitals
    only those stay that begin a sentence.
    """
    words = sum(map(str.isalpha, found))
    if words < _WORDS * len(found):
        kinds = ["0" if token.isdigit() else token for token in found]
        many = max(_FEW, _BETWEEN * words)
        parting = {one for one, n in Counter(kinds).items() if n > many and not one.isalpha()}
        found = [token for token, kind in zip(found, kinds, strict=True) if kind not in parting]
    if sum(map(str.islower, found)) < _SMALL * words:
        said = [token[0].islower() for token in found if token.lower() in STOP_WORDS]
        if said.count(False) > _CAPITALS * len(said):
            return _in_small_letters(found)
    return found


def _in_small_letters(found: list[str]) -> list[str]:
    return [
        token.capitalize() if before in _BEFORE_SENTENCE else token.lower()
        for before, token in pairwise(["", *found])
    ]


def _whole_sentences(found: list[str]) -> list[str]:
    """Return tokens without marks and numbers in front and what a mark begins behind the last stop.

    Such as "(1) It was sold. (2)" or "It was sold. [more]"; a text without any comes back itself.
    """
    last = len(found) - 1
    first = next((at for at, token in enumerate(found) if token.isalpha()), 1)
    for stop in range(max(first, last - _TRAILING) + 1, last):
        if found[stop - 1] in _SENTENCE_ENDS and not found[stop].isalnum():
            behind = found[stop:last]
            if behind[0] not in _SENTENCE_ENDS or _SENTENCE_ENDS.issuperset(behind):
                return [found[0], *found[first:stop], found[last]]
    return [found[0], *found[first:]] if first > 1 else found


def _plainer(found: list[str]) -> list[str]:
    """Return the tokens of a text that is hardly prose without what keeps it from being prose.

    Marks of all kinds together may stand between its words: they are left out but for full stops
    and commas. Nearly all words but function words may have capitals: those stay that begin a
    sentence. Any other text comes back itself. Tables and lists of names are changed as well, so
    that this reading counts only where it says much (`_CLEAR`).
    """
    words = sum(map(str.isalpha, found))
    found = _whole_sentences(found)
    if len(found) - words > _STREWN * words:
        odd = [not (token.isalnum() or token in _PROSE_MARKS) for token in found]
        if sum(odd) > max(_FEW, _STREWN * words):
            found = [token for token, left_out in zip(found, odd, strict=True) if not left_out]
    if sum(map(str.islower, found)) < _SMALLER * words and has_function_words(
        [token.lower() for token in found if token.isalpha()]
    ):
        content = [
            token[0].islower()
            for before, token in pairwise(found)
            if token.isalpha()
            and before not in _BEFORE_SENTENCE
            and token.lower() not in STOP_WORDS
        ]
        if len(content) >= _ENOUGH and content.count(False) > _TITLE * len(content):
            found = _in_small_letters(found)
    return found


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
        found = _tokens(text)
        nats = self._manner(found)
        if (plainer := _plainer(found)) is not found:
            clearer = self._manner(plainer)
            return max(nats, clearer) if clearer >= _CLEAR else nats
        return nats

    def _manner(self, found: list[str]) -> float:
        sums = np.append(0.0, self.weights.take(_hashed(found)).sum(axis=0).cumsum())
        tokens = len(sums) - 1
        starts, ends = windows(tokens)
        means = (sums[ends] - sums[starts]) / np.maximum(ends - starts, LEAST)
        highest = self.bias + float(means.max())
        whole = self.bias + float(sums[-1]) / max(tokens, LEAST)
        count = min(max(tokens / WINDOW, 1.0), _MOST_WINDOWS)
        return max(highest - log(count), _USUAL + (whole - _USUAL) * sqrt(count))

    def of(self, passage: TokenizedPassage) -> float:
        """Return the manner of a passage, markup aside, and with the signs of Markdown or without.

        They speak neither for a passage nor against it: the lesser of both counts.
        """
        text = strip_markup(both_ends(passage.text, 2 * _CHARS))
        return min(map(self.manner, {text, strip_markdown(text)}))


@cache
def shipped() -> MannerModel:
    """Return the shipped model, read at the first call."""
    file = resources.files("ragguard.inline") / "manner.npz"
    with file.open("rb") as stream, np.load(stream) as stored:
        weights = stored["weights"].astype(np.float64)
        return MannerModel(float(stored["bias"]), np.append(weights, 0.0))


def manner_signals(match: Match) -> dict[str, float]:
    """Return the signal of a passage that is written to state the answer to the question."""
    if not match.english:  # the weights are of English texts
        return {}
    nats = match.passage.written.once(shipped().of)
    held = COVERAGE * rescale(match.coverage, _HELD) + LEAD * rescale(match.lead, _AHEAD)
    nats += match.long * held
    if nats <= _RANGE[0] - CONCENTRATION:  # as of most passages
        return {}
    enough = min(1.0, len(match.passage.written.once(content_words)) / _ENOUGH)
    shared = enough * rescale(concentration(match.passage, match.retrieved), _SHARED)
    return {"manner": rescale(nats + CONCENTRATION * shared, _RANGE)}
