"""The guard around any retriever, which is asked for more documents than its caller will get."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Self, cast
from weakref import WeakKeyDictionary

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, RetrieverLike
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, var_child_runnable_config
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field, model_validator
from ragguard import Guard, Verdict
from ragguard.arguments import require_tenant, require_whole
from ragguard.errors import InvalidInputError

from langchain_ragguard.compressor import Tenant, is_given, require_guard
from langchain_ragguard.fetching import choosing, fetching, merged
from langchain_ragguard.passages import as_passages, kept_documents
from langchain_ragguard.stores import KnowledgeBase, StoreEmbedder
from langchain_ragguard.telling import atell, tell

logger = logging.getLogger(__name__)

_POISON_PER_QUESTION = 5  # what the published attacks inject, PoisonedRAG first
_OF_ONE_RUN = ("run_id", "run_name")
_warned: WeakKeyDictionary[Guard, set[type]] = WeakKeyDictionary()


class RAGGuardRetriever(BaseRetriever):
    """Returns the documents of another retriever without the poisoned ones.

    They are the same objects; of one that is kept but unusual (`Verdict.marked`) a copy is returned
    with `"ragguard_marked": True` in its metadata.

    With `k`, the base retriever is asked for `fetch_k` documents, so that the caller still gets `k`
    after some were taken out. How it is asked: a retriever over a vector store through a copy with
    another `search_kwargs["k"]`; one whose `_get_relevant_documents` takes `k`, by passing it; one
    with a field `k`, through a copy; one with retrievers inside, such as `EnsembleRetriever`, by
    asking those, and its reranker to keep as many (`top_n`). Any other returns what it returns, and
    the log says once when that was fewer than `k`. A search by marginal relevance (`mmr`) is asked
    twice, for `k` and for more: which `k` it chooses is not to depend on how many are fetched.

    What a caller configures for `base` (`configurable_fields`, such as a filter for each request)
    reaches it, and so does what else `invoke` is given, such as `filter=`.

    What the guard decided is in the run's metadata, and in a custom event `ragguard.verdict`.

    Attributes:
        base: The retriever whose documents are judged.
        guard: The guard that judges them; `retriever.guard.close()` ends its threads.
        k: How many documents to return, also accepted by `invoke(query, k=...)`; None returns
            every surviving document of what `base` returns by itself.
        fetch_k: How many documents to ask `base` for, at least `k`; None asks for twice `k`, and
            for at least `k + 5`.
        tenant: Whose quarantine and allow-list count, also accepted by `invoke(query, tenant=...)`,
            and by `configurable_fields`; None is the default tenant.
        embedder: What `from_vectorstore` makes; leave it out.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    base: RetrieverLike
    guard: Guard = Field(exclude=True)
    k: int | None = Field(default=None, ge=1)
    fetch_k: int | None = Field(default=None, ge=1)
    tenant: Tenant = None
    embedder: StoreEmbedder | None = Field(default=None, exclude=True, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _check_guard(cls, given: Any) -> Any:
        return require_guard(cls, given)

    @model_validator(mode="before")
    @classmethod
    def _check_base(cls, given: Any) -> Any:
        if not is_given(cls, given, "base", Runnable):
            raise ValueError(
                "base must be a retriever; for a vector store use "
                "RAGGuardRetriever.from_vectorstore(vectorstore, k=...)"
            )
        return given

    @model_validator(mode="after")
    def _check_fetch_k(self) -> Self:
        if self.k is not None and self.fetch_k is not None and self.fetch_k < self.k:
            raise ValueError(
                f"fetch_k={self.fetch_k} is less than k={self.k}; leave it out or raise it"
            )
        return self

    @classmethod
    def from_vectorstore(
        cls,
        vectorstore: VectorStore,
        /,
        *,
        k: int | None = None,
        fetch_k: int | None = None,
        tenant: str | None = None,
        search_type: str = "similarity",
        search_kwargs: dict[str, Any] | None = None,
        **guard_options: Any,
    ) -> Self:
        """Guard a search over `vectorstore`, in the store's own vector space.

        A suspicious set is compared by the vectors that `InMemoryVectorStore`, `FAISS` and
        `Chroma` keep; other stores' documents are then embedded by the store's own model. The
        query is embedded by the search alone. Attributions search the whole store.

        Args:
            vectorstore: The vector store; it must tell its `embeddings`.
            k: How many documents to return; None means `search_kwargs["k"]`, or 4.
            fetch_k: How many to fetch, see the class.
            tenant: Whose search it is, see the class.
            search_type: As in `vectorstore.as_retriever`.
            search_kwargs: As in `vectorstore.as_retriever`, such as `{"filter": ...}`.
            **guard_options: Everything that `Guard` takes, except `embedder`.

        Raises:
            InvalidInputError: `vectorstore` is none, or does not tell its embeddings, `embedder` is
                given, or `tenant` is no name.
        """
        if not isinstance(vectorstore, VectorStore):
            raise InvalidInputError(
                f"from_vectorstore takes a vector store, not a {type(vectorstore).__name__}; for a "
                "retriever pass RAGGuardRetriever(base=retriever, guard=Guard(), k=...)"
            )
        if "embedder" in guard_options:
            raise InvalidInputError(
                "the guard judges in the store's own vector space; leave embedder= out, or pass "
                "RAGGuardRetriever(base=store.as_retriever(), guard=Guard(embedder=...), k=...)"
            )
        if vectorstore.embeddings is None:
            raise InvalidInputError(
                f"{type(vectorstore).__name__} does not tell its embeddings; pass "
                "RAGGuardRetriever(base=store.as_retriever(), guard=Guard(embedder=...), k=...)"
            )
        require_tenant(tenant)
        search = dict(search_kwargs or {})
        k = search.get("k", 4) if k is None else k
        base = vectorstore.as_retriever(search_type=search_type, search_kwargs=search)
        embedder = StoreEmbedder(vectorstore, vectorstore.embeddings)
        guard_options.setdefault("retrieve", KnowledgeBase(vectorstore, search))
        guard = Guard(embedder=embedder, **guard_options)
        return cls(base=base, guard=guard, k=k, fetch_k=fetch_k, tenant=tenant, embedder=embedder)

    def invoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Return the documents that the guard keeps; `kwargs` may have `k` and `tenant`."""
        with _handing_on(config):
            return super().invoke(input, config, **kwargs)

    async def ainvoke(
        self, input: str, config: RunnableConfig | None = None, **kwargs: Any
    ) -> list[Document]:
        """Do what `invoke` does."""
        with _handing_on(config):
            return await super().ainvoke(input, config, **kwargs)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        tenant: str | None = None,
        **options: Any,
    ) -> list[Document]:
        wanted, asked, can_widen = self._asking(query, k)
        config = RunnableConfig(callbacks=run_manager.get_child())
        found = [base.invoke(query, config, **options) for base in asked]
        documents, passages = as_passages(merged(found))
        with self._knowing(documents):
            whose = self.tenant if tenant is None else tenant
            verdict = self.guard.filter(query, passages, k=wanted, tenant=whose)
        tell(verdict, run_manager)
        self._warn_of_few(verdict, wanted, can_widen)
        return kept_documents(documents, passages, verdict)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        tenant: str | None = None,
        **options: Any,
    ) -> list[Document]:
        wanted, asked, can_widen = self._asking(query, k)
        config = RunnableConfig(callbacks=run_manager.get_child())
        found = [await base.ainvoke(query, config, **options) for base in asked]
        documents, passages = as_passages(merged(found))
        with self._knowing(documents):
            whose = self.tenant if tenant is None else tenant
            verdict = await self.guard.afilter(query, passages, k=wanted, tenant=whose)
        await atell(verdict, run_manager)
        self._warn_of_few(verdict, wanted, can_widen)
        return kept_documents(documents, passages, verdict)

    def _knowing(self, documents: list[Document]) -> AbstractContextManager[None]:
        return nullcontext() if self.embedder is None else self.embedder.knowing(documents)

    def _asking(self, query: object, k: int | None) -> tuple[int | None, list[RetrieverLike], bool]:
        """Return how many to keep, what to ask in turn, and whether it can be asked for more."""
        if not isinstance(query, str):
            raise InvalidInputError(
                f"a retriever is asked with a str, not a {type(query).__name__}; in a chain that "
                'hands on a dict, put the question before it: itemgetter("question") | retriever'
            )
        wanted = self.k if k is None else require_whole("k", k)
        if wanted is None:
            return None, [self.base], True
        spare = max(wanted, _POISON_PER_QUESTION)
        count = wanted + spare if self.fetch_k is None else max(self.fetch_k, wanted)
        wide, can_widen = fetching(self.base, count)
        return wanted, [*choosing(self.base, wanted), wide], can_widen

    def _warn_of_few(self, verdict: Verdict, wanted: int | None, can_widen: bool) -> None:
        is_enough = not verdict.dropped or wanted is None or len(verdict.kept) >= wanted
        # Not of this object: one with another tenant is made for each request.
        told = _warned.setdefault(self.guard, set())
        if is_enough or can_widen or type(self.base) in told:
            return
        told.add(type(self.base))
        logger.warning(
            "%s cannot be asked for more documents than it returns by itself, so %d were left "
            "where k is %d; let it fetch more, or guard the retrievers inside it",
            type(self.base).__name__,
            len(verdict.kept),
            wanted,
        )


@contextmanager
def _handing_on(config: RunnableConfig | None) -> Iterator[None]:
    """Let what is called within have the caller's configuration, as in a chain.

    A retriever hands its callbacks on and no more, so that a filter for this request would be lost.
    """
    shared = {name: of for name, of in ensure_config(config).items() if name not in _OF_ONE_RUN}
    token = var_child_runnable_config.set(cast("RunnableConfig", shared))
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)
