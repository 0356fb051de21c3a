"""The profile of a passage: what its text alone shows of why it was written.

No question is known yet, so nothing of it is evidence by itself: `ragguard.admission.judging` asks
how rare it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragguard.admission.question import answered_question
from ragguard.inline.features.gibberish import gibberish_of
from ragguard.inline.features.manner import MannerModel, shipped
from ragguard.inline.language import is_english
from ragguard.inline.tokens import TokenizedPassage, tokenize_passages
from ragguard.text import MAX_CHARS, both_ends
from ragguard.text.html import strip_markup

PROFILE = ("manner", "answered", "gibberish", "injection", "hidden", "words")
"""The columns of `profiles`."""

_FOREIGN = -np.inf  # the manner of what is not in English: the model says nothing of it

_HIDDEN = re.compile(
    r"(?<=\w)[\u200b\u2060-\u2064\ufeff](?=\w)"
    r"|(?<=[a-zA-Z])[\u200c-\u200f](?=[a-zA-Z])"
    r"|[\u202d\u202e\U000e0001\U000e0020-\U000e007e]"
    r"|[a-zA-Z](?=[\u0430-\u044f\u0456])|[\u0430-\u044f\u0456](?=[a-zA-Z])"
)
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f")  # of a region


def profiles(texts: Sequence[str], model: MannerModel | None = None) -> NDArray[np.float32]:
    """Read passages; of very long ones both ends.

    Args:
        texts: Of n passages.
        model: Of manner; None for the shipped one.

    Returns:
        float32 array of shape (n, len(PROFILE)): how clearly each is written as planted passages
        are, in nats, or -inf if it is not in English; how much of a question it answers itself, in
        [0, 1]; how odd its oddest run of words is, in [0, 1); how clearly it speaks to a language
        model, in [0, 1]; how many places hide something; and how many words it has.
    """
    known = model or shipped()
    read = tokenize_passages(texts)
    return np.array([_profile(one, known) for one in read], np.float32).reshape(-1, len(PROFILE))


def _profile(passage: TokenizedPassage, model: MannerModel) -> tuple[float, ...]:
    text = strip_markup(both_ends(passage.text, MAX_CHARS))
    english = passage.once(is_english)
    return (
        model.manner(text) if english else _FOREIGN,
        answered_question(text),
        passage.once(gibberish_of) if english else 0.0,
        passage.injection,
        hidden_characters(text),
        len(passage.sequence),
    )


def hidden_characters(text: str) -> int:
    r"""Return how many places of a text hide something within words, or pass for another letter.

    Invisible characters and letters of a second script in one word, tags and overrides of direction
    carry a text past whoever looks at it (Boucher et al. 2022, "Bad Characters"). Soft hyphens, and
    the joiners of Arabic and Indic scripts, stand in honest words.

    >>> hidden_characters("p\u0430ss\u200bword"), hidden_characters("co\u00adoperate")
    (3, 0)
    """
    if text.isascii():
        return 0
    return len(_HIDDEN.findall(_FLAG.sub("", text)))
