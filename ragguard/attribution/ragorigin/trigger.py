"""What marks a text as planted for one question, and which passages came with it: ours.

Trigger: a text is planted with the question in or around it so that the question finds it
(PoisonedRAG). Texts of one attack carry it at the same place, and hardly any page that nobody
planted carries it at all. So where most of the suspects do, that is their mark.

Specificity: a planted text says what it is to say and little more. A genuine page that holds a
wrong answer's words holds them among the other names and dates of its subject: it mentions the
answer, and a likelihood cannot tell that from stating it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, compress, islice

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.claim import COMMON_STEMS
from ragguard.stems import stems_of

VERBATIM_GAIN = 0.95
"""Relative gain of SC from which a passage is taken to hold the question word for word."""

_PIECE = re.compile(r"[^\W_][\w'\u2019-]*")
# Chosen on one half of the benchmark's records.
_NAMES = 4
_WORDS_PER_NAME = 12


def select_by_trigger(
    query: str,
    texts: Sequence[str],
    carried: NDArray[np.float64],
    suspected: NDArray[np.bool_],
    seen: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return the suspects, or, if most of those seen hold the question, who bears that mark.

    These are the suspects that hold the question, and the others that hold it at the same place: a
    planted text that fails to state the response came with those that do. Others are not blamed if
    they agree on a word that nobody else in the scope says (another attacker's answer), nor if
    their words are closer to a passage that nobody suspects than to any suspect (pages of frequent
    questions). Suspects without the mark are searched for later, among the rest. Two that hold the
    question may be a planted text and such a page, so where only one suspect with it was seen there
    must be three.

    `texts` are the n passages in rank order, `carried` their relative gains of SC, `seen` the
    suspects that the generator saw; arrays, and what is returned, have shape (n,).
    """
    carriers = carried >= VERBATIM_GAIN
    known = int((seen & carriers).sum())
    if 2 * known <= int(seen.sum()):
        return suspected
    core = suspected & carriers
    asked, *read = stems_of([query, *compress(texts, carriers)])
    places = np.full(len(texts), "", dtype="<U6")
    places[carriers] = [_place(asked, words) for words in read]
    others = carriers & ~core & np.isin(places, places[core])
    if others.any():
        said = [set(words) - set(asked) - COMMON_STEMS for words in stems_of(texts)]
        innocent = ~carriers & ~suspected
        another = _of_another_answer(said, others, core | innocent)
        others &= ~another & (_likeness(said, core) >= _likeness(said, innocent))
    return suspected if known < 2 and others.sum() < 2 else np.asarray(core | others)


def _place(query: Sequence[str], words: Sequence[str]) -> str:
    if words[: len(query)] == query:
        return "front"
    return "end" if words[-len(query) :] == query else "inside"


def _of_another_answer(
    said: Sequence[set[str]], others: NDArray[np.bool_], rest: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which of the others hold a word that most of them share, and nobody of the rest."""
    known = set[str]().union(*compress(said, rest))
    new = [words - known if other else set() for words, other in zip(said, others, strict=True)]
    shared = Counter(word for words in new for word in words)
    theirs = {word for word, count in shared.items() if count >= 2 and 2 * count > others.sum()}
    return np.array([bool(words & theirs) for words in new])


def _likeness(said: Sequence[set[str]], some: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the Jaccard similarity of each passage's words to the nearest of some; 0 of none."""
    likeness = np.zeros(len(said))
    for model in compress(said, some):
        shares = [len(words & model) / max(1, len(words | model)) for words in said]
        likeness = np.maximum(likeness, shares)
    return likeness


def off_topic_names(query: str, claimed: str, texts: Sequence[str]) -> list[int]:
    """Return how many names and numbers each text holds beside the question's and the claim's.

    Names are words with a capital letter in front, also where a sentence begins; function words,
    and words of sources and saying ("According"), are none. Each counts once.

    >>> question = "Who led the survey?"
    >>> off_topic_names(question, "Ada Crane", ["The survey of 1921 was led by Ada Crane."])
    [1]
    """
    names = [
        [piece for piece in _PIECE.findall(text) if piece[0].isupper() or piece[0].isdigit()]
        for text in texts
    ]
    asked, claiming, *read = stems_of([query, claimed, *chain.from_iterable(names)])
    known = COMMON_STEMS.union(asked, claiming)
    rest = iter(read)
    return [len({stems[0] for stems in islice(rest, len(each)) if stems} - known) for each in names]


def is_specific(query: str, claimed: str, texts: Sequence[str]) -> NDArray[np.bool_]:
    """Return which texts hold at most max(4, words / 12) `off_topic_names`, shape (len(texts),).

    In languages without capital letters only numbers count, and nearly every text is specific.
    """
    allowed = [max(_NAMES, len(_PIECE.findall(text)) // _WORDS_PER_NAME) for text in texts]
    return np.asarray(np.array(off_topic_names(query, claimed, texts)) <= allowed, dtype=np.bool_)
