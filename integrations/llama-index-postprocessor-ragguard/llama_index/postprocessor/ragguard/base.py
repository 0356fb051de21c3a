"""The guard as a node postprocessor of a query engine, chat engine or retriever tool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, Self

import numpy as np
from llama_index.core import Settings, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import Field, field_validator, model_validator
from llama_index.core.indices.base import BaseIndex
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import (
    BaseNode,
    ImageDocument,
    ImageNode,
    MetadataMode,
    NodeWithScore,
    QueryBundle,
)
from pydantic.json_schema import SkipJsonSchema

from ragguard import Guard, Passage, Verdict
from ragguard.arguments import require_tenant
from ragguard.errors import InvalidInputError
from ragguard.telemetry import attributes

MARKED = "ragguard_marked"
"""Metadata key of a node that is kept and unusual; its value is True."""

_dispatcher = get_dispatcher(__name__)


class RAGGuardVerdictEvent(BaseEvent):
    """What the guard decided about retrieved nodes: counts, names and ids, never texts.

    Attributes:
        verdict: By the names of `ragguard.telemetry.attributes`.
        dropped_ids: Of the nodes that were taken out.
    """

    verdict: dict[str, Any]
    dropped_ids: list[str]

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex serialises this class under."""
        return "RAGGuardVerdictEvent"


class Answer(Protocol):
    """What query and chat engines return: text by `str()`, and its sources."""

    source_nodes: list[NodeWithScore]


class RAGGuardPostprocessor(BaseNodePostprocessor):
    """Takes poisoned nodes out of what was retrieved.

    Give the retriever a `similarity_top_k` above `top_n`, and the places of nodes that were taken
    out are filled from the rest. Judged is a node's text without its metadata, so that poison is
    recognised when it is indexed again under another name. Nodes without text (images) are not
    judged and stay. Embeddings that all nodes carry are used instead of embedding them again. What
    the guard decided is an event of the instrumentation, `RAGGuardVerdictEvent`.

    The survivors are the same objects; of a node that is kept but unusual (`Verdict.marked`) a copy
    is returned with `"ragguard_marked": True` in its metadata, which is not shown to the model.

    Attributes:
        guard: The guard that judges every set of nodes; `postprocessor.guard.close()` ends its
            threads.
        top_n: Return at most this many of the surviving nodes; None returns all of them.
        tenant: Whose quarantine and allow-list count; None is the default tenant. For many tenants
            make a postprocessor each on one guard: it costs nothing.
    """

    guard: SkipJsonSchema[Guard] = Field(exclude=True)
    top_n: int | None = Field(default=None, ge=1)
    tenant: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _check_guard(cls, given: Any) -> Any:
        if not isinstance(given, dict) or isinstance(given.get("guard"), Guard):
            return given
        if "guard" in given or cls.model_fields["guard"].is_required():  # a subclass has its own
            raise ValueError(
                "guard must be a Guard; pass guard=Guard(), or the guard of a postprocessor; for "
                "an index use RAGGuardPostprocessor.from_index(index, top_n=...)"
            )
        return given

    @field_validator("tenant")
    @classmethod
    def _check_tenant(cls, tenant: str | None) -> str | None:
        require_tenant(tenant)
        return tenant

    @classmethod
    def from_index(
        cls,
        index: VectorStoreIndex,
        *,
        embed_model: BaseEmbedding | None = None,
        top_n: int | None = None,
        tenant: str | None = None,
        **guard_options: Any,
    ) -> Self:
        """Guard an index in its own vector space; attributions search the whole index.

        Args:
            index: The index that the query engine reads.
            embed_model: The index's embedding model; None takes the one that the index was built
                with, or `Settings.embed_model` where it has none.
            top_n: As the attribute.
            tenant: As the attribute.
            **guard_options: Everything that `Guard` takes, except `embedder`.

        Raises:
            InvalidInputError: `index` is none, `tenant` is no name, or `embedder` is given.
        """
        if not isinstance(index, BaseIndex):
            raise InvalidInputError(
                f"from_index takes an index, not a {type(index).__name__}; over something else "
                "pass RAGGuardPostprocessor(guard=Guard(retrieve=...))"
            )
        require_tenant(tenant)
        if "embedder" in guard_options:
            raise InvalidInputError(
                "the guard judges in the index's own vector space; leave embedder= out, or pass "
                "the index's embedding model as embed_model= if it is not the one it was built with"
            )

        guard_options.setdefault("retrieve", index)
        # Settings last, and only then: they make a model that may not even be installed.
        model = getattr(index, "_embed_model", None) if embed_model is None else embed_model
        guard = Guard(embedder=Settings.embed_model if model is None else model, **guard_options)
        return cls(guard=guard, top_n=top_n, tenant=tenant)

    def __getstate__(self) -> dict[str, Any]:
        # LlamaIndex deletes from the live object what cannot be pickled, and pickles the rest. A
        # postprocessor without its guard would be none.
        live = dict(self.__dict__)
        try:
            state: dict[str, Any] = super().__getstate__()
            return {**state, "__dict__": {**state["__dict__"], "guard": live["guard"]}}
        finally:
            self.__dict__.update(live)

    @classmethod
    def class_name(cls) -> str:
        """Return the name that LlamaIndex serialises this class under."""
        return "RAGGuardPostprocessor"

    def report(self, query: str, response: Answer, *, reporter: str | None = None) -> str:
        """Report a response as wrong and return the id of the event.

        Args:
            query: The question that was asked.
            response: What the query or chat engine returned, its `source_nodes` included; a
                streamed response must have been read to its end.
            reporter: Who complained.

        Raises:
            InvalidInputError: `response` has no source nodes.
        """
        found = getattr(response, "source_nodes", None)
        if not isinstance(found, Sequence):
            raise InvalidInputError(
                "response must be what the query or chat engine returned, with its source_nodes, "
                f"not a {type(response).__name__}; for a text alone call guard.report(query, text)"
            )
        passages = as_passages(found)
        return self.guard.report(
            query, str(response), passages=passages, reporter=reporter, tenant=self.tenant
        )

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        nodes, query, passages = _asked(nodes, query_bundle)
        verdict = self.guard.filter(query, passages, k=self.top_n, tenant=self.tenant)
        return self._surviving(nodes, passages, verdict)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        nodes, query, passages = _asked(nodes, query_bundle)
        verdict = await self.guard.afilter(query, passages, k=self.top_n, tenant=self.tenant)
        return self._surviving(nodes, passages, verdict)

    def _surviving(
        self, nodes: list[NodeWithScore], passages: list[Passage], verdict: Verdict
    ) -> list[NodeWithScore]:
        dropped = [passage.id for passage in verdict.dropped]
        _dispatcher.event(RAGGuardVerdictEvent(verdict=attributes(verdict), dropped_ids=dropped))
        # Node ids may repeat; a guard hands back the very passages that it was given.
        kept = {id(passage) for passage in verdict.kept}
        marked = {id(passage) for passage in verdict.marked}
        of_judged = iter(passages)
        survivors = []
        for node in nodes:
            passage = id(next(of_judged)) if text_of(node).strip() else None
            if passage is None or passage in kept:
                survivors.append(marked_copy(node) if passage in marked else node)
        return survivors[: self.top_n]


def _asked(
    nodes: Sequence[NodeWithScore], query_bundle: QueryBundle | None
) -> tuple[list[NodeWithScore], str, list[Passage]]:
    """Return the nodes, what was asked, and those of the nodes that can be judged."""
    if not isinstance(nodes, Iterable):
        raise InvalidInputError(
            f"nodes must be a list of NodeWithScore objects, not {type(nodes).__name__}; "
            "pass an empty list where nothing is found"
        )
    given = list(nodes)  # or a generator would be read once too often
    if query_bundle is None:
        raise InvalidInputError(
            "the guard judges nodes against a query; pass query_bundle= or query_str= "
            "to postprocess_nodes"
        )
    passages = as_passages([node for node in given if text_of(node).strip()])
    return given, query_bundle.query_str, passages


def text_of(node: NodeWithScore) -> str:
    """Return what is judged of a node: its content without metadata.

    Raises:
        InvalidInputError: It is no node with a score.
    """
    if not isinstance(node, NodeWithScore):
        raise InvalidInputError(
            f"nodes must be NodeWithScore objects, not {type(node).__name__}; "
            "pass NodeWithScore(node=TextNode(text=...))"
        )
    return node.node.get_content(MetadataMode.NONE)


def as_passages(nodes: Sequence[NodeWithScore]) -> list[Passage]:
    """Return one passage a node, in order, with the vectors that can be compared."""
    texts = [text_of(node) for node in nodes]  # or raise where one is no node
    vectors = [_vector(node.node) for node in nodes]
    # Indexes fused into one retriever may embed with different models.
    comparable = len({0 if vector is None else len(vector) for vector in vectors}) == 1
    return [
        Passage(
            text,
            id=node.node.node_id,
            score=node.score,
            embedding=np.asarray(vector, np.float32) if vector and comparable else None,
            metadata=node.node.metadata,
        )
        for text, node, vector in zip(texts, nodes, vectors, strict=True)
    ]


def marked_copy(node: NodeWithScore) -> NodeWithScore:
    """Return a copy with `MARKED` in its metadata, which neither the model nor a reranker reads."""
    inner = node.node
    copy = inner.model_copy(
        update={
            "metadata": {**inner.metadata, MARKED: True},
            "excluded_llm_metadata_keys": [*inner.excluded_llm_metadata_keys, MARKED],
            "excluded_embed_metadata_keys": [*inner.excluded_embed_metadata_keys, MARKED],
        }
    )
    return node.model_copy(update={"node": copy})


def _vector(node: BaseNode) -> list[float] | None:
    # An image's own embedding lies in another space than its caption's.
    if isinstance(node, (ImageNode, ImageDocument)):
        return node.text_embedding
    return node.embedding
