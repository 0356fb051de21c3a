"""Words of prose, and word forms that say the same: plurals, and numbers in words.

A passage that says "two butterflies" states the answer "2 butterfly species" in words that no
word-for-word model would match. Rules for English and no dictionary: what they miss stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from ragguard.text import STOP_WORDS, fold

# Scripts written without spaces: a word cannot be found by rule. So each sign stands alone, and of
# scripts whose every text has all letters each three in a row, as in `ragguard.text.ngrams`.
_SIGNS = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese and Khmer
_ROW = 3
_SYMBOLS = "$%\u00a2-\u00a5\u20a0-\u20cf\u2190-\u2bff\U0001f000-\U0001faff"
_WORD = re.compile(
    rf"\d+(?:[.,:]\d+)*|[{_SIGNS}]|[{_LETTERS}]+|[^\W\d_{_SIGNS}{_LETTERS}]+|[{_SYMBOLS}]"
)
_IN_ROWS = re.compile(f"[{_LETTERS}]{{{_ROW + 1},}}")

_CARDINALS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
).split()
_NUMBERS = {
    **{word: str(number) for number, word in enumerate(_CARDINALS)},
    **{word: str(10 * number) for number, word in enumerate(_TENS, start=2)},
    **{word: str(number) for number, word in enumerate(_ORDINALS, start=1)},
}
_HISSING = re.compile(r"(?:ch|sh|ss|x|z)es$")
_NO_PLURAL = re.compile(r"(?:ss|us|is)$")


def tokenize(text: str) -> list[str]:
    """Return the words of `text` in order, folded as `ragguard.text.fold` does.

    A number keeps its separators. A sign of Han or Kana is a word of its own, and so are symbols
    that carry meaning (currency, percent, emoji); of Thai, Lao, Burmese and Khmer each three
    letters in a row. Other punctuation, control characters and lone surrogates only separate.

    >>> tokenize("The Big Man, 1.5 %")
    ['the', 'big', 'man', '1.5', '%']
    """
    return _words(fold(text))


def words_of(texts: Iterable[str]) -> list[list[str]]:
    """Return the words of each text, as `tokenize` finds them."""
    return [_words(folded) for folded in list(map(fold, texts))]


def _words(folded: str) -> list[str]:
    found = _WORD.findall(folded)
    if folded.isascii() or not _IN_ROWS.search(folded):
        return found
    return [part for word in found for part in (_rows(word) if _IN_ROWS.match(word) else [word])]


def _rows(word: str) -> list[str]:
    return [word[at : at + _ROW] for at in range(len(word) - _ROW + 1)]


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the form under which a folded word is counted.

    >>> [stem(word) for word in ("two", "fourth", "butterflies", "churches", "seasons", "bus")]
    ['2', '4', 'butterfly', 'church', 'season', 'bus']
    """
    number = _NUMBERS.get(word)
    if number is not None:
        return number
    if len(word) < 4 or not word.endswith("s") or not word.isascii() or _NO_PLURAL.search(word):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-2] if _HISSING.search(word) else word[:-1]


def stems(text: str) -> list[str]:
    """Return the words of `text` in order, as `tokenize` finds them, in the form of `stem`.

    >>> stems("The Big Men, in two boats")
    ['the', 'big', 'men', 'in', '2', 'boat']
    """
    return list(map(stem, tokenize(text)))


def stems_of(texts: Iterable[str]) -> list[list[str]]:
    """Return the stems of each text, as `stems` finds them."""
    return [list(map(stem, words)) for words in words_of(texts)]


STOP_STEMS = STOP_WORDS.union(map(stem, STOP_WORDS))
"""The stems of function words."""
