"""Jumble: words in a row that no sentence puts in a row.

    jumble = max of gibberish(run) over runs of lower-case words, with a space between each two

Beside a question, `ragguard.inline.features.gibberish` asks how much of it an odd passage holds.
Here there is none to tell a list, a table or names from text that was chosen by search (Zhong et
al. 2023; Ben-Tov and Sharif 2025), so words with capitals, digits or signs between do not count.
"""

from __future__ import annotations

import re

from ragguard.inline.features.gibberish import gibberish

__all__ = ["jumble"]

# Without a way back ("++", and from the beginning of a word), or a long word would take the square.
_RUN = re.compile(
    r"(?<![a-zA-Z])[a-z]++(?:['\u2019][a-z]++)?+(?: [a-z]++(?:['\u2019][a-z]++)?+){2,}+"
)


def jumble(text: str) -> float:
    """Return how odd the oddest run of words is, in [0, 1); English alone is known.

    >>> jumble("The lamp in the tower was lit every evening, by the keeper and his sons.") < 0.1
    True
    >>> jumble("The lamp sudden hurry coincidentally wants leased genus mayor obviously both") > 0.2
    True
    """
    return max((gibberish(run.split()) for run in _RUN.findall(text)), default=0.0)
