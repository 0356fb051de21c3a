"""Written for one question: a passage that asks something at its beginning or end, and answers it.

    share = content words of the question that the rest says again / content words of the question

PoisonedRAG (Zou et al. 2025) puts the question itself before its text, so that the text is
retrieved; others put it behind. An honest page that asks goes on to other things.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from ragguard.inline.query_form import ASKING_VERBS, INTERROGATIVES, QUESTION_MARK
from ragguard.text import STOP_WORDS, tokens

_OPENING, _CLOSING = 14, 25  # words of a question that no mark ends, and of one at the end
_MARKED = 200  # characters in which the mark of an opening question is looked for
_FEWEST = 3  # content words that a question is taken to have at least
_EDGE = 5  # words by which an opening or an ending is known
_TELLING = frozenset(
    """a an another each every he her his i it its my one our she some such that the their there
    these they this those we you your""".split()
)
"""Words with which a clause goes on that tells: "when the war ended", "who it was"."""
_LABELS = frozenset("answer ask asked faq faqs q query question questions re subject topic".split())
_NUMBER = re.compile(r"q?[0-9]{1,2}")
_SENTENCE = re.compile(r"(?<=[.!?\u2026\uff1f\u061f\u3002])\s*(?=\w)|\n+")


def answered_question(text: str) -> float:
    """Return how much of the question that a text opens or closes with the rest of it says again.

    Args:
        text: A passage without markup.

    Returns:
        A share in [0, 1]; 0 for a text that neither opens nor closes with a question.

    >>> answered_question("Who built the old pier? Ann built the old pier in 1874.")
    1.0
    >>> answered_question("Ann built the old pier. When the war was over it was sold.")
    0.0
    """
    words = tokens(text)
    first = _unlabelled(words)
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
    first = _unlabelled(words)
    return " ".join(words[first : first + _EDGE]), " ".join(words[-_EDGE:])


def _unlabelled(words: Sequence[str]) -> int:
    """Return how many words only announce a question ("Q:", "FAQ 3."), at most three."""
    for at, word in enumerate(words[:3]):
        if word not in _LABELS and not _NUMBER.fullmatch(word):
            return at
    return min(3, len(words))


def _asks(words: Sequence[str]) -> bool:
    if len(words) < _FEWEST:
        return False
    return words[0] in ASKING_VERBS or (words[0] in INTERROGATIVES and words[1] not in _TELLING)


def _said_again(question: Sequence[str], rest: Collection[str]) -> float:
    content = {word for word in question if word not in STOP_WORDS and len(word) > 1}
    return len(content.intersection(rest)) / max(_FEWEST, len(content))
