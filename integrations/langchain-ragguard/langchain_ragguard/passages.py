"""Documents as passages, and a verdict as the documents that it keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langchain_core.documents import Document
from ragguard import Passage, Verdict
from ragguard.errors import InvalidInputError

MARKED = "ragguard_marked"
"""Metadata key of a document that is kept and unusual; its value is True."""


def as_passage(document: Document) -> Passage:
    """Return the document as a passage.

    Raises:
        InvalidInputError: It is no document.
    """
    if not isinstance(document, Document):
        raise InvalidInputError(
            f"what is retrieved must be Document objects, not {type(document).__name__}; "
            "pass Document(page_content=...)"
        )
    name = document.id or document.metadata.get("_id")  # where langchain-qdrant puts it
    id_ = None if name is None else str(name)
    return Passage(document.page_content, id=id_, metadata=document.metadata)


def as_passages(found: Iterable[Document]) -> tuple[list[Document], list[Passage]]:
    """Return what was retrieved, by a generator too, as a list, and as passages in that order.

    Raises:
        InvalidInputError: It is no list, or not of documents.
    """
    if not isinstance(found, Iterable):
        raise InvalidInputError(
            f"what is retrieved must be a list of Document objects, not {type(found).__name__}; "
            "pass an empty list where nothing is found"
        )
    documents = list(found)
    return documents, [as_passage(document) for document in documents]


def kept_documents(
    documents: Sequence[Document], passages: Sequence[Passage], verdict: Verdict
) -> list[Document]:
    """Return the members of `documents` whose passages, in the same order, the verdict keeps.

    They are the very objects, but for those that the verdict marks: copies with `MARKED` in their
    metadata.
    """
    # Ids may be missing or repeat; a guard hands back the very passages that it was given.
    document_of = {
        id(passage): document for passage, document in zip(passages, documents, strict=True)
    }
    for passage in verdict.marked:
        document = document_of[id(passage)]
        metadata = {**document.metadata, MARKED: True}
        document_of[id(passage)] = document.model_copy(update={"metadata": metadata})
    return [document_of[id(passage)] for passage in verdict.kept]
