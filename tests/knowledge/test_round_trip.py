"""Knowledge bases of the real libraries: searched past one answer, emptied, filled and restored."""

import json
import random
import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ragguard.attribution.ragorigin.scope import Ranking
from ragguard.attribution.search import as_retrieve
from ragguard.audit import MemoryStore, QuarantineEntry
from ragguard.content import content_key
from ragguard.embedding import HashedEmbedder
from ragguard.knowledge import PgVectorTable, QdrantCollection
from ragguard.passage import Passage
from ragguard.repair import Enhancer, as_removable, remove_quarantined, restore
from tests.frameworks import chroma_client, llama_index_embedding

QUERY = "the Halden bridge in winter"
HASHED = HashedEmbedder(64)
WORDS = "bridge winter salt eel weir mill oats river ferry rope gorge post ice barge lane".split()


def text_of(number):
    return "The Halden " + " ".join(random.Random(number).choices(WORDS, k=6)) + "."


# More than any library answers by default, and the last two have the same text.
TEXTS = [*(text_of(number) for number in range(30)), "The weir stands.", "The weir stands."]
NAMES = [str(uuid.UUID(int=1000 + number)) for number in range(len(TEXTS))]
METADATA = [{"title": f"page {number}", "row": number} for number in range(len(TEXTS))]
PASSAGES = [
    Passage(text, id=name, metadata=metadata)
    for text, name, metadata in zip(TEXTS, NAMES, METADATA, strict=True)
]


def rows_of(texts):
    """Vectors whose length differs, as those of many models do."""
    return HASHED.embed(list(texts)) * np.array([[1.0 + len(text) % 3] for text in texts])


class Stretched:
    """What fills the knowledge bases; queries are not embedded as texts are."""

    def embed_documents(self, texts):
        return rows_of(texts).astype(np.float32).tolist()

    def embed_query(self, text):
        return (3.0 * HASHED.embed([text])[0]).tolist()


EMBEDDER = Stretched()


@dataclass
class Base:
    """A knowledge base: what a user holds, how it is passed on, and how to look inside."""

    retrieve: Any
    removable: Any
    vector: Any  # of a passage, by id; asked of the library itself


def langchain_embeddings():
    core = pytest.importorskip("langchain_core.embeddings")
    return type("Embeddings", (Stretched, core.Embeddings), {})()


def fill_langchain(store, passages):
    if passages:
        store.add_texts(
            [p.text for p in passages],
            metadatas=[dict(p.metadata) for p in passages],
            ids=[p.id for p in passages],
        )
    return store


def langchain_in_memory(passages, request):
    stores = pytest.importorskip("langchain_core.vectorstores")
    store = fill_langchain(stores.InMemoryVectorStore(langchain_embeddings()), passages)
    return Base(as_retrieve(store), as_removable(store), lambda name: store.store[name]["vector"])


def langchain_faiss(passages, request):
    library = pytest.importorskip("faiss")
    community = pytest.importorskip("langchain_community.vectorstores")
    from langchain_community.docstore.in_memory import InMemoryDocstore

    index = library.IndexFlatL2(64)
    store = community.FAISS(langchain_embeddings(), index, InMemoryDocstore(), {})
    fill_langchain(store, passages)

    def vector(name):
        (place,) = (p for p, held in store.index_to_docstore_id.items() if held == name)
        return store.index.reconstruct(place)

    return Base(as_retrieve(store), as_removable(store), vector)


def langchain_chroma(passages, request):
    library = pytest.importorskip("langchain_chroma")
    store = library.Chroma("passages", langchain_embeddings(), client=chroma_client())
    fill_langchain(store, passages)

    def vector(name):
        return store.get([name], include=["embeddings"])["embeddings"][0]

    return Base(as_retrieve(store), as_removable(store), vector)


def langchain_qdrant(passages, request):
    library = pytest.importorskip("langchain_qdrant")
    client = qdrant_client("euclid")
    distance = library.qdrant.models.Distance.EUCLID
    store = library.QdrantVectorStore(client, "passages", langchain_embeddings(), distance=distance)
    fill_langchain(store, passages)
    return Base(as_retrieve(store), as_removable(store), qdrant_vector(client))


def langchain_pgvector(passages, request):
    library = pytest.importorskip("langchain_postgres")
    engine = request.getfixturevalue("pgvector_engine")
    store = library.PGVector(
        langchain_embeddings(), connection=engine, collection_name="passages", use_jsonb=True
    )
    fill_langchain(store, passages)

    def vector(name):
        from sqlalchemy import text

        with engine.begin() as connection:
            found = connection.execute(
                text("SELECT embedding::text FROM langchain_pg_embedding WHERE id = :id"),
                {"id": name},
            ).scalar_one()
        return json.loads(found)

    return Base(as_retrieve(store), as_removable(store), vector)


def llama_index_over(passages, store=None):
    core = pytest.importorskip("llama_index.core")
    from llama_index.core.schema import TextNode

    context = core.StorageContext.from_defaults(vector_store=store) if store else None
    nodes = [TextNode(text=p.text, id_=p.id, metadata=dict(p.metadata)) for p in passages]
    return core.VectorStoreIndex(
        nodes, storage_context=context, embed_model=llama_index_embedding(EMBEDDER)
    )


def llama_index(passages, request):
    index = llama_index_over(passages)
    vectors = index.vector_store.data.embedding_dict
    return Base(as_retrieve(index), as_removable(index), vectors.__getitem__)


def llama_index_chroma(passages, request):
    stores = pytest.importorskip("llama_index.vector_stores.chroma")
    collection = chroma_client().create_collection("passages", embedding_function=None)
    store = stores.ChromaVectorStore(chroma_collection=collection)
    index = llama_index_over(passages, store)
    return Base(as_retrieve(index), as_removable(index), chroma_vector(collection))


def llama_index_qdrant(passages, request):
    stores = pytest.importorskip("llama_index.vector_stores.qdrant")
    client = qdrant_client("euclid")
    store = stores.QdrantVectorStore("passages", client=client)
    index = llama_index_over(passages, store)
    return Base(as_retrieve(index), as_removable(index), qdrant_vector(client))


def llama_index_bare_store(passages, request):
    base = llama_index_chroma(passages, request)
    store = base.removable._index.vector_store
    base.removable = as_removable(store, embedder=EMBEDDER)
    return base


def chroma_vector(collection):
    return lambda name: collection.get([name], include=["embeddings"])["embeddings"][0]


def chroma(passages, request):
    collection = chroma_client().create_collection("passages", embedding_function=None)
    if passages:
        collection.add(
            ids=[p.id for p in passages],
            documents=[p.text for p in passages],
            metadatas=[dict(p.metadata) for p in passages],
            embeddings=EMBEDDER.embed_documents([p.text for p in passages]),
        )
    return Base(
        as_retrieve(collection, embedder=EMBEDDER),
        as_removable(collection, embedder=EMBEDDER),
        chroma_vector(collection),
    )


def chroma_with_a_function(passages, request):
    pytest.importorskip("chromadb")
    from chromadb.api.types import EmbeddingFunction

    class Function(EmbeddingFunction):
        def __init__(self):
            pass

        def __call__(self, input):
            return EMBEDDER.embed_documents(input)

        @staticmethod
        def name():
            return "stretched"

        def get_config(self):
            return {}

        @staticmethod
        def build_from_config(config):
            return Function()

    collection = chroma_client().create_collection("passages", embedding_function=Function())
    if passages:
        collection.add(
            ids=[p.id for p in passages],
            documents=[p.text for p in passages],
            metadatas=[dict(p.metadata) for p in passages],
        )
    return Base(as_retrieve(collection), as_removable(collection), chroma_vector(collection))


def qdrant_client(distance, name=None, path=":memory:"):
    library = pytest.importorskip("qdrant_client")
    client = library.QdrantClient(path) if path == ":memory:" else library.QdrantClient(path=path)
    one = library.models.VectorParams(size=64, distance=library.models.Distance(distance.title()))
    client.create_collection("passages", vectors_config=one if name is None else {name: one})
    return client


def qdrant_vector(client, vector_name=None):
    def vector(name):
        (point,) = client.retrieve("passages", [name], with_vectors=True)
        return point.vector if vector_name is None else point.vector[vector_name]

    return vector


def qdrant(passages, request, *, client=None, vector_name=None):
    client = client or qdrant_client("dot")
    from qdrant_client.models import PointStruct

    vectors = EMBEDDER.embed_documents([p.text for p in passages]) if passages else []
    points = [
        PointStruct(
            id=p.id,
            vector=vector if vector_name is None else {vector_name: vector},
            payload={"text": p.text, **p.metadata},
        )
        for p, vector in zip(passages, vectors, strict=True)
    ]
    if points:
        client.upsert("passages", points)
    base = QdrantCollection(client, "passages", embedder=EMBEDDER)
    return Base(as_retrieve(base), as_removable(base), qdrant_vector(client, vector_name))


def qdrant_with_a_named_vector(passages, request):
    client = qdrant_client("euclid", "dense")
    return qdrant(passages, request, client=client, vector_name="dense")


def qdrant_in_a_folder(passages, request):
    client = qdrant_client("cosine", path=str(request.getfixturevalue("tmp_path")))
    request.addfinalizer(client.close)
    return qdrant(passages, request, client=client)


def faiss_by_id(passages, request):
    library = pytest.importorskip("faiss")
    index = library.IndexIDMap2(library.IndexFlatL2(64))
    texts = {3 * number: passage for number, passage in enumerate(passages)}
    if passages:
        rows = rows_of([p.text for p in passages]).astype(np.float32)
        index.add_with_ids(rows, np.array(list(texts), dtype=np.int64))

    def vector(name):
        (number,) = (n for n, held in texts.items() if held.id == name)
        return index.reconstruct(number)

    return faiss_base(index, texts, vector)


def faiss_without_reconstruction(passages, request):
    """The older IDMap cannot tell a vector by its id, so the text is embedded again."""
    library = pytest.importorskip("faiss")
    base = faiss_by_id(passages, request)
    inner = library.IndexFlatL2(64)
    index = library.IndexIDMap(inner)
    texts = {3 * number: passage for number, passage in enumerate(passages)}
    if passages:
        rows = rows_of([p.text for p in passages]).astype(np.float32)
        index.add_with_ids(rows, np.array(list(texts), dtype=np.int64))

    def vector(name):
        (number,) = (n for n, held in texts.items() if held.id == name)
        places = library.vector_to_array(index.id_map).tolist()
        return inner.reconstruct(places.index(number))

    base = faiss_base(index, texts, vector)
    base.inner = inner  # the wrapper does not keep it alive
    return base


def faiss_by_position(passages, request):
    library = pytest.importorskip("faiss")
    index = library.IndexFlatIP(64)
    texts = list(passages)
    if passages:
        index.add(rows_of([p.text for p in passages]).astype(np.float32))

    def vector(name):
        return index.reconstruct([held.id for held in texts].index(name))

    return faiss_base(index, texts, vector)


def faiss_base(index, texts, vector):
    return Base(
        as_retrieve(index, texts=texts, embedder=EMBEDDER),
        as_removable(index, texts=texts, embedder=EMBEDDER),
        vector,
    )


def table(engine, passages, kind, key="uuid"):
    from sqlalchemy import text

    with engine.begin() as connection:
        connection.execute(
            text(
                f"CREATE TABLE passages (id {key} PRIMARY KEY, body text NOT NULL, "
                f"embedding {kind}, title text, row integer, extra jsonb)"
            )
        )
        for passage in passages:
            row = EMBEDDER.embed_documents([passage.text])[0]
            literal = "[" + ",".join(map(str, row)) + "]"
            connection.execute(
                text(
                    "INSERT INTO passages VALUES (:id, :body, CAST(:row AS "
                    f"{kind}), :title, :n, NULL)"
                ),
                {
                    "id": passage.id,
                    "body": passage.text,
                    "row": literal if "[]" not in kind else f"{{{literal[1:-1]}}}",
                    "title": passage.metadata["title"],
                    "n": passage.metadata["row"],
                },
            )

    def vector(name):
        with engine.begin() as connection:
            found = connection.execute(
                text("SELECT embedding::text FROM passages WHERE id = :id"), {"id": name}
            ).scalar_one()
        return [float(number) for number in found.strip("[]{}").split(",")]

    return vector


def pgvector(passages, request):
    engine = request.getfixturevalue("pgvector_engine")
    vector = table(engine, passages, "vector(64)")
    base = PgVectorTable(
        engine, "passages", text="body", metadata="extra", embedder=EMBEDDER, distance="l2"
    )
    return Base(as_retrieve(base), as_removable(base), vector)


KINDS = [
    langchain_in_memory,
    langchain_faiss,
    langchain_chroma,
    langchain_qdrant,
    pytest.param(langchain_pgvector, marks=pytest.mark.postgres),
    llama_index,
    llama_index_chroma,
    llama_index_qdrant,
    llama_index_bare_store,
    chroma,
    chroma_with_a_function,
    qdrant,
    qdrant_with_a_named_vector,
    qdrant_in_a_folder,
    faiss_by_id,
    faiss_without_reconstruction,
    faiss_by_position,
    pytest.param(pgvector, marks=pytest.mark.postgres),
]


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def by_name(passages):
    return {p.id: (p.text, dict(p.metadata), pytest.approx(p.score, abs=1e-4)) for p in passages}


def entry(passage):
    return QuarantineEntry(
        content_key(passage.text), passage.id, passage.text, "test", None, "confirmed"
    )


@pytest.mark.slow
def test_everything_is_found_past_one_answer(kind, request):
    base = kind(PASSAGES, request)
    everything = base.retrieve(QUERY, 100)
    assert {p.id: p.text for p in everything} == dict(zip(NAMES, TEXTS, strict=True))
    assert len(everything) == len(PASSAGES)  # both of the two with one text
    assert all(p.metadata["title"] == f"page {NAMES.index(p.id)}" for p in everything)
    assert all(isinstance(p.score, float) for p in everything)
    scores = [p.score for p in everything]
    assert scores in (sorted(scores), sorted(scores, reverse=True))
    few = base.retrieve(QUERY, 7)
    assert [p.score for p in few] == pytest.approx(scores[:7], abs=1e-4)
    assert len(base.retrieve(QUERY, 1)) == 1
    # A ranking reads on page by page, and takes equal texts once.
    ranking = Ranking(base.retrieve, QUERY)
    assert len(ranking.first(3)) == 3
    assert len(ranking.first(100)) == len(set(TEXTS)) == len(TEXTS) - 1


@pytest.mark.slow
def test_an_empty_base(kind, request):
    base = kind([], request)
    assert base.retrieve(QUERY, 5) == []
    assert base.removable.remove([]) == []
    assert base.removable.remove([NAMES[0]]) == []
    base.removable.add([])
    base.removable.add(PASSAGES[:2])
    assert {p.id: p.text for p in base.retrieve(QUERY, 5)} == dict(
        zip(NAMES[:2], TEXTS[:2], strict=True)
    )


@pytest.mark.slow
def test_nothing_asked_for_removes_nothing(kind, request):
    base = kind(PASSAGES, request)
    base.removable.remove([])
    base.removable.add([])
    base.removable.remove([str(uuid.UUID(int=7))])
    assert len(base.retrieve(QUERY, 100)) == len(PASSAGES)


def test_confirmed_passages_go_and_come_back_as_they_were(kind, request):
    base = kind(PASSAGES, request)
    before = base.retrieve(QUERY, 100)
    bad = PASSAGES[4], PASSAGES[17]
    vectors = [np.array(base.vector(p.id), dtype=float) for p in bad]
    store = MemoryStore()
    store.add_quarantine([entry(passage) for passage in bad])

    removal = remove_quarantined(store, base.removable)
    assert {p.id for p in removal.removed} == {p.id for p in bad}
    assert removal.missing == []
    after = base.retrieve(QUERY, 100)
    gone = {p.id for p in bad}
    assert by_name(after) == by_name(p for p in before if p.id not in gone)

    back = restore(
        store, base.removable, [content_key(p.text) for p in bad], removed=removal.removed
    )
    assert {p.id for p in back} == gone
    assert by_name(base.retrieve(QUERY, 100)) == by_name(before)
    for passage, vector in zip(bad, vectors, strict=True):
        np.testing.assert_allclose(np.array(base.vector(passage.id)), vector, rtol=1e-6, atol=1e-6)
    assert store.quarantine_keys() == frozenset()


@pytest.mark.slow
def test_another_text_under_a_quarantined_id_stays(kind, request):
    base = kind(PASSAGES, request)
    before = base.retrieve(QUERY, 100)
    store = MemoryStore()
    store.add_quarantine([entry(Passage("what stood there before", id=NAMES[3]))])
    removal = remove_quarantined(store, base.removable)
    assert removal.removed == []
    assert [missing.passage_id for missing in removal.missing] == [NAMES[3]]
    assert by_name(base.retrieve(QUERY, 100)) == by_name(before)


def test_a_passage_under_a_known_id_replaces_it(kind, request):
    base = kind(PASSAGES, request)
    new = Passage(TEXTS[5] + " No longer.", id=NAMES[5], metadata={"title": "new", "row": 5})
    base.removable.add([new])
    found = {p.id: p for p in base.retrieve(QUERY, 100)}
    assert len(found) == len(PASSAGES)
    assert found[NAMES[5]].text == new.text
    assert found[NAMES[5]].metadata["title"] == "new"


def test_an_enhancement_is_found_for_its_question(kind, request):
    base = kind(PASSAGES, request)
    question = "Who built the ferry at Halden?"
    enhancer = Enhancer(lambda prompt: "Orla Venn built the ferry.", secret="a secret of our own")
    proxy = enhancer.add(base.removable, question, "Orla Venn")
    (found,), rest = enhancer.take_out(base.retrieve(question, 100))
    assert (found.id, found.text) == (proxy.id, "Orla Venn built the ferry.")
    assert len(rest) == len(PASSAGES)


def test_what_is_there_stays_where_no_model_answers_for_what_replaces_it(
    kind, request, monkeypatch
):
    base = kind(PASSAGES, request)
    before = by_name(base.retrieve(QUERY, 100))

    def fails(texts):
        raise ConnectionError("the model does not answer")

    with monkeypatch.context() as patch:
        patch.setitem(globals(), "rows_of", fails)
        with pytest.raises(Exception, match="does not answer"):
            base.removable.add([Passage("Another text.", id=NAMES[5], metadata=METADATA[5])])
    assert by_name(base.retrieve(QUERY, 100)) == before
    base.removable.add([Passage("Another text.", id=NAMES[5], metadata=METADATA[5])])
    assert {p.id: p.text for p in base.retrieve(QUERY, 100)}[NAMES[5]] == "Another text."


def test_an_id_that_no_base_can_have_is_missing_and_stops_nothing(kind, request):
    base = kind(PASSAGES, request)
    odd = [
        "9" * 5000,
        str(2**63),
        str(2**64),
        "-1",
        "\u00b2",
        "a\0b",
        "\ud800",
        "x" * 9000,
        "{",
        "",
    ]
    store = MemoryStore()
    store.add_quarantine(
        [*[entry(Passage(f"text {n}", id=one)) for n, one in enumerate(odd)], entry(PASSAGES[4])]
    )
    removal = remove_quarantined(store, base.removable)
    assert [one.id for one in removal.removed] == [NAMES[4]]
    assert len(removal.missing) == len(odd)
    assert len(base.retrieve(QUERY, 100)) == len(PASSAGES) - 1
