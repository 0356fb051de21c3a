"""The profile of a passage: what its text alone shows of why it was written.

No question is known yet, so nothing of it is evidence by itself: `ragguard.admission.judging` asks
how rare it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragguard.admission.hidden import hidden_characters
from ragguard.admission.jumble import jumble
from ragguard.admission.question import answered_question
from ragguard.inline.features.manner import MannerModel, shipped
from ragguard.inline.language import reads_english
from ragguard.inline.tokens import TokenizedPassage, tokenize_passages, tokenize_query
from ragguard.text import MAX_CHARS, both_ends
from ragguard.text.html import strip_markup

__all__ = ["PROFILE", "profiles"]

PROFILE = ("manner", "answered", "jumble", "injection", "hidden", "words")
"""The columns of `profiles`."""

_FOREIGN = -np.inf  # the manner of what is not in English: the model says nothing of it
_NO_QUESTION = tokenize_query("")


def profiles(texts: Sequence[str], model: MannerModel | None = None) -> NDArray[np.float32]:
    """Read passages; of very long ones both ends.

    Args:
        texts: Of n passages.
        model: Of manner; None for the shipped one.

    Returns:
        float32 array of shape (n, len(PROFILE)): how clearly each is written as planted passages
        are, in nats, or -inf if it is not
        in English; how much of a question it answers itself, in [0, 1]; how odd its oddest run of
        words is, in [0, 1); how clearly it speaks to a language model, in [0, 1]; how many places
        hide something; and how many words it has.
    """
    known = model or shipped()
    read = tokenize_passages(texts)
    return np.array([_profile(one, known) for one in read], np.float32).reshape(-1, len(PROFILE))


def _profile(passage: TokenizedPassage, model: MannerModel) -> tuple[float, ...]:
    text = strip_markup(both_ends(passage.text, MAX_CHARS))
    english = reads_english(_NO_QUESTION, [passage])
    return (
        model.manner(text) if english else _FOREIGN,
        answered_question(text),
        jumble(text) if english else 0.0,
        passage.injection,
        hidden_characters(text),
        len(passage.sequence),
    )
