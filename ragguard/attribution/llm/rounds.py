"""What the methods that ask one language model share: how they are run, and what they report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from ragguard.arguments import require_whole
from ragguard.attribution.llm.client import TextModel, as_text_model
from ragguard.attribution.llm.dialogue import Dialogue, aconclude, check_event, conclude, spent
from ragguard.attribution.ragorigin.scores import embedding_similarity
from ragguard.attribution.result import Attribution, Cause, PassageScore, Retrieve
from ragguard.embedding import CachedEmbedder, as_embedder
from ragguard.passage import Passage

__all__ = ["Questioner"]


class Questioner(ABC):
    """Attribution by what a language model answers, as the subclass asks it.

    Args:
        model: Any model that `as_text_model` takes.
        embedder: What `as_embedder` takes; None means the built-in one.
        concurrency: Requests to the model at the same time.

    Raises:
        InvalidInputError: `model` is no model, or `concurrency` is no whole number of at least 1.
    """

    _method: str

    def __init__(self, model: Any, *, embedder: Any, concurrency: int) -> None:
        self._model = as_text_model(model)
        self._embedder = CachedEmbedder(as_embedder(embedder))
        self._concurrency = require_whole("concurrency", concurrency)

    def attribute(self, query: str, response: str, retrieve: Retrieve | Any) -> Attribution:
        """Return the passages in scope, and which of them are responsible for `response`.

        What `responsibility` and `details` hold, the class says. The method has no semantic
        correlation and no generation influence: both are 0.0, and `details["not_scored"]` names
        them. `details` also tells what the model was asked for.

        Raises:
            InvalidInputError: The query or the response is blank, or `retrieve` is not what
                `as_retrieve` takes.
            GenerationError: The model did not answer.
        """
        search = check_event(query, response, retrieve)
        model = self._model.metered()
        asking = self._asking(model, query, response, search)
        return conclude(model, asking, limit=self._concurrency)

    async def aattribute(self, query: str, response: str, retrieve: Retrieve | Any) -> Attribution:
        """Return what `attribute` returns, without blocking the event loop.

        Raises:
            InvalidInputError: As `attribute`.
            GenerationError: As `attribute`.
        """
        search = check_event(query, response, retrieve)
        model = self._model.metered()
        asking = self._asking(model, query, response, search)
        return await aconclude(model, asking, limit=self._concurrency)

    @abstractmethod
    def _asking(self, model: TextModel, query: str, response: str, retrieve: Retrieve) -> Dialogue:
        """Yield the prompts of each round, and return the `_report` on their answers."""

    def _report(
        self,
        model: TextModel,
        query: str,
        response: str,
        scope: Sequence[Passage],
        *,
        responsibility: Sequence[float],
        responsible: Sequence[bool],
        finding: tuple[Cause, str],
        details: Mapping[str, Any],
    ) -> Attribution:
        """Return the attribution; of passages equally responsible, the better ranked comes first.

        Args:
            model: The metered model, for what was spent.
            query: The user's question.
            response: What was reported.
            scope: n passages in rank order.
            responsibility: n scores, in the method's unit.
            responsible: n flags.
            finding: The cause, and the reason in words.
            details: The method's own figures.
        """
        similarities = embedding_similarity(self._embedder, query, scope)
        scores = [
            PassageScore(
                passage=passage,
                embedding_similarity=float(similarity),
                semantic_correlation=0.0,
                generation_influence=0.0,
                responsibility=score,
                responsible=guilty,
            )
            for passage, similarity, score, guilty in zip(
                scope, similarities, responsibility, responsible, strict=True
            )
        ]
        cause, reason = finding
        guilty_first = sorted(scores, key=lambda score: -score.responsibility)
        return Attribution(
            query=query,
            response=response,
            method=self._method,
            responsible=[score.passage for score in guilty_first if score.responsible],
            scores=scores,
            scope_size=len(scores),
            cause=cause,
            reason=reason,
            details={
                **details,
                "not_scored": ["semantic_correlation", "generation_influence"],
                **spent(model.usage),
            },
        )
