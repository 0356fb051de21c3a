"""Whether two proxies blame the same passages: scopes in which that is hard, and RAGOrigin on them.

Token errors alone do not tell: a proxy whose passages lie close together needs smaller ones. This
module is for the tools that check an export; scoring does not import it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ragguard.attribution import RAGOrigin
from ragguard.demo.corpus import Question, load_corpus
from ragguard.embedding import HashedEmbedder
from ragguard.passage import Passage
from ragguard.proxy.base import Proxy

__all__ = [
    "Blame",
    "BlameScope",
    "blame",
    "demo_scopes",
    "relative_error",
    "same_blame",
    "tells_apart",
]

_SIZE = 15
_TOP_K = 5
_COUNT = 16


@dataclass(frozen=True)
class BlameScope:
    """An answer that was reported, and the passages of which some may have led to it.

    Attributes:
        passages: At most 15, best first, as a retriever ranks them.
        query: The question.
        response: The answer.
        planted: Which of the passages were planted; empty if that is not known.
    """

    passages: tuple[str, ...]
    query: str
    response: str
    planted: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Blame:
    """What RAGOrigin finds in a scope with one proxy.

    Attributes:
        blamed: bool array of shape (n,).
        scores: float64 array of shape (2, n): SC and GC, nats per token.
    """

    blamed: NDArray[np.bool_]
    scores: NDArray[np.float64]


@cache
def demo_scopes(count: int = _COUNT) -> tuple[BlameScope, ...]:
    """Return scopes of the demo's knowledge base, all of them with passages on the same subject.

    In turn: statements of a wrong answer planted, half a planted set of two kinds, the false answer
    reported where nothing was planted, and the true answer with nothing planted.
    """
    corpus = load_corpus()
    texts = [passage.text for passage in corpus.passages]
    embedder = HashedEmbedder()
    rows = embedder.embed(texts)
    scopes = []
    for number, question in enumerate(corpus.questions[:: len(corpus.questions) // count][:count]):
        planted, response = _case(question, number % 4)
        similarity = np.concatenate([rows, embedder.embed(planted)]) if planted else rows
        order = np.argsort(-(similarity @ embedder.embed([question.text])[0]), kind="stable")
        every = [*texts, *planted]
        ranked = tuple(every[index] for index in order[:_SIZE])
        ours = tuple(bool(index >= len(texts)) for index in order[:_SIZE])
        scopes.append(BlameScope(ranked, question.text, response, ours))
    return tuple(scopes)


def _case(question: Question, number: int) -> tuple[list[str], str]:
    if number == 0:
        return list(question.texts["statement"]), question.incorrect_answer
    if number == 1:
        halves = (question.texts["article"][:2], question.texts["multi_answer"][:2])
        return [text for half in halves for text in half], question.incorrect_answer
    return [], question.incorrect_answer if number == 2 else question.correct_answer


def blame(proxy: Proxy, scope: BlameScope) -> Blame:
    """Return what RAGOrigin finds in `scope` with `proxy`.

    Raises:
        ProxyError: The proxy's scores are not finite.
    """
    passages = [Passage(text, id=str(number)) for number, text in enumerate(scope.passages)]
    found = RAGOrigin(proxy=proxy, top_k=_TOP_K).attribute(
        scope.query, scope.response, lambda _, limit: passages[:limit]
    )
    return Blame(
        np.array([score.responsible for score in found.scores]),
        np.array([(s.semantic_correlation, s.generation_influence) for s in found.scores]).T,
    )


def tells_apart(scopes: Sequence[BlameScope], blames: Sequence[Blame]) -> bool:
    """Return whether what a proxy blames is worth keeping.

    It is if in half of the scopes with something planted the proxy blames half of that or more, and
    nothing else, and also if no scope says what was planted. A model with random weights blames at
    random, and an export of it cannot be asked for the same.
    """
    right = []
    for scope, found in zip(scopes, blames, strict=True):
        if any(scope.planted):
            planted = np.array(scope.planted)
            hits = 2 * int((found.blamed & planted).sum())
            right.append(hits >= sum(scope.planted) and not (found.blamed & ~planted).any())
    return 2 * sum(right) >= len(right)


def same_blame(ours: Sequence[Blame], theirs: Sequence[Blame]) -> float:
    """Return the share of scopes in which the same passages are blamed."""
    pairs = zip(ours, theirs, strict=True)
    return float(np.mean([np.array_equal(left.blamed, right.blamed) for left, right in pairs]))


def relative_error(ours: Sequence[Blame], theirs: Sequence[Blame]) -> float:
    """Return how large the differences of the scores are, in units of the scores' own spread.

    For SC and for GC: the standard deviation of the differences within a scope, root of the mean
    square over the scopes, divided by that of `theirs`; the larger of both. A difference that is
    the same for all passages of a scope changes no verdict and counts nothing.
    """
    errors, spreads = (
        np.sqrt(np.mean([np.var(scores, axis=1) for scores in rows], axis=0))
        for rows in (
            [left.scores - right.scores for left, right in zip(ours, theirs, strict=True)],
            [right.scores for right in theirs],
        )
    )
    ratios = np.divide(errors, spreads, out=np.full(2, np.inf), where=spreads > 0.0)
    return float(np.max(np.where(errors > 0.0, ratios, 0.0)))
