"""What the guard asks of an embedder, and how what a user has becomes one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ragguard.arguments import require_callable
from ragguard.embedding.hashed import HashedEmbedder
from ragguard.errors import EmbeddingError, InvalidInputError, MissingExtraError, RagguardError
from ragguard.text import encodable


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose dot product is their similarity.

    `name` identifies the vector space: calibrations and cached vectors are kept per name.
    """

    @property
    def name(self) -> str:
        """A stable name of the vector space, such as "hashed-ngrams-512"."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 of shape (len(texts), d), rows of length 1 (zero for a blank text)."""


@runtime_checkable
class QueryEmbedder(Embedder, Protocol):
    """An embedder that reads questions otherwise than passages, as asymmetric models do."""

    def embed_query(self, query: str) -> NDArray[np.float32]:
        """Return float32 of shape (d,), of length 1, to be compared with the passages' rows."""


def unit_rows(rows: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Return the rows of a (n, d) array scaled to length 1; zero rows stay zero."""
    single = np.asarray(rows, dtype=np.float32)
    # In float64: the squares of large or small entries would leave the range of float32.
    norms = np.sqrt(np.square(single, dtype=np.float64).sum(axis=-1, keepdims=True))
    # Rows of length 1 up to rounding stay as they are: scaling twice changes nothing.
    norms[(norms == 0.0) | (np.abs(norms - 1.0) < 1e-6)] = 1.0
    scaled: NDArray[np.float32] = (single / norms).astype(np.float32, copy=False)
    return scaled


def answered(name: str, texts: list[str], embed: Callable[[list[str]], Any]) -> NDArray[np.float32]:
    """Return what `embed` answers to texts, checked: float32 of shape (n, d), of any length.

    Raises:
        EmbeddingError: It fails, or its answer has another shape, or is not finite.
    """
    try:
        with np.errstate(over="ignore"):  # what does not fit in float32 is infinite, see below
            rows = np.asarray(embed(texts), dtype=np.float32)
    except RagguardError:
        raise
    except Exception as error:  # whatever a model or a remote service raises
        raise EmbeddingError(
            f"embedder {name!r} failed on {len(texts)} texts, or answered no array: "
            f"{type(error).__name__}: {error}"
        ) from error
    if rows.ndim != 2 or rows.shape[0] != len(texts) or rows.shape[1] == 0:
        raise EmbeddingError(
            f"embedder {name!r} answered an array of shape {rows.shape} to "
            f"{len(texts)} texts; it must return one row a text, shape ({len(texts)}, d)"
        )
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise EmbeddingError(
            f"embedder {name!r} answered NaN or infinity for the text that begins "
            f"{texts[int(finite.argmin())][:60]!r}; check the model, or leave that passage out"
        )
    return rows


def answered_to_one(name: str, query: str, embed: Callable[[str], Any]) -> NDArray[np.float32]:
    """Return what `embed` answers to one question, checked as by `answered`, of shape (d,)."""
    row: NDArray[np.float32] = answered(name, [query], lambda asked: [embed(asked[0])])[0]
    return row


@dataclass(eq=False)
class _FunctionEmbedder:
    """An embedder around any function from a list of texts to rows of numbers."""

    name: str
    _function: Callable[[list[str]], Any]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return unit_rows(answered(self.name, [encodable(text) for text in texts], self._function))


@dataclass(eq=False)
class _AsymmetricEmbedder(_FunctionEmbedder):
    """The same with another function for questions, from one text to one row of numbers."""

    _of_query: Callable[[str], Any]

    def embed_query(self, query: str) -> NDArray[np.float32]:
        return unit_rows(answered_to_one(self.name, encodable(query), self._of_query))


class SentenceTransformerEmbedder(_AsymmetricEmbedder):
    """Embeds with a sentence-transformers model, by its own prompts for documents and questions.

    Args:
        model: A model's name (downloaded by sentence-transformers unless `HF_HUB_OFFLINE` is set),
            the folder of a saved model, or a `SentenceTransformer`.
        batch_size: Texts a forward pass.
        device: Passed to `SentenceTransformer`; None lets it choose.

    Raises:
        MissingExtraError: sentence-transformers is not installed.
        EmbeddingError: The model cannot be loaded.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Any,
        *,
        batch_size: int = 32,
        device: str | None = None,
    ) -> None:
        if isinstance(model, (str, os.PathLike)):
            name: Any = model
            model = _sentence_transformer(os.fspath(model), device)
        else:
            card = getattr(model, "model_card_data", None)
            name = getattr(card, "base_model", None) or getattr(card, "model_name", None) or "model"
        options = {"batch_size": batch_size, "convert_to_numpy": True, "show_progress_bar": False}
        of_texts = getattr(model, "encode_document", model.encode)
        of_query = getattr(model, "encode_query", model.encode)
        named = f"sentence-transformers:{Path(name).name}"
        super().__init__(named, partial(of_texts, **options), partial(of_query, **options))


def _sentence_transformer(model: str, device: str | None) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingExtraError("SentenceTransformerEmbedder", "sentence-transformers") from error
    try:
        return SentenceTransformer(model, device=device)
    except (OSError, ValueError) as error:
        raise EmbeddingError(
            f"cannot load the sentence-transformers model {model!r}: {error}; "
            "give the folder of a saved model, or allow the download"
        ) from error


def as_embedder(embedder: Any) -> Embedder:
    """Return an `Embedder` for whatever the user holds.

    Takes None (the built-in `HashedEmbedder`), an `Embedder`, a LangChain `Embeddings`, a
    LlamaIndex `BaseEmbedding`, an object with `encode` such as a SentenceTransformer, or a callable
    from a list of texts to an (n, d) array. Questions are embedded by its own
    method for them, if it has one.

    Raises:
        InvalidInputError: `embedder` is none of these, or must be awaited.
    """
    if embedder is None:
        return HashedEmbedder()
    if isinstance(embedder, str):  # it has a method `encode`, too
        raise InvalidInputError(
            f"embedder is the string {embedder!r}; to load a model of that name, pass "
            f"ragguard.embedding.SentenceTransformerEmbedder({embedder!r})"
        )
    if isinstance(embedder, type):
        raise InvalidInputError(
            f"embedder is the class {embedder.__name__}; pass an instance: {embedder.__name__}(...)"
        )
    function, of_query = functions_of(embedder)
    if isinstance(embedder, Embedder):
        return embedder
    if of_query is None:
        return _FunctionEmbedder(_name_of(embedder), function)
    return _AsymmetricEmbedder(_name_of(embedder), function, of_query)


def functions_of(embedder: Any) -> tuple[Callable[[list[str]], Any], Callable[[str], Any] | None]:
    """Return how an embedder of any library embeds texts, and a question, if otherwise."""
    methods = {"embed": "embed_query"} if isinstance(embedder, Embedder) else _METHODS
    for of_texts, of_query in methods.items():
        function, other = getattr(embedder, of_texts, None), getattr(embedder, of_query, None)
        if callable(function):
            own = other if callable(other) else None
            named = {f"embedder.{of_texts}": function, f"embedder.{of_query}": own or function}
            require_callable(**named)
            return function, own
    if callable(embedder):
        require_callable(embedder=embedder)
        return embedder, None
    raise InvalidInputError(
        f"embedder is a {type(embedder).__name__}; pass None, an object with `name` and `embed`, "
        "with `encode`, `embed_documents` or `get_text_embedding_batch`, or a callable from texts "
        "to vectors"
    )


# How LangChain, LlamaIndex and sentence-transformers embed a list of texts, and a question.
_METHODS = {
    "embed_documents": "embed_query",
    "get_text_embedding_batch": "get_query_embedding",
    "encode_document": "encode_query",
    "encode": "encode_query",
}


def _name_of(embedder: Any) -> str:
    """Name the vector space by class and model, so that its calibrations are told apart."""
    kind = getattr(embedder, "__qualname__", type(embedder).__name__)
    for attribute in ("model_name", "model", "name"):
        value = getattr(embedder, attribute, None)
        if isinstance(value, str) and value:
            return f"{kind}:{value}"
    return str(kind)
