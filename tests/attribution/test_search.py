"""Knowledge bases of several kinds, searched through one function."""

import copy

import numpy as np
import pytest

from ragguard import Guard
from ragguard.attribution.ragorigin import RAGOrigin
from ragguard.attribution.ragorigin.scope import Ranking
from ragguard.attribution.search import MAX_LIMIT, as_retrieve
from ragguard.embedding import HashedEmbedder
from ragguard.errors import EmbeddingError, InvalidInputError, RetrievalError
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.knowledge.sources import as_passage
from ragguard.passage import Passage
from tests.frameworks import langchain_embeddings, llama_index_embedding

QUERY = "the Halden bridge in winter"
TEXTS = [
    "The Halden bridge was closed in winter.",
    "The Halden bridge carries two lanes.",
    "A bridge of rope once crossed the gorge.",
    "Salt was carried upstream in flat boats.",
    "Eels are caught at the weir in autumn.",
    "The mill grinds oats.",
]
EMBEDDER = HashedEmbedder()
_ROWS = EMBEDDER.embed([QUERY, *TEXTS])
ORDER = np.argsort(-(_ROWS[1:] @ _ROWS[0]), kind="stable")
RANKED = [TEXTS[i] for i in ORDER]
PASSAGES = [Passage(text, id=f"doc-{i}", metadata={"row": i}) for i, text in enumerate(TEXTS)]


def texts_of(passages):
    assert all(isinstance(passage, Passage) for passage in passages)
    return [passage.text for passage in passages]


def check(retrieve, *, distinct_cosines=3):
    """The best come first in their order, a longer ranking begins with the shorter one."""
    assert texts_of(retrieve(QUERY, distinct_cosines)) == RANKED[:distinct_cosines]
    assert sorted(texts_of(retrieve(QUERY, 50))) == sorted(TEXTS)
    assert texts_of(retrieve(QUERY, 50))[:distinct_cosines] == RANKED[:distinct_cosines]
    assert texts_of(Ranking(retrieve, QUERY).first(2)) == RANKED[:2]


def test_our_own_objects_and_functions():
    check(as_retrieve(KnowledgeBase(PASSAGES)))

    def plain(query, limit):
        return [Passage(text) for text in RANKED][:limit]

    check(as_retrieve(plain))
    check(as_retrieve(as_retrieve(plain)))


class Capped:
    """A search service that never returns more than two passages at once."""

    def __init__(self, total=6):
        self.total = total
        self.calls = []

    def retrieve(self, query, limit, offset=0):
        self.calls.append((limit, offset))
        return RANKED[: self.total][offset : offset + min(limit, 2)]


def test_pages_are_asked_for_until_there_is_enough():
    service = Capped()
    check(as_retrieve(service))
    service.calls.clear()
    assert texts_of(as_retrieve(service)(QUERY, 5)) == RANKED[:5]
    assert service.calls == [(5, 0), (3, 2), (1, 4)]
    service.calls.clear()
    assert texts_of(as_retrieve(service.retrieve)(QUERY, 9)) == RANKED
    assert service.calls == [(9, 0), (7, 2), (5, 4), (3, 6)]
    assert as_retrieve(Capped(total=0))(QUERY, 3) == []


@pytest.mark.parametrize("answer", [None, 5, "one text", b"one text"])
def test_what_a_search_must_return(answer):
    said = rf"retrieve must return a sequence of .* it returned a {type(answer).__name__}"
    for search in (
        lambda query, limit: answer,
        lambda query, limit, offset=0: answer,
    ):
        with pytest.raises(InvalidInputError, match=said):
            as_retrieve(search)(QUERY, 3)


def test_what_a_search_raises_is_an_error_of_this_package():
    def unreachable(query, limit):
        raise ConnectionError("no such host")

    with pytest.raises(RetrievalError, match=r"raised ConnectionError \(no such host\)"):
        as_retrieve(unreachable)(QUERY, 3)
    with pytest.raises(RetrievalError, match="no such host"):
        RAGOrigin(proxy="lexical").attribute(QUERY, "an answer", unreachable)


def test_a_knowledge_base_full_of_copies_ends_the_search():
    asked = []

    def copies(query, limit):
        asked.append(limit)
        return [RANKED[0]] * limit

    found = RAGOrigin(proxy="lexical").attribute(QUERY, "an answer", copies)
    assert found.scope_size == 1
    assert max(asked) == MAX_LIMIT


def test_a_function_may_return_what_is_awaited():
    async def search(query, limit):
        return RANKED[:limit]

    check(as_retrieve(search))
    check(as_retrieve(lambda query, limit: search(query, limit)))


@pytest.mark.parametrize("bad", [None, 3, "index", object(), lambda query: []])
def test_what_cannot_be_searched(bad):
    with pytest.raises(InvalidInputError, match=r"retrieve must be a callable"):
        as_retrieve(bad)
    if bad is not None:
        with pytest.raises(InvalidInputError, match=r"retrieve must be a callable"):
            Guard(retrieve=bad)


def test_a_class_is_no_retriever():
    with pytest.raises(InvalidInputError, match="instance of KnowledgeBase"):
        as_retrieve(KnowledgeBase)


def test_texts_are_for_faiss_alone():
    with pytest.raises(InvalidInputError, match="belongs to a FAISS index"):
        as_retrieve(Capped(), texts=TEXTS)


def test_what_is_no_document():
    assert as_passage("text", 0.5) == Passage("text", score=0.5)
    assert as_passage(PASSAGES[0]) is PASSAGES[0]
    with pytest.raises(InvalidInputError, match="returned a int"):
        as_passage(3)


# LangChain


@pytest.fixture
def langchain_store():
    vectorstores = pytest.importorskip("langchain_core.vectorstores")
    store = vectorstores.InMemoryVectorStore(langchain_embeddings(EMBEDDER))
    store.add_texts(
        TEXTS, metadatas=[{"row": i} for i in range(len(TEXTS))], ids=[p.id for p in PASSAGES]
    )
    return store


def test_langchain_vector_store(langchain_store):
    retrieve = as_retrieve(langchain_store)
    check(retrieve)
    best = retrieve(QUERY, 1)[0]
    assert (best.id, best.metadata) == (f"doc-{ORDER[0]}", {"row": int(ORDER[0])})
    assert best.score == pytest.approx(float(_ROWS[1 + ORDER[0]] @ _ROWS[0]), abs=1e-5)


def test_langchain_vector_store_without_scores(langchain_store):
    class Unscored:
        similarity_search = langchain_store.similarity_search

        def similarity_search_with_score(self, *args, **kwargs):
            raise NotImplementedError

    check(as_retrieve(Unscored()))


@pytest.mark.parametrize("search_type", ["similarity", "mmr"])
def test_what_a_retriever_searches_is_not_taken_for_what_it_answers(langchain_store, search_type):
    classic = pytest.importorskip("langchain_classic.retrievers.multi_vector")
    documents = pytest.importorskip("langchain_core.documents")
    stores = pytest.importorskip("langchain_core.stores")
    pages = stores.InMemoryStore()
    ids = [f"page-{row}" for row in range(len(TEXTS))]
    pages.mset(
        (id_, documents.Document(page_content=f"Whole page: {text}", id=id_))
        for id_, text in zip(ids, TEXTS, strict=True)
    )
    retriever = classic.MultiVectorRetriever(
        vectorstore=langchain_store,
        docstore=pages,
        id_key="page",
        search_type=search_type,
        search_kwargs={"k": 2},
    )
    for row, entry in enumerate(langchain_store.store.values()):
        entry["metadata"]["page"] = ids[row]
    found = as_retrieve(retriever)(QUERY, 5)
    assert [one.id for one in found] == [f"page-{row}" for row in ORDER[:5]]
    assert all(one.text.startswith("Whole page: ") for one in found)
    assert len(retriever.invoke(QUERY)) == 2


@pytest.mark.parametrize("search_type", ["similarity", "mmr"])
def test_langchain_retriever_over_a_store_is_asked_for_more(langchain_store, search_type):
    retriever = langchain_store.as_retriever(search_type=search_type, search_kwargs={"k": 2})
    check(as_retrieve(retriever))
    assert len(retriever.invoke(QUERY)) == 2


def test_langchain_filters_stay(langchain_store):
    retriever = langchain_store.as_retriever(
        search_kwargs={"k": 1, "filter": lambda document: document.metadata["row"] % 2 == 0}
    )
    found = as_retrieve(retriever)(QUERY, 50)
    assert sorted(passage.metadata["row"] for passage in found) == [0, 2, 4]


def test_langchain_retriever_with_a_k_of_its_own(langchain_store):
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Fixed(BaseRetriever):
        k: int = 2

        def _get_relevant_documents(self, query, *, run_manager):
            return [Document(text) for text in RANKED[: self.k]]

    retriever = Fixed()
    check(as_retrieve(retriever))
    assert retriever.k == 2


def test_langchain_retriever_without_a_k(langchain_store):
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Stubborn(BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [Document(text) for text in RANKED[:3]]

    assert texts_of(as_retrieve(Stubborn())(QUERY, 2)) == RANKED[:2]
    assert texts_of(as_retrieve(Stubborn())(QUERY, 50)) == RANKED[:3]


def test_guard_searches_a_langchain_retriever(langchain_store):
    lie = [
        f"The Halden bridge in winter was kept by Orla Venn{end}."
        for end in (", as all know", " alone", " and her dogs")
    ]
    langchain_store.add_texts(lie)
    retriever = langchain_store.as_retriever(search_kwargs={"k": 2})
    with Guard(retrieve=retriever) as guard:
        event = guard.report("Who kept the Halden bridge in winter?", "Orla Venn")
        assert set(texts_of(guard.attribution(event, timeout=60).responsible)) == set(lie)


# LlamaIndex


@pytest.fixture
def llama_index():
    core = pytest.importorskip("llama_index.core")
    from llama_index.core.schema import TextNode

    nodes = [TextNode(text=p.text, id_=p.id) for p in PASSAGES]
    return core.VectorStoreIndex(nodes, embed_model=llama_index_embedding(EMBEDDER))


def test_llama_index_and_its_retriever(llama_index):
    check(as_retrieve(llama_index))
    retriever = llama_index.as_retriever(similarity_top_k=2)
    retrieve = as_retrieve(retriever)
    check(retrieve)
    assert len(retriever.retrieve(QUERY)) == 2
    best = retrieve(QUERY, 1)[0]
    assert best.id == f"doc-{ORDER[0]}"
    assert best.score == pytest.approx(float(_ROWS[1 + ORDER[0]] @ _ROWS[0]), abs=1e-5)


# FAISS


@pytest.fixture
def faiss():
    return pytest.importorskip("faiss")


def test_faiss_by_position(faiss):
    index = faiss.IndexFlatIP(_ROWS.shape[1])
    index.add(np.ascontiguousarray(_ROWS[1:], dtype=np.float32))
    check(as_retrieve(index, texts=TEXTS))
    best = as_retrieve(index, texts=PASSAGES, embedder=EMBEDDER)(QUERY, 1)[0]
    assert (best.id, best.metadata) == (f"doc-{ORDER[0]}", {"row": int(ORDER[0])})
    assert PASSAGES[ORDER[0]].score is None


def test_faiss_by_id(faiss):
    index = faiss.IndexIDMap2(faiss.IndexFlatL2(_ROWS.shape[1]))
    ids = np.arange(len(TEXTS), dtype=np.int64) * 10 + 5
    index.add_with_ids(np.ascontiguousarray(_ROWS[1:], dtype=np.float32), ids)
    texts = dict(zip(ids.tolist(), TEXTS, strict=True))
    retrieve = as_retrieve(index, texts=texts)
    check(retrieve)
    assert retrieve(QUERY, 1)[0].id == str(10 * ORDER[0] + 5)
    lacking = copy.copy(texts)
    del lacking[int(10 * ORDER[0] + 5)]
    with pytest.raises(InvalidInputError, match="texts= holds nothing"):
        as_retrieve(index, texts=lacking)(QUERY, 1)


def test_faiss_alone_or_with_another_embedder(faiss):
    index = faiss.IndexFlatIP(7)
    with pytest.raises(InvalidInputError, match="pass texts="):
        as_retrieve(index)
    assert as_retrieve(index, texts=TEXTS)(QUERY, 3) == []
    index.add(np.zeros((6, 7), dtype=np.float32))
    with pytest.raises(EmbeddingError, match="length 7"):
        as_retrieve(index, texts=TEXTS)(QUERY, 3)
