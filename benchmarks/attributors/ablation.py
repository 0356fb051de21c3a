"""Baselines that take passages away: what does the response lose without them?

Leave-one-out takes away one passage at a time. It is blind to passages that say the same: without
one of them the others still carry the response. `AblationScore` takes away random subsets and fits
a sparse linear model of the response's score on what was left in, after ContextCite (Cohen-Wang et
al., NeurIPS 2024, arXiv 2409.00729).

Both tell influence, and leave open whether it is a fault.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.attributors.ablation_influence import (
    Mask,
    ablation_masks,
    leave_one_out,
    linear_influence,
)
from ragguard.arguments import require_method, require_number, require_whole
from ragguard.attribution.claim import answers_agree, claim
from ragguard.attribution.prompts import answer_prompt, closed_book_prompt
from ragguard.attribution.ragorigin.scores import embedding_similarity
from ragguard.attribution.ragorigin.threshold import one_cluster_p_value, two_means
from ragguard.attribution.result import Attribution, Cause, Retrieve
from ragguard.attribution.search import search_of
from ragguard.attribution.text_model import TextModel, Usage, as_text_model
from ragguard.embedding import CachedEmbedder, as_embedder
from ragguard.errors import InvalidInputError, ProxyError
from ragguard.proxy import Proxy, default

__all__ = ["AblationScore", "LeaveOneOut"]


class _Responder:
    """Scores how much sets of passages lead to the response."""

    def __init__(self, proxy: Proxy | None, generate: Any) -> None:
        if proxy is not None and generate is not None:
            raise InvalidInputError("the response is scored by proxy= or by generate=; pass one")
        if proxy is not None:
            require_method("proxy", proxy, "score(contexts, query, response)")
        self._generate: TextModel | None = None if generate is None else as_text_model(generate)
        self._proxy = default() if proxy is None and generate is None else proxy

    def scores(
        self, query: str, response: str, sets: Sequence[Sequence[str]]
    ) -> tuple[NDArray[np.float64], Usage]:
        """Return one score a set, shape (len(sets),), and what the model was asked for.

        The logit of the geometric mean probability of the claim's tokens; with a generator, 1 where
        its answer agrees with the response, else 0.
        """
        if self._generate is not None:
            model = self._generate.metered()
            prompts = [
                answer_prompt(query, texts) if texts else closed_book_prompt(query)
                for texts in sets
            ]
            answers = model.generate_many(prompts)
            agreed = [float(answers_agree(query, answer, response)) for answer in answers]
            return np.array(agreed), model.usage
        assert self._proxy is not None
        contexts = ["\n\n".join(texts) for texts in sets]
        found = self._proxy.score(contexts, query, claim(query, response)).generation_influence
        if found.shape != (len(sets),) or not np.isfinite(found).all():
            raise ProxyError(
                f"{type(self._proxy).__name__} must return finite scores of shape ({len(sets)},) "
                f"for {len(sets)} contexts; check its model"
            )
        log_p = np.minimum(found, -1e-9)
        return np.asarray(log_p - np.log(-np.expm1(log_p))), Usage()


class _Baseline(ABC):
    """What the two baselines share: the scope, the threshold and the report."""

    _method: Literal["leave-one-out", "ablation"]

    def __init__(
        self, *, proxy: Proxy | None = None, generate: Any = None, embedder: Any = None, top_k: int
    ) -> None:
        self._responder = _Responder(proxy, generate)
        self._embedder = CachedEmbedder(as_embedder(embedder))
        self._top_k = require_whole("top_k", top_k)

    def attribute(self, query: str, response: str, retrieve: Retrieve | Any) -> Attribution:
        """Return the influence of the top k passages, and which of them stand apart.

        In the scores, `responsibility` is the influence. A passage is responsible if all passages
        together lead to the response more than none do, and its influence is positive and in the
        higher cluster of 2-means. If one cluster explains the influences (of 4 or more) better than
        two, all are responsible if all influences are positive, else none is. The papers rank and
        leave the decision open. SC and GC are not scored: both are 0.0.

        Raises:
            InvalidInputError: The query or the response is blank, or `retrieve` is not what
                `as_retrieve` takes.
            ProxyError: The proxy's answer has the wrong shape or is not finite.
            GenerationError: The generator did not answer.
        """
        scope = search_of(query, response, retrieve)(query, self._top_k)
        count = len(scope)
        masks = np.concatenate(
            [np.ones((1, count), dtype=bool), np.zeros((1, count), dtype=bool), self._masks(count)]
        )
        sets = [[p.text for p, kept in zip(scope, mask, strict=True) if kept] for mask in masks]
        scores, usage = self._responder.scores(query, response, sets)
        together, alone = float(scores[0]), float(scores[1])
        influence = self._influence(masks, scores)
        responsible = _standing_apart(influence) & (together > alone)
        cause, reason = _cause(count, int(responsible.sum()), together > alone)
        similarities = embedding_similarity(self._embedder, query, scope)
        nothing = [0.0] * count
        return Attribution.of(
            query,
            response,
            self._method,
            scope,
            (similarities.tolist(), nothing, nothing, influence.tolist()),
            responsible.tolist(),
            (cause, reason),
            {
                "score_all": together,
                "score_none": alone,
                "ablations": len(masks),
                "not_scored": ["semantic_correlation", "generation_influence"],
                **asdict(usage),
            },
        )

    async def aattribute(self, query: str, response: str, retrieve: Retrieve | Any) -> Attribution:
        """Return what `attribute` returns, computed in a worker thread.

        Raises:
            RagguardError: As `attribute`.
        """
        return await asyncio.to_thread(self.attribute, query, response, retrieve)

    @abstractmethod
    def _masks(self, count: int) -> Mask:
        """Return the subsets to score, beside all passages and none."""

    @abstractmethod
    def _influence(self, masks: Mask, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each passage's influence; of the masks, all and none come first."""


class LeaveOneOut(_Baseline):
    """Each passage's influence is what the response's score loses without it: k + 2 scores.

    Args:
        proxy: Scores the response; None: `ragguard.proxy.default()`, unless `generate` is given.
        generate: The generator itself instead, anything that `as_text_model` takes: it is asked
            once a set whether it answers as reported.
        embedder: For the embedding similarity that is reported; None means the built-in one.
        top_k: k, the passages retrieved for the query; they are the scope.

    Raises:
        InvalidInputError: `top_k` or `proxy` will not do, or both `proxy` and `generate` are given.
    """

    _method = "leave-one-out"

    def __init__(
        self,
        *,
        proxy: Proxy | None = None,
        generate: Any = None,
        embedder: Any = None,
        top_k: int = 5,
    ) -> None:
        super().__init__(proxy=proxy, generate=generate, embedder=embedder, top_k=top_k)

    def _masks(self, count: int) -> Mask:
        return ~np.eye(count, dtype=bool)

    def _influence(self, masks: Mask, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        del masks  # their order is known
        return leave_one_out(np.concatenate([scores[:1], scores[2:]]))


class AblationScore(_Baseline):
    """Each passage's influence is its weight in a sparse linear model of random ablations.

    Args:
        proxy: Scores the response; None: `ragguard.proxy.default()`, unless `generate` is given.
        generate: The generator itself instead, anything that `as_text_model` takes: it is asked
            once a set whether it answers as reported.
        embedder: For the embedding similarity that is reported; None means the built-in one.
        top_k: k, the passages retrieved for the query; they are the scope.
        ablations: How many subsets are scored, beside all passages and none; 32 as in the paper.
        sparsity: Penalty on the weights, on standardised scores; 0 for none.
        seed: Seed of the choice of subsets.

    Raises:
        InvalidInputError: A number or `proxy` will not do, or both `proxy` and `generate` are
            given.
    """

    _method = "ablation"

    def __init__(
        self,
        *,
        proxy: Proxy | None = None,
        generate: Any = None,
        embedder: Any = None,
        top_k: int = 5,
        ablations: int = 32,
        sparsity: float = 0.01,
        seed: int = 0,
    ) -> None:
        sparsity = require_number("sparsity", sparsity)
        if not sparsity >= 0.0:
            raise InvalidInputError(f"sparsity must not be negative, {sparsity:g} is; try 0.01")
        super().__init__(proxy=proxy, generate=generate, embedder=embedder, top_k=top_k)
        self._ablations = require_whole("ablations", ablations, least=2)
        self._sparsity = sparsity
        self._seed = require_whole("seed", seed, least=0)

    def _masks(self, count: int) -> Mask:
        return ablation_masks(count, self._ablations, self._seed)

    def _influence(self, masks: Mask, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        # All passages and none are scored for the verdict, and are not part of the sample.
        return linear_influence(masks[2:], scores[2:], sparsity=self._sparsity)


def _standing_apart(influence: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the higher cluster, or, where one cluster explains the influences, all or none."""
    carrying = influence > 0.0
    split = two_means(influence)
    one_cluster = one_cluster_p_value(split.explained, len(influence)) > 0.5
    if split.explained == 0.0 or (len(influence) >= 4 and one_cluster):
        return carrying & carrying.all()
    return carrying & split.high


def _cause(count: int, guilty: int, lead: bool) -> tuple[Cause, str]:
    if not count:
        return "unclear", "the knowledge base returned no passage for the query"
    if not lead:
        return "unclear", "the passages do not lead to the response more than none do"
    if not guilty:
        return "unclear", "no passage's influence stands apart from the others'"
    return "poisoning", f"{guilty} of {count} passages carry the response by ablation"
