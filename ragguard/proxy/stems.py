"""Word forms that say the same: plurals, and numbers in words.

A passage that says "two butterflies" states the answer "2 butterfly species" in words that no
word-for-word model would match. Rules for English and no dictionary: what they miss stays as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ragguard.proxy.words import tokenize

__all__ = ["stem", "stems"]

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
    return [stem(word) for word in tokenize(text)]
