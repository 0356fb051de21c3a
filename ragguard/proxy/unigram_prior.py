"""How probable a word is before any text has been read.

`word_log_probability` is a distribution over all finite strings: a table of frequent English
words, and for every other string a spelling model that draws a length, then a script, then the
characters. It knows no corpus, so nothing has to be downloaded or fitted.
"""

from __future__ import annotations

import math
from functools import lru_cache

__all__ = ["word_log_probability"]

# By falling frequency; the shares follow the Zipf-Mandelbrot law 1 / (rank + 2).
_FREQUENT = (
    "the of and to in a is was for on as by with that at from it his he an be are this were which "
    "or had also its has not but have their one they who after been her first two she new other "
    "when there all during into some up time most more only out over such about between can no "
    "than then if made where would what will these him may many later used world being three "
    "under while including through both because so them any each until against since same those "
    "before year years how do did does well called known name i you your we my our me us s t like "
    "just could should people very said even much way make get see yes now"
).split()
_FREQUENT_SHARE = 0.5
_ZIPF = [1.0 / (rank + 2.0) for rank in range(1, len(_FREQUENT) + 1)]
_FREQUENT_PROBABILITY = {
    word: _FREQUENT_SHARE * weight / sum(_ZIPF)
    for word, weight in zip(_FREQUENT, _ZIPF, strict=True)
}

_MEAN_EXTRA_LENGTH = 4.5
# English letter frequencies, percent.
_LETTER_PERCENT = {
    **{"e": 12.4, "t": 9.0, "a": 8.2, "o": 7.5, "i": 7.0, "n": 6.8, "s": 6.4, "h": 6.0, "r": 6.0},
    **{"d": 4.3, "l": 4.0, "c": 2.8, "u": 2.8, "m": 2.4, "w": 2.3, "f": 2.2, "g": 2.0, "y": 2.0},
    **{"p": 1.9, "b": 1.5, "v": 1.0, "k": 0.8, "j": 0.15, "x": 0.15, "q": 0.1, "z": 0.1},
}
_LETTERS = {c: percent / sum(_LETTER_PERCENT.values()) for c, percent in _LETTER_PERCENT.items()}
_DIGITS = dict.fromkeys("0123456789.,:", 1.0 / 13.0)
_IDEOGRAPHS = range(0x3040, 0xA000)
_CODE_POINTS = 0x110000
_LETTERS_SHARE, _DIGITS_SHARE, _IDEOGRAPHS_SHARE, _ANY_SHARE = 0.9, 0.05, 0.025, 0.025


@lru_cache(maxsize=1 << 16)
def word_log_probability(word: str) -> float:
    """Return the log-probability of a non-empty `word` before any text is read, in nats.

    The probabilities of all finite strings sum to one.
    """
    spelled = math.log1p(-_FREQUENT_SHARE) + _spelling_log_probability(word)
    listed = _FREQUENT_PROBABILITY.get(word)
    if listed is None:
        return spelled
    return math.log(listed + math.exp(spelled))


def _spelling_log_probability(word: str) -> float:
    extra = len(word) - 1
    length = (
        extra * math.log(_MEAN_EXTRA_LENGTH) - _MEAN_EXTRA_LENGTH - math.lgamma(extra + 1.0)
    )  # 1 + Poisson
    scripts = [math.log(_ANY_SHARE) - len(word) * math.log(_CODE_POINTS)]
    if all(c in _LETTERS for c in word):
        scripts.append(math.log(_LETTERS_SHARE) + sum(math.log(_LETTERS[c]) for c in word))
    elif all(c in _DIGITS for c in word):
        scripts.append(math.log(_DIGITS_SHARE) + sum(math.log(_DIGITS[c]) for c in word))
    elif all(ord(c) in _IDEOGRAPHS for c in word):
        scripts.append(math.log(_IDEOGRAPHS_SHARE) - len(word) * math.log(len(_IDEOGRAPHS)))
    best = max(scripts)
    return length + best + math.log(sum(math.exp(s - best) for s in scripts))
