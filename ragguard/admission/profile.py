"""The profile of a passage: what its text alone shows of why it was written.

No question is known yet, so nothing of it is evidence by itself: `ragguard.admission.judging` asks
how rare it is. Of a passage that asks a question at its beginning or end, and answers it:

    share = content words of the question that the rest says again / content words of the question

PoisonedRAG (Zou et al. 2025) puts the question itself before its text, so that the text is
retrieved; others put it behind. An honest page that asks goes on to other things.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from ragguard.admission.base import SIGNS
from ragguard.inline.features.gibberish import gibberish_of, is_english
from ragguard.inline.features.manner import MannerModel, shipped
from ragguard.inline.query_form import ASKING_VERBS, INTERROGATIVES, QUESTION_MARK, TELLING
from ragguard.inline.tokens import TokenizedPassage, leading_label, tokenize_passages
from ragguard.text import MAX_CHARS, STOP_WORDS, both_ends, tokens
from ragguard.text.html import strip_markup

_FOREIGN = -np.inf  # the manner of what is not in English: the model says nothing of it

_HIDDEN = re.compile(
    r"(?<=\w)[\u200b\u2060-\u2064\ufeff](?=\w)"
    r"|(?<=[a-zA-Z])[\u200c-\u200f](?=[a-zA-Z])"
    r"|[\u202d\u202e\U000e0001\U000e0020-\U000e007e]"
    r"|(?<=[\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
    r"|[a-zA-Z](?=[\u0430-\u044f\u0456])|[\u0430-\u044f\u0456](?=[a-zA-Z])"
)
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f")  # of a region

_OPENING, _CLOSING = 14, 25  # words of a question that no mark ends, and of one at the end
_MARKED = 200  # characters in which the mark of an opening question is looked for
_FEWEST = 3  # content words that a question is taken to have at least
_EDGE = 5  # words by which an opening or an ending is known
_SENTENCE = re.compile(r"(?<=[.!?\u2026\uff1f\u061f\u3002])\s*(?=\w)|\n+")


def profiles(texts: Sequence[str], model: MannerModel | None = None) -> NDArray[np.float32]:
    """Read n passages, of very long ones both ends, by a model of manner (None: the shipped one).

    float32 of shape (n, 5), columns as in `SIGNS`: how clearly each is written as planted passages
    are, in nats, or -inf if it is not in English; how much of a question it answers itself, in
    [0, 1]; how odd its oddest run of words is, in [0, 1); how clearly it speaks to a language
    model, in [0, 1]; and how many places hide something.
    """
    rows = [_profile(one, model or shipped()) for one in tokenize_passages(texts)]
    return np.array(rows, np.float32).reshape(-1, len(SIGNS))


def _profile(passage: TokenizedPassage, model: MannerModel) -> tuple[float, ...]:
    text = strip_markup(both_ends(passage.text, MAX_CHARS))
    english = passage.once(is_english)
    return (
        model.manner(text) if english else _FOREIGN,
        answered_question(text),
        passage.once(gibberish_of) if english else 0.0,
        passage.injection,
        hidden_characters(text),
    )


def hidden_characters(text: str) -> int:
    r"""Return how many places of a text hide something within words, or pass for another letter.

    Invisible characters and letters of a second script in one word, tags, selectors of a form that
    follow each other, and overrides of direction carry a text past whoever looks at it (Boucher et
    al. 2022, "Bad Characters"). Soft hyphens, and the joiners of Arabic and Indic scripts, stand in
    honest words.

    >>> hidden_characters("p\u0430ss\u200bword"), hidden_characters("co\u00adoperate")
    (3, 0)
    """
    return 0 if text.isascii() else len(_HIDDEN.findall(_FLAG.sub("", text)))


def answered_question(text: str) -> float:
    """Return what share of the question that a text opens or closes with the rest says again.

    0 for a text, without markup, that neither opens nor closes with a question.

    >>> answered_question("Who built the old pier? Ann built the old pier in 1874.")
    1.0
    >>> answered_question("Ann built the old pier. When the war was over it was sold.")
    0.0
    """
    words = tokens(text)
    first = leading_label(words)
    opening = words[first : first + _OPENING]
    mark = QUESTION_MARK.search(text, 0, _MARKED)
    asked = tokens(text[: mark.start()])[first:] if mark else []
    if 0 < len(asked) <= _CLOSING:
        opening = asked
    found = 0.0
    if asked == opening:
        found = _said_again(opening, words[first + len(opening) :])
    elif _asks(opening):
        # Where it ends is not known: what is said again may begin within these words.
        twice = {word for word, count in Counter(words).items() if count > 1}
        found = _said_again(opening, twice)
    closing = _SENTENCE.split(text.rstrip())[-1]
    last = tokens(closing)[-_CLOSING:]
    if last and len(last) < len(words) and (_asks(last) or QUESTION_MARK.match(closing[-1:])):
        found = max(found, _said_again(last, words[: -len(last)]))
    return found


def edges(text: str) -> tuple[str, str]:
    """Return the first and the last five words of a text, "" where it has fewer than ten.

    >>> edges("Q: who lit the lamp at night? Ann did it with a match")
    ('who lit the lamp at', 'did it with a match')
    """
    words = tokens(text)
    if len(words) < 2 * _EDGE:
        return "", ""
    first = leading_label(words)
    return " ".join(words[first : first + _EDGE]), " ".join(words[-_EDGE:])


def _asks(words: Sequence[str]) -> bool:
    if len(words) < _FEWEST:
        return False
    return words[0] in ASKING_VERBS or (words[0] in INTERROGATIVES and words[1] not in TELLING)


def _said_again(question: Sequence[str], rest: Collection[str]) -> float:
    content = {word for word in question if word not in STOP_WORDS and len(word) > 1}
    return len(content.intersection(rest)) / max(_FEWEST, len(content))
