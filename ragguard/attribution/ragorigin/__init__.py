"""RAGOrigin: the passages responsible for a response, by scope, responsibility and threshold.

The paper's parts are here by equation, and beside them the heuristics that are ours.

Source: Zhang et al., "Who Taught the Lie? Responsibility Attribution for Poisoned Knowledge in
Retrieval-Augmented Generation" (arXiv 2509.13772), Section 5.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ragguard.arguments import require_whole
from ragguard.attribution.prompts import closed_book_prompt
from ragguard.attribution.ragorigin.counterfactual import Evidence, find_cause
from ragguard.attribution.ragorigin.responsibility import embedding_similarity
from ragguard.attribution.ragorigin.scope import (
    MIN_SCOPE,
    AnswerProbe,
    Probe,
    Ranking,
    narrow_scope,
)
from ragguard.attribution.ragorigin.support import MIN_SUPPORT
from ragguard.attribution.ragorigin.traced_claim import meter_of_claim
from ragguard.attribution.result import Attribution, Attributor, Retrieve
from ragguard.attribution.search import search_of
from ragguard.attribution.text_model import Usage, as_text_model
from ragguard.embedding import CachedEmbedder
from ragguard.errors import InvalidInputError
from ragguard.inline.query_reduction import reduced
from ragguard.passage import Passage
from ragguard.proxy import Proxy, as_proxy

MAX_SCOPE = 200
"""Passages after which the search for benign ones ends, unless the caller says otherwise."""

_NO_CALLS = Usage()


class RAGOrigin(Attributor):
    """Attribution with a proxy language model, and with no call to a large one unless wanted.

    Safe to share between threads as far as the proxy, the embedder and the models are.

    Args:
        proxy: Scores passages; a model's name or an exported folder: what
            `ragguard.proxy.default` makes of it; None: `ragguard.proxy.default()`.
        embedder: What `as_embedder` takes, for ES; None: the built-in one. The passages' own
            embeddings are used if every one has one of the length of the query's.
        generate: The system's own language model, anything that `as_text_model` takes. With it the
            scope and the counterfactual ask what it really answers, and a response that it gives
            without any passage is put down to the model. None: the proxy's likelihood decides.
        judge: The model that compares two answers; None: a rule does. Needs `generate`.
        top_k: K, the passages that the RAG system puts before its generator.
        max_scope: Passages after which the search for benign ones ends.

    Raises:
        InvalidInputError: An argument is of another type or out of range, or `judge` comes without
            `generate`.
        ProxyError: The proxy that was named is missing or damaged.
    """

    def __init__(
        self,
        *,
        proxy: Proxy | str | os.PathLike[str] | None = None,
        embedder: Any = None,
        generate: Any = None,
        judge: Any = None,
        top_k: int = 5,
        max_scope: int = MAX_SCOPE,
    ) -> None:
        self._top_k = require_whole("top_k", top_k)
        self._max_scope = require_whole("max_scope", max_scope, least=self._top_k)
        if judge is not None and generate is None:
            raise InvalidInputError("judge compares what generate answers; pass generate= as well")
        self._proxy = as_proxy(proxy)
        self._embedder = CachedEmbedder.of(embedder)
        self._generate = None if generate is None else as_text_model(generate)
        self._judge = None if judge is None else as_text_model(judge)

    def attribute(self, query: str, response: str, retrieve: Retrieve | Any) -> Attribution:
        """Return the passages responsible for `response`, if any are.

        `details` holds "claim" (what of the response was traced), "segments" (for each, whether it
        led to the response), "complete" (False: the scope ended at `max_scope`), "p_value" (that
        nothing stands apart), "standing" (how far the suspects do, in [0, 1]), "support" (each
        passage's, in [0, 1]), "refused" (the response is a refusal), "unanswered" (of how many sets
        of passages the proxy's likelihood decides, since `generate` refused them for good) and what
        the language models were asked for. If a passage supports a refusal, or a yes or no, the
        support stands in for GC in RS.

        Raises:
            InvalidInputError: The query or the response is blank, or `retrieve` is not what
                `as_retrieve` takes.
            EmbeddingError: The embedder's answer has the wrong shape or is not finite.
            ProxyError: The proxy's answer has the wrong shape or is not finite.
            GenerationError: A language model did not answer.
        """
        search = search_of(query, response, retrieve)
        generate, judge = (one and one.metered() for one in (self._generate, self._judge))
        question = reduced(query)
        ranking = Ranking(search, query)
        first = ranking.first(max(self._top_k, min(MIN_SCOPE, self._max_scope)))
        read, others = first[: self._top_k], first[self._top_k :]
        meter = meter_of_claim(self._proxy, question, response, read, others)
        probe: Probe = meter
        unaided, asked = False, None
        if generate is not None:
            asked = AnswerProbe(generate, judge, query, response, meter)
            # A model may well refuse when it has no passages; that does not make them innocent.
            unaided = not meter.refused and asked.agrees(
                generate.generate(closed_book_prompt(query))
            )
            probe = probe if unaided else asked
        scope = narrow_scope(ranking, probe, top_k=self._top_k, max_scope=self._max_scope)
        texts = [passage.text for passage in scope.passages]
        similarity = embedding_similarity(self._embedder, question, _comparable(scope.passages))
        columns = (similarity, *meter.scores(texts))
        support = meter.support(texts)
        influence = support if meter.wordless and (support >= MIN_SUPPORT).any() else columns[2]
        scores = (*columns[:2], influence)
        evidence = Evidence(question, meter.claim, scores, support, meter.carried(texts))
        finding = find_cause(scope, evidence, probe, top_k=self._top_k, unaided=unaided)
        unanswered = asked.unanswered if asked else []
        if meter.refused and asked and asked.silent:  # else it has answered without passages
            raise unanswered[0]
        return Attribution.of(
            query,
            response,
            "ragorigin",
            scope.passages,
            [column.tolist() for column in (*columns, finding.first.responsibility)],
            finding.responsible.tolist(),
            (finding.cause, finding.reason),
            {
                "claim": meter.claim,
                "segments": list(scope.reproduced),
                "complete": scope.complete,
                "p_value": finding.first.p_value,
                "standing": finding.first.standing,
                "support": support.tolist(),
                "refused": meter.refused,
                "unanswered": len(unanswered),
                **asdict(sum((model.usage for model in (generate, judge) if model), _NO_CALLS)),
            },
        )


def _comparable(passages: Sequence[Passage]) -> Sequence[Passage]:
    # Without embeddings unless all have one of the same shape: vectors of two models cannot be
    # compared, even where they have the same length.
    shapes = {None if p.embedding is None else p.embedding.shape for p in passages}
    return passages if len(shapes) <= 1 else [Passage(p.text, id=p.id) for p in passages]
