"""Hidden characters: what stands within words and nobody sees, or passes for another letter.

Invisible characters and letters of a second script in one word, tags and overrides of direction
carry a text past whoever looks at it (Boucher et al. 2022, "Bad Characters"). Soft hyphens, and the
joiners of Arabic and Indic scripts, stand in honest words.
"""

from __future__ import annotations

import re

__all__ = ["hidden_characters"]

_HIDDEN = re.compile(
    r"(?<=\w)[\u200b\u2060-\u2064\ufeff](?=\w)"
    r"|(?<=[a-zA-Z])[\u200c-\u200f](?=[a-zA-Z])"
    r"|[\u202d\u202e\U000e0001\U000e0020-\U000e007e]"
    r"|[a-zA-Z](?=[\u0430-\u044f\u0456])|[\u0430-\u044f\u0456](?=[a-zA-Z])"
)
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f")  # of a region


def hidden_characters(text: str) -> int:
    r"""Return how many places of a text hide something.

    >>> hidden_characters("p\u0430ss\u200bword"), hidden_characters("co\u00adoperate")
    (3, 0)
    """
    if text.isascii():
        return 0
    return len(_HIDDEN.findall(_FLAG.sub("", text)))
