"""Character n-grams: words of scripts that put no spaces between them.

In Chinese, Japanese, Thai, Lao, Khmer and Burmese every n letters in a row are read as a word, as
search engines without a dictionary do (Lucene's CJKBigramFilter; McNamee and Mayfield 2004,
"Character n-gram tokenization for European language text retrieval"): `_SIGNS` of Han and Kana,
where a sign is a syllable or a word, and `_LETTERS` of the others, where a syllable has several.
Only a word of another script ends a row: neither spaces nor signs between letters hide anything.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

_SIGNS = 2
_LETTERS = 3
_OF_FOUR = 1 / 4

# Han, Kana and Bopomofo; then the scripts of line-break class SA (UAX #14).
_HAN = (
    r"\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00016fe0-\U00018d8f\U0001aff0-\U0001b2ff"
    r"\U00020000-\U0003ffff"
)
_COMPLEX = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf"
)
_UNSPACED = re.compile(f"[{_HAN}{_COMPLEX}]")
_PIECE = re.compile(f"([{_HAN}][{_HAN} ]*)|([{_COMPLEX}][{_COMPLEX} ]*)|[^{_HAN}{_COMPLEX} ]+")


def has_unspaced(text: str) -> bool:
    """Return True if a text holds a letter of a script without spaces."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def ngrams(words: Sequence[str]) -> Sequence[str]:
    r"""Return words with n-grams for those of scripts without spaces, in order.

    >>> ngrams(["\u8c01\u5efa\u9020", "\u4e86", "covid19\u7ad9"])
    ['\u8c01\u5efa', '\u5efa\u9020', '\u9020\u4e86', 'covid19', '\u7ad9']
    """
    joined = " ".join(words)
    return list(_cut(joined)) if has_unspaced(joined) else words


def words_meant(words: Sequence[str]) -> float:
    """Return how many words a text has, as far as n-grams tell: they overlap.

    A word of Han or Kana has two signs in most cases, one of the other scripts four letters or so.

    >>> words_meant(["\u5efa\u9020", "\u9020\u4e86", "pier"])
    2.0
    """
    if "".join(words).isascii():
        return float(len(words))
    return sum(
        [
            1.0 if not has_unspaced(one) else 1 / _SIGNS if len(one) < _LETTERS else _OF_FOUR
            for one in words
        ]
    )


def ngrams_counted(words: Sequence[str], most: int) -> tuple[Sequence[str], int]:
    """Return what `ngrams` returns, of too many the first and the last, and how many are left out.

    Words without a letter of such a script come back as they are, however many.
    """
    joined = " ".join(words)
    if not has_unspaced(joined):
        return words, 0
    left = _cut(joined)
    front = list(islice(left, most // 2))
    # Never all of them at once: they may be as many as there are letters.
    numbered = deque(enumerate(left, start=1), maxlen=most - most // 2)
    rest = numbered[-1][0] - len(numbered) if numbered else 0
    return [*front, *[word for _, word in numbered]], rest


def _cut(joined: str) -> Iterator[str]:
    for piece in _PIECE.finditer(joined):
        if piece[1]:
            yield from _overlapping(piece[1].replace(" ", ""), _SIGNS)
        elif piece[2]:
            yield from _overlapping(piece[2].replace(" ", ""), _LETTERS)
        else:
            yield piece[0]


def _overlapping(run: str, n: int) -> Iterator[str]:
    return (run[at : at + n] for at in range(max(1, len(run) - n + 1)))
