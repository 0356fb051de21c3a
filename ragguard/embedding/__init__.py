"""Embedders, and what turns the embedders of other libraries into ours."""

from ragguard.embedding.adapt import (
    Embedder,
    QueryEmbedder,
    SentenceTransformerEmbedder,
    as_embedder,
)
from ragguard.embedding.hashed import HashedEmbedder
from ragguard.embedding.onnx import OnnxEmbedder
from ragguard.embedding.vectors import CachedEmbedder

__all__ = [
    "CachedEmbedder",
    "Embedder",
    "HashedEmbedder",
    "OnnxEmbedder",
    "QueryEmbedder",
    "SentenceTransformerEmbedder",
    "as_embedder",
]
