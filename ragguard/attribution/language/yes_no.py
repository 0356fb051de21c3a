"""Which passages decide a question as a response did that says no more than yes or no: ours.

No likelihood leads from "no" back to "Yahoo has become a portal". Whether a passage denies what was
asked shows in its words only roughly: of pages on the topic half would agree with any such answer.
So this is asked only of passages that carry the question word for word, and thereby decide it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.language.claim import coverage
from ragguard.stems import tokenize
from ragguard.text import sentences

__all__ = ["decides_alike"]

_DENYING = frozenset({"no", "not", "never", "none", "false"})
_DENIAL = re.compile(
    r"\b(?:no|not|never|none|neither|nor|cannot|without|ceased|unlike|contrary|false|wrong\w*|"
    r"incorrect)\b|n['\u2019]t\b",
    re.IGNORECASE,
)


def decides_alike(query: str, claimed: str, passages: Sequence[str]) -> NDArray[np.bool_]:
    """Return which passages, as far as they decide the question, decide it as the claim does.

    What decides is the sentence that speaks most of the question and does not ask it: it denies if
    it holds a word of denial. A passage that only asks decides nothing.

    Args:
        query: A question to be answered by yes or no.
        claimed: Its answer: words of affirmation and denial.
        passages: n texts.

    Returns:
        bool array of shape (n,).

    >>> texts = ["The pier is not open.", "The pier is open."]
    >>> decides_alike("Is the pier open?", "No", texts).tolist()
    [True, False]
    """
    denied = bool(_DENYING & set(tokenize(claimed)))
    found = np.zeros(len(passages), dtype=bool)
    for index, text in enumerate(passages):
        said = [_after(query, sentence) for sentence in sentences(text)]
        said = [sentence for sentence in said if not sentence.rstrip().endswith("?")]
        if any(tokenize(sentence) for sentence in said):
            deciding = said[int(np.argmax(coverage(query, claimed, said)))]
            found[index] = bool(_DENIAL.search(deciding)) == denied
    return found


def _after(query: str, sentence: str) -> str:
    """Return the sentence without the question, if that stands before it without a mark."""
    asks = sentence.casefold().startswith(query.casefold())
    return sentence[len(query) :] if asks and len(sentence) > len(query) else sentence
