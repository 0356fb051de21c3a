"""The guard as a document compressor, for `ContextualCompressionRetriever` and pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from ragguard import Guard
from ragguard.arguments import require_tenant

from langchain_ragguard.passages import as_passages, kept_documents
from langchain_ragguard.telling import atell, tell


def _checked(tenant: str | None) -> str | None:
    require_tenant(tenant)
    return tenant


Tenant = Annotated[str | None, AfterValidator(_checked)]


def is_given(made: type[BaseModel], given: Any, name: str, kind: type) -> bool:
    """Return whether a field is of its type, or left to the default that a subclass may give it."""
    if not isinstance(given, dict) or isinstance(given.get(name), kind):
        return True
    return name not in given and not made.model_fields[name].is_required()


def require_guard(made: type[BaseModel], given: Any) -> Any:
    """Say what to pass, where pydantic would only name the class or the field.

    Raises:
        ValueError: Of what a class is made of, `guard` is none.
    """
    if not is_given(made, given, "guard", Guard):
        raise ValueError("guard must be a Guard; pass guard=Guard(), or the guard of a retriever")
    return given


class RAGGuardCompressor(BaseDocumentCompressor):
    """Takes poisoned documents out of what a retriever returned.

    Put it before a reranker, which would rank well-crafted poison up.

    Attributes:
        guard: The guard that judges every set of documents.
        k: Return at most this many of the surviving documents; None returns all of them.
        tenant: Whose quarantine and allow-list count; None is the default tenant.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    guard: Guard = Field(exclude=True)
    k: int | None = Field(default=None, ge=1)
    tenant: Tenant = None

    @model_validator(mode="before")
    @classmethod
    def _check_guard(cls, given: Any) -> Any:
        return require_guard(cls, given)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return the surviving documents in the same order; what is unusual as a marked copy.

        Raises:
            ragguard.errors.RagguardError: The guard was made with `on_error="raise"` and failed.
        """
        documents, passages = as_passages(documents)
        verdict = self.guard.filter(query, passages, k=self.k, tenant=self.tenant)
        tell(verdict, callbacks)
        return kept_documents(documents, passages, verdict)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Return what `compress_documents` returns, without blocking the event loop."""
        documents, passages = as_passages(documents)
        verdict = await self.guard.afilter(query, passages, k=self.k, tenant=self.tenant)
        await atell(verdict, callbacks)
        return kept_documents(documents, passages, verdict)
