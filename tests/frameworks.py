"""Embedders and clients of the frameworks, as their own tests would make them."""

import pytest

from ragguard.knowledge.sources import Vectors


def langchain_embeddings(embedder):
    base = pytest.importorskip("langchain_core.embeddings").Embeddings

    class Wrapped(base):
        def embed_documents(self, texts):
            return embedder.embed(texts).tolist()

        def embed_query(self, text):
            return self.embed_documents([text])[0]

    return Wrapped()


def llama_index_embedding(embedder):
    base = pytest.importorskip("llama_index.core.embeddings").BaseEmbedding
    vectors = Vectors(embedder)

    class Wrapped(base):
        def _get_text_embedding(self, text):
            return vectors.of_texts([text])[0].tolist()

        def _get_query_embedding(self, query):
            return vectors.of_query(query).tolist()

        async def _aget_query_embedding(self, query):
            return self._get_query_embedding(query)

    return Wrapped()


def chroma_client():
    chromadb = pytest.importorskip("chromadb")
    settings = chromadb.config.Settings(anonymized_telemetry=False, allow_reset=True)
    client = chromadb.EphemeralClient(settings)
    client.reset()
    return client
