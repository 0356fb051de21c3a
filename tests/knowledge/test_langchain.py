"""LangChain's retrievers of several kinds, asked for more than they answer by themselves."""

import asyncio
import logging

import numpy as np
import pytest

from ragguard.attribution.search import as_retrieve
from ragguard.embedding import HashedEmbedder
from ragguard.errors import InvalidInputError
from ragguard.repair import as_removable
from tests.frameworks import langchain_embeddings

core = pytest.importorskip("langchain_core")

from langchain_core.documents import Document  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore  # noqa: E402

EMBEDDER = HashedEmbedder(64)
HASHED = langchain_embeddings(EMBEDDER)
TEXTS = [f"The Halden bridge in the year {number}." for number in range(60)]
QUERY = "the Halden bridge in winter"


@pytest.fixture
def store():
    made = InMemoryVectorStore(HASHED)
    made.add_texts(TEXTS, metadatas=[{"even": n % 2 == 0} for n in range(60)], ids=TEXTS)
    return made


def found_by(source, limit=100):
    return [p.text for p in as_retrieve(source)(QUERY, limit)]


def test_an_ensemble(store):
    classic = pytest.importorskip("langchain_classic.retrievers")
    community = pytest.importorskip("langchain_community.retrievers")
    words = community.TFIDFRetriever.from_texts(TEXTS, k=3)
    ensemble = classic.EnsembleRetriever(
        retrievers=[store.as_retriever(search_kwargs={"k": 2}), words], weights=[0.5, 0.5]
    )
    assert sorted(found_by(ensemble)) == sorted(TEXTS)
    assert len(found_by(ensemble, 7)) == 7
    assert words.k == 3
    assert ensemble.retrievers[0].search_kwargs == {"k": 2}


def test_a_compression_retriever(store):
    classic = pytest.importorskip("langchain_classic.retrievers")
    from langchain_core.documents import BaseDocumentCompressor

    class EvenOnly(BaseDocumentCompressor):
        def compress_documents(self, documents, query, callbacks=None):
            return [document for document in documents if document.metadata["even"]]

    base = store.as_retriever(search_type="mmr", search_kwargs={"k": 2, "fetch_k": 5})
    retriever = classic.ContextualCompressionRetriever(
        base_compressor=EvenOnly(), base_retriever=base
    )
    assert sorted(found_by(retriever)) == sorted(TEXTS[::2])
    assert (base.search_type, base.search_kwargs) == ("mmr", {"k": 2, "fetch_k": 5})


def test_a_store_of_faiss_with_a_filter():
    faiss = pytest.importorskip("faiss")
    stores = pytest.importorskip("langchain_community.vectorstores")
    from langchain_community.docstore.in_memory import InMemoryDocstore

    store = stores.FAISS(HASHED, faiss.IndexFlatL2(64), InMemoryDocstore(), {})
    store.add_texts(TEXTS, metadatas=[{"even": n % 2 == 0} for n in range(60)])
    retriever = store.as_retriever(search_kwargs={"k": 2, "filter": {"even": True}})
    # By itself the store filters the 20 that it has fetched.
    assert sorted(found_by(retriever)) == sorted(TEXTS[::2])


def test_a_ranking_that_ends_early_is_told_once(caplog):
    class Fixed(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [Document(text) for text in TEXTS[:3]]

    retrieve = as_retrieve(Fixed())
    with caplog.at_level(logging.WARNING, "ragguard"):
        assert len(retrieve(QUERY, 3)) == 3
        assert caplog.text == ""
        for limit in (5, 10):
            assert len(retrieve(QUERY, limit)) == 3
    (record,) = caplog.records
    assert "Fixed answers 3 passages and has no k" in record.getMessage()


def test_a_retriever_that_is_asynchronous_alone():
    class Asynchronous(BaseRetriever):
        k: int = 2

        def _get_relevant_documents(self, query, *, run_manager):
            raise NotImplementedError

        async def _aget_relevant_documents(self, query, *, run_manager):
            await asyncio.sleep(0)
            return [Document(text) for text in TEXTS[: self.k]]

    assert found_by(Asynchronous(), 9) == TEXTS[:9]


def test_a_store_that_is_asynchronous_alone(store):
    class Asynchronous(VectorStore):
        @classmethod
        def from_texts(cls, texts, embedding, metadatas=None, **options):
            raise NotImplementedError

        def similarity_search(self, query, k=4, **options):
            raise NotImplementedError

        def similarity_search_with_score(self, *args, **options):
            raise NotImplementedError

        async def asimilarity_search_with_score(self, *args, **options):
            return await store.asimilarity_search_with_score(*args, **options)

        async def aget_by_ids(self, ids, /):
            return await store.aget_by_ids(ids)

        async def adelete(self, ids=None, **options):
            await store.adelete(ids)

        async def aadd_texts(self, *args, **options):
            return await InMemoryVectorStore.aadd_texts(store, *args, **options)

    made = Asynchronous()
    assert sorted(found_by(made)) == sorted(TEXTS)
    base = as_removable(made)
    taken = base.remove([TEXTS[3]])
    assert [p.text for p in taken] == [TEXTS[3]]
    assert len(found_by(made)) == 59


def test_asynchronous_functions_and_objects():
    async def search(query, limit):
        await asyncio.sleep(0)
        return TEXTS[:limit]

    class Pages:
        async def retrieve(self, query, limit, offset=0):
            return TEXTS[offset : offset + min(limit, 4)]

    class Called:
        async def __call__(self, query, limit):
            return await search(query, limit)

    for source in (search, Pages(), Called()):
        assert found_by(source, 11) == TEXTS[:11]


def test_a_store_that_returns_documents_without_their_ids():
    class Nameless:
        def get_by_ids(self, ids):
            return [Document("a text")]

        def delete(self, ids):
            raise AssertionError("nothing may be deleted under a wrong id")

    with pytest.raises(InvalidInputError, match="without the ids"):
        as_removable(Nameless()).remove(["7"])


def test_the_rank_is_the_stores(store):
    rows = EMBEDDER.embed([QUERY, *TEXTS])
    best = np.sort(rows[1:] @ rows[0])[::-1]
    scores = [p.score for p in as_retrieve(store)(QUERY, 60)]
    assert scores == pytest.approx(best.tolist(), abs=1e-5)
