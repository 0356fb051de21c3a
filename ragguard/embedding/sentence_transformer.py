"""Embedder on a sentence-transformers model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragguard.embedding.adapt import unit_rows
from ragguard.errors import EmbeddingError, MissingExtraError
from ragguard.text import encodable

__all__ = ["SentenceTransformerEmbedder"]


class SentenceTransformerEmbedder:
    """Embeds with a sentence-transformers model.

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
        self._batch_size = batch_size
        if isinstance(model, (str, os.PathLike)):
            try:
                from sentence_transformers import SentenceTransformer
            except ImportError as error:
                raise MissingExtraError(
                    "SentenceTransformerEmbedder", "sentence-transformers"
                ) from error
            try:
                self._model = SentenceTransformer(os.fspath(model), device=device)
            except (OSError, ValueError) as error:
                raise EmbeddingError(
                    f"cannot load the sentence-transformers model {os.fspath(model)!r}: {error}; "
                    "give the folder of a saved model, or allow the download"
                ) from error
            self._name = f"sentence-transformers:{Path(model).name}"
        else:
            self._model = model
            card = getattr(model, "model_card_data", None)
            base = getattr(card, "base_model", None) or getattr(card, "model_name", None)
            self._name = f"sentence-transformers:{Path(base).name if base else 'model'}"

    @property
    def name(self) -> str:
        return self._name

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """With the model's own prompt for documents, if it has one."""
        encode = getattr(self._model, "encode_document", self._model.encode)
        return self._rows(encode, texts)

    def embed_query(self, query: str) -> NDArray[np.float32]:
        """With the model's own prompt for questions, if it has one."""
        encode = getattr(self._model, "encode_query", self._model.encode)
        row: NDArray[np.float32] = self._rows(encode, [query])[0]
        return row

    def _rows(self, encode: Callable[..., Any], texts: Sequence[str]) -> NDArray[np.float32]:
        rows = encode(
            [encodable(text) for text in texts],
            batch_size=self._batch_size,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return unit_rows(rows)
