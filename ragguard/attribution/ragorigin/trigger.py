"""The trigger: which texts were planted together, by the question in them. Ours.

A text is planted with the question in or around it, so that the question finds it (PoisonedRAG,
Zou et al. 2025). Texts of one attack carry it at the same place, and hardly any page that nobody
planted carries it at all. So where most of the suspects do, that is their mark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution.claim import COMMON_STEMS
from ragguard.attribution.ragorigin.support import VERBATIM_GAIN
from ragguard.stems import stems_of


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
