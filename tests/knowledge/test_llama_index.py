"""LlamaIndex: nodes come back whole, and its retrievers answer more than their k."""

import pytest

from ragguard.attribution.search import as_retrieve
from ragguard.embedding import HashedEmbedder
from ragguard.errors import InvalidInputError
from ragguard.passage import Passage
from ragguard.repair import Enhancer, as_removable
from tests.frameworks import llama_index_embedding

core = pytest.importorskip("llama_index.core")

from llama_index.core.schema import (  # noqa: E402
    MetadataMode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)

EMBEDDER = HashedEmbedder(64)
HASHED = llama_index_embedding(EMBEDDER)
TEXTS = [f"The Halden bridge in the year {number}." for number in range(30)]
QUERY = "the Halden bridge in winter"


def nodes():
    return [
        TextNode(
            text=text,
            id_=f"n{number}",
            metadata={"file": "a.txt", "row": number},
            excluded_embed_metadata_keys=["file"],
            excluded_llm_metadata_keys=["row"],
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="doc-1")},
        )
        for number, text in enumerate(TEXTS)
    ]


@pytest.fixture
def index():
    return core.VectorStoreIndex(nodes(), embed_model=HASHED)


def test_a_node_comes_back_whole(index):
    before = index.docstore.get_node("n4").to_dict()
    vector = index.vector_store.get("n4")
    base = as_removable(index)
    taken = base.remove(["n4"])
    assert taken[0].embedding.tolist() == vector
    with pytest.raises(ValueError, match="n4"):
        index.docstore.get_node("n4")
    base.add(taken)
    after = index.docstore.get_node("n4").to_dict()
    assert {**after, "embedding": None} == {**before, "embedding": None}
    assert index.vector_store.get("n4") == vector
    assert len(as_retrieve(index)(QUERY, 100)) == 30


def test_an_enhancement_hides_what_is_not_for_the_model(index):
    enhancer = Enhancer(lambda prompt: "Orla Venn built it.", secret="a secret of our own")
    proxy = enhancer.add(as_removable(index), QUERY, "Orla Venn")
    assert index.vector_store.get(proxy.id) == HASHED._get_text_embedding(QUERY)
    node = index.docstore.get_node(proxy.id)
    assert node.get_content(metadata_mode=MetadataMode.LLM) == QUERY
    best = as_retrieve(index)(QUERY, 1)
    assert [p.text for p in enhancer.take_out(best)[0]] == ["Orla Venn built it."]


def test_indices_of_other_kinds():
    summary = core.SummaryIndex(nodes())
    found = as_retrieve(summary)(QUERY, 7)
    assert [p.id for p in found] == [f"n{number}" for number in range(7)]


def test_a_fusion_of_retrievers(index):
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever

    inner = index.as_retriever(similarity_top_k=2)
    fusion = QueryFusionRetriever(
        [inner], llm=MockLLM(), num_queries=1, similarity_top_k=2, use_async=False
    )
    assert len(as_retrieve(fusion)(QUERY, 25)) == 25
    assert (inner.similarity_top_k, fusion.similarity_top_k) == (2, 2)


def test_a_store_of_vectors_alone(index):
    with pytest.raises(InvalidInputError, match="pass the index"):
        as_removable(index.vector_store)


def test_stores_that_cannot_forget_are_left_alone():
    faiss = pytest.importorskip("faiss")
    stores = pytest.importorskip("llama_index.vector_stores.faiss")
    flat = stores.FaissVectorStore(faiss_index=faiss.IndexFlatL2(64))
    mapped = stores.FaissMapVectorStore(faiss_index=faiss.IndexIDMap2(faiss.IndexFlatL2(64)))
    for store, message in ((flat, "cannot look nodes up"), (mapped, "overwrites other passages")):
        context = core.StorageContext.from_defaults(vector_store=store)
        index = core.VectorStoreIndex(nodes(), storage_context=context, embed_model=HASHED)
        assert len(as_retrieve(index)(QUERY, 25)) == 25
        with pytest.raises(InvalidInputError, match=message):
            as_removable(index).remove([index.docstore.get_node("n4").node_id])
        as_removable(index).add([Passage("The weir stands.", id="new")])
        assert "new" in {p.id for p in as_retrieve(index)("The weir stands.", 3)}


def test_an_index_without_vectors_is_refused_and_not_taken_for_one_with():
    with pytest.raises(InvalidInputError, match="cannot remove passages from a SummaryIndex"):
        as_removable(core.SummaryIndex(nodes()))
