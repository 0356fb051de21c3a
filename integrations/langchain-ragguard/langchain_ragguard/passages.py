"""Documents as passages, and a verdict as the very documents that went in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from langchain_core.documents import Document
from ragguard import Passage, Verdict

__all__ = ["Vector", "as_passage", "kept_documents"]

Vector = Sequence[float]


def as_passage(document: Document, vector: Vector | None = None) -> Passage:
    """Return the document as a passage; `vector` is its own embedding."""
    return Passage(
        document.page_content,
        id=document.id,
        embedding=None if vector is None else np.asarray(vector, dtype=np.float32),
        metadata=document.metadata,
    )


def kept_documents(
    documents: Sequence[Document], passages: Sequence[Passage], verdict: Verdict
) -> list[Document]:
    """Return the members of `documents` whose passages, in the same order, the verdict keeps."""
    # Ids may be missing or repeat; a guard hands back the very passages that it was given.
    document_of = {
        id(passage): document for passage, document in zip(passages, documents, strict=True)
    }
    return [document_of[id(passage)] for passage in verdict.kept]
