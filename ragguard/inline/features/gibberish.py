"""Gibberish: does a passage hold words in a row that no sentence puts in a row?

    gibberish = o / (o + 32),    o = max over stretches of the sum of oddness(a, b), in nats

over stretches of the runs of a text: lower-case words with one space between each two. The
cumulative sum (CUSUM) of Page (1954) over the surprisal of a class bigram model (`class_bigram`).

Words that a search chose do not read like language: those of corpus poisoning by gradient (Zhong et
al. 2023, "Poisoning Retrieval Corpora by Injecting Adversarial Passages"; HotFlip, Ebrahimi et al.
2018), of PoisonedRAG's white box (Zou et al. 2025), of GASLITE (Ben-Tov and Sharif 2025) and of
adversarial suffixes (Zou et al. 2023). Perplexity tells them apart (Jain et al. 2023; Alon and
Kamfonas 2023). Names, lists, tables and code read as oddly, so words with capitals, digits or signs
between do not count.

Where other passages read as oddly, notes in shorthand and titles in small letters, only what is
odder than these counts: the passage's value less

    usual = min(2 max(0, median of the values of the others - 0.15), 0.4)

so that what is planted would have to be half of all that was retrieved.

To the model every other language than English is odd. A text shows its language in its function
words (Grefenstette 1995, "Comparing two language identification schemes"), and what has few, as
tables and key words have, in whether its words are listed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import median

import numpy as np

from ragguard.inline.class_bigram import OTHER_SCRIPT, UNITS, ClassBigram, class_bigram
from ragguard.inline.features.coverage import Match, rescale
from ragguard.inline.tokens import TokenizedPassage, TokenizedQuery
from ragguard.text import MAX_CHARS, both_ends, has_function_words

_HALF = 32  # nats of oddness that are half of the way to 1
_BREAK = "\u2016"  # has the class of words in other scripts, which end a stretch
_BEGIN = bytes([OTHER_SCRIPT])  # a pair of no oddness: no stretch starts before the text
_LISTED = 2 / 3  # of the different words of an English text at least
_ENDED = -(2**40)  # more than any stretch holds
# Of some 1,400 clean sets of the choosing half none has 0.26, and of 40,000 English passages three
# have 0.3; half of what was optimised has 0.29.
_GIBBERISH = (0.2, 0.4)
_OTHERS = 8  # at least, whose median says something
# Sets of prose have less; a passage may be odder than the median by as much again.
_PLAIN, _SPREAD, _MOST = 0.15, 2.0, 0.4
# Without a way back ("++", and from the beginning of a word), or a long word would take the square.
_RUN = re.compile(
    r"(?<![a-zA-Z])[a-z]++(?:['\u2019][a-z]++)?+(?: [a-z]++(?:['\u2019][a-z]++)?+){2,}+"
)


def gibberish_signals(match: Match) -> dict[str, float]:
    """Return the signal of a passage with words in a row that no sentence puts in a row.

    Of a passage in another language it says nothing, whatever is retrieved beside it.
    """
    passage = match.passage.written
    held = passage.once(gibberish_of)
    if held <= _GIBBERISH[0] or not passage.once(is_english):
        return {}
    others = [one.written for one in match.reference if one is not match.passage]
    return {"gibberish": rescale(held - usual_gibberish(others), _GIBBERISH)}


def usual_gibberish(passages: Sequence[TokenizedPassage]) -> float:
    """Return how much of a passage's gibberish is as in the others of its set, in [0, 0.4].

    >>> usual_gibberish([])
    0.0
    """
    if len(passages) < _OTHERS:
        return 0.0
    values = [one.once(gibberish_of) for one in passages]
    return min(_SPREAD * max(0.0, median(values) - _PLAIN), _MOST)


def gibberish_of(passage: TokenizedPassage) -> float:
    """Return how odd the oddest stretch of a passage's runs is, in [0, 1), if it is in English."""
    return gibberish(runs(both_ends(passage.shown, MAX_CHARS)))


def runs(text: str) -> list[str]:
    """Return the words of a text that stand in runs of three or more, a break between two runs.

    >>> runs("The pier was sold, and the Old Inn was let.") == ["pier", "was", "sold"]
    True
    """
    return f" {_BREAK} ".join(_RUN.findall(text)).split()


def gibberish(words: Sequence[str], model: ClassBigram | None = None) -> float:
    """Return how odd the oddest stretch of words is, in [0, 1), by the shipped model or another.

    Neither its length nor its place matters, and no natural text around hides it. A word of another
    script ends a stretch. The words are folded (`ragguard.text.tokens`).

    >>> natural = "the lamp in the tower was lit every evening by the keeper and his sons"
    >>> optimised = "lamp fiction tower mayor lit sons obviously quarter keeper genus wrote"
    >>> gibberish(natural.split()) < gibberish(optimised.split()) / 2
    True
    """
    if len(words) < 2:
        return 0.0
    known = model or class_bigram()
    codes = _BEGIN + bytes(map(known.classes.__getitem__, words))
    # Neighbouring bytes read as one number: the pairs need no arithmetic.
    pairs = np.ndarray((len(words),), dtype="<u2", buffer=codes, strides=(1,))
    odd = known.oddness.take(pairs).astype(np.int64)
    odd[np.frombuffer(codes, np.uint8, offset=1) == OTHER_SCRIPT] = _ENDED
    sums = np.add.accumulate(odd)
    most = int((sums - np.minimum.accumulate(sums)).max())
    return most / (most + UNITS * _HALF)


def reads_english(query: TokenizedQuery, passages: Sequence[TokenizedPassage]) -> bool:
    """Return True if a question is in English, or else half of what was retrieved for it.

    The question comes first, since no attacker writes it. Titles and key words have no function
    words in any language; there the passages tell, of which there is one at least.
    """
    if has_function_words(query.sequence):
        return True
    return 2 * sum([one.written.once(is_english) for one in passages]) >= len(passages)


def is_english(passage: TokenizedPassage) -> bool:
    """Return True if a passage is in English; read it as it is written, and `once`."""
    if has_function_words(passage.sequence):
        return True
    listed = len(passage.distinct & class_bigram().listed)
    return listed >= _LISTED * len(passage.distinct)
