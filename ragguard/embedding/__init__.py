"""Embedders, and what turns the embedders of other libraries into ours."""

from ragguard.embedding.adapt import Embedder, QueryEmbedder, as_embedder
from ragguard.embedding.cache import CachedEmbedder
from ragguard.embedding.hashed import HashedEmbedder
from ragguard.embedding.onnx import OnnxEmbedder
from ragguard.embedding.sentence_transformer import SentenceTransformerEmbedder

__all__ = [
    "CachedEmbedder",
    "Embedder",
    "HashedEmbedder",
    "OnnxEmbedder",
    "QueryEmbedder",
    "SentenceTransformerEmbedder",
    "as_embedder",
]
