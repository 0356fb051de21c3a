"""LlamaIndex's indices and vector stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

import numpy as np

from ragguard.errors import InvalidInputError
from ragguard.knowledge.sources import Adapter, Vectors, as_passage, ask, vectors_of
from ragguard.passage import Passage


class LlamaIndexIndex(Adapter):
    """An index, which makes a retriever for every k and embeds what is put in."""

    def __init__(self, index: Any) -> None:
        self._index = index

    def retrieve(self, query: str, limit: int) -> list[Passage]:
        if limit < 1:
            return []
        found = ask(self._index.as_retriever(similarity_top_k=limit), "retrieve", query)
        return [as_passage(node) for node in found][:limit]

    def _find(self, ids: list[str]) -> list[Passage]:
        vectors = self._index.vector_store
        if vectors.stores_text:
            return _found(vectors, ids)
        nodes = self._index.docstore.get_nodes(ids, raise_error=False)
        return [_NodePassage(node, _vector(vectors, node)) for node in nodes]

    def _delete(self, ids: list[str]) -> None:
        vectors = self._index.vector_store
        if hasattr(vectors, "_faiss_id_to_node_id_map"):
            raise InvalidInputError(
                f"after a removal {type(vectors).__name__} numbers what is added by the size of "
                "the index, which overwrites other passages; pass the FAISS index itself with "
                "texts="
            )
        with _telling(vectors):
            self._index.delete_nodes(ids, delete_from_docstore=True)

    def _add(self, passages: Sequence[Passage], ids: list[str]) -> None:
        nodes = [_node(passage) for passage in passages]
        # First, or what is there would be lost to a model that does not answer.
        if (model := getattr(self._index, "_embed_model", None)) is not None:
            _embed(nodes, Vectors(model))
        self.remove(ids)
        self._index.insert_nodes(nodes)


class LlamaIndexVectorStore(Adapter):
    """A vector store that keeps the texts as well, without an index around it.

    Raises:
        InvalidInputError: The store keeps vectors only.
    """

    def __init__(self, store: Any, embedder: Any) -> None:
        if not store.stores_text:
            raise InvalidInputError(
                f"a {type(store).__name__} keeps vectors only; pass the index that it belongs to"
            )
        self._store = store
        self._vectors = None if embedder is None else Vectors(embedder)

    def _find(self, ids: list[str]) -> list[Passage]:
        return _found(self._store, ids)

    def _delete(self, ids: list[str]) -> None:
        with _telling(self._store):
            self._store.delete_nodes(ids)

    def _add(self, passages: Sequence[Passage], ids: list[str]) -> None:
        nodes = [_node(passage) for passage in passages]
        _embed(nodes, self._vectors)
        self.remove(ids)
        self._store.add(nodes)


class _NodePassage(Passage):
    """A passage that was taken out, with its node: its relations and what it hides from prompts."""

    node: Any

    def __init__(self, node: Any, vector: Sequence[float] | None) -> None:
        row = None if vector is None else np.asarray(vector, dtype=np.float64)
        super().__init__(node.get_content(), id=node.node_id, embedding=row, metadata=node.metadata)
        object.__setattr__(self, "node", node)


def _node(passage: Passage) -> Any:
    if isinstance(passage, _NodePassage):
        node = passage.node.model_copy()
    else:
        # What ragguard writes there is neither to be embedded with the text nor to be read.
        hidden = [name for name in passage.metadata if name.startswith("ragguard_")]
        node = import_module("llama_index.core.schema").TextNode(
            text=passage.text,
            id_=passage.id,
            metadata=dict(passage.metadata),
            excluded_embed_metadata_keys=hidden,
            excluded_llm_metadata_keys=hidden,
        )
    if passage.embedding is not None:
        node.embedding = [float(number) for number in passage.embedding]
    return node


def _embed(nodes: Sequence[Any], vectors: Vectors | None) -> None:
    """Give nodes the vectors that they lack."""
    if not (bare := [node for node in nodes if node.embedding is None]):
        return
    # LlamaIndex embeds a node's metadata together with its text.
    mode = import_module("llama_index.core.schema").MetadataMode.EMBED
    written = [Passage(node.get_content(metadata_mode=mode), id=node.node_id) for node in bare]
    rows = vectors_of(written, vectors, "vector store")
    for node, row in zip(bare, rows, strict=True):
        node.embedding = [float(number) for number in row]


def _found(store: Any, ids: list[str]) -> list[Passage]:
    with _telling(store):
        nodes = store.get_nodes(node_ids=ids)
    wanted = set(ids)
    return [_NodePassage(node, node.embedding) for node in nodes if node.node_id in wanted]


def _vector(store: Any, node: Any) -> Sequence[float] | None:
    if node.embedding is None and callable(getattr(store, "get", None)):
        with suppress(KeyError, NotImplementedError):
            return list(store.get(node.node_id))
    return None if node.embedding is None else list(node.embedding)


@contextmanager
def _telling(store: Any) -> Iterator[None]:
    try:
        yield
    except NotImplementedError as error:
        raise InvalidInputError(
            f"{type(store).__name__} cannot look nodes up by id and delete them; pass an object "
            "with remove(ids) and add(passages)"
        ) from error
