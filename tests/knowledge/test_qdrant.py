"""What only Qdrant does: ids of two kinds, payloads, clients of two kinds."""

import uuid

import pytest

from ragguard.attribution.search import as_retrieve
from ragguard.embedding import HashedEmbedder
from ragguard.errors import InvalidInputError
from ragguard.knowledge import QdrantCollection
from ragguard.passage import Passage
from ragguard.repair import as_removable

library = pytest.importorskip("qdrant_client")
models = library.models

EMBEDDER = HashedEmbedder(32)
VECTORS = models.VectorParams(size=32, distance=models.Distance.COSINE)
TEXTS = ["The weir stands.", "Salt was carried in flat boats.", "The mill grinds oats."]


@pytest.fixture
def client():
    made = library.QdrantClient(":memory:")
    made.create_collection("passages", vectors_config=VECTORS)
    return made


def points():
    rows = EMBEDDER.embed(TEXTS)
    return [
        models.PointStruct(
            id=number, vector=row.tolist(), payload={"body": text, "nested": {"n": 1}}
        )
        for number, (text, row) in enumerate(zip(TEXTS, rows, strict=True))
    ]


def test_numbers_and_uuids_are_ids(client):
    client.upsert("passages", points())
    base = QdrantCollection(client, "passages", text="body", embedder=EMBEDDER)
    (best,) = base.retrieve(TEXTS[1], 1)
    assert (best.id, best.text, best.metadata) == ("1", TEXTS[1], {"nested": {"n": 1}})
    assert best.score == pytest.approx(1.0, abs=1e-5)
    (taken,) = base.remove(["1", "no id of Qdrant's", "1", str(2**64)])
    assert taken == Passage(TEXTS[1], id="1", metadata={"nested": {"n": 1}})
    assert {p.id for p in base.retrieve(TEXTS[1], 9)} == {"0", "2"}
    name = str(uuid.uuid4())
    base.add([taken, Passage("The eels left.", id=name)])
    assert {p.id for p in base.retrieve(TEXTS[1], 9)} == {"0", "1", "2", name}
    assert base.remove([name.upper()])[0].id == name
    with pytest.raises(InvalidInputError, match=r"numbers and UUIDs.*'doc-7'"):
        base.add([Passage("a", id="doc-7")])


def test_a_point_without_a_text_and_one_whose_text_is_a_number(client):
    row = EMBEDDER.embed(["x"])[0].tolist()
    client.upsert(
        "passages",
        [
            models.PointStruct(id=1, vector=row, payload=None),
            models.PointStruct(id=2, vector=row, payload={"text": 7}),
        ],
    )
    base = QdrantCollection(client, "passages", embedder=EMBEDDER)
    assert {p.id: p.text for p in base.retrieve("x", 5)} == {"1": "", "2": "7"}


def test_without_an_embedder_only_what_has_its_vector_goes_in(client):
    client.upsert("passages", points())
    base = QdrantCollection(client, "passages", text="body")
    taken = base.remove(["0"])
    base.add(taken)
    assert base.remove(["0"]) == taken
    with pytest.raises(InvalidInputError, match=r"'5' has no embedding; pass embedder="):
        base.add([Passage("a", id="5")])
    with pytest.raises(InvalidInputError, match="pass embedder="):
        base.retrieve("a", 3)


@pytest.mark.parametrize("limit", [0, -1])
def test_nothing_is_asked_for(client, limit):
    assert QdrantCollection(client, "passages", embedder=EMBEDDER).retrieve("a", limit) == []


def test_collections_that_could_not_be_put_back(client):
    client.create_collection("two", vectors_config={"a": VECTORS, "b": VECTORS})
    client.create_collection(
        "sparse",
        vectors_config={"a": VECTORS},
        sparse_vectors_config={"words": models.SparseVectorParams()},
    )
    for name in ("two", "sparse"):
        with pytest.raises(InvalidInputError, match="several vectors, or sparse"):
            QdrantCollection(client, name)
    with pytest.raises(InvalidInputError, match="no collection 'nowhere'"):
        QdrantCollection(client, "nowhere")
    with pytest.raises(InvalidInputError, match="must be a QdrantClient, not list"):
        QdrantCollection([], "passages")


def test_a_client_is_no_knowledge_base(client):
    for adapt in (as_retrieve, as_removable):
        with pytest.raises(InvalidInputError, match=r"QdrantCollection\(client, name"):
            adapt(client)


def test_an_asynchronous_client():
    import asyncio

    async def made():
        client = library.AsyncQdrantClient(":memory:")
        await client.create_collection("passages", vectors_config=VECTORS)
        await client.upsert("passages", points())
        return client

    base = QdrantCollection(asyncio.run(made()), "passages", text="body", embedder=EMBEDDER)
    retrieve = as_retrieve(base)
    assert retrieve(TEXTS[2], 1)[0].text == TEXTS[2]
    taken = base.remove(["2"])
    assert [p.text for p in taken] == [TEXTS[2]]
    assert {p.id for p in retrieve(TEXTS[2], 9)} == {"0", "1"}
    base.add(taken)
    assert retrieve(TEXTS[2], 1)[0].text == TEXTS[2]

    async def from_a_loop():
        return await asyncio.to_thread(retrieve, TEXTS[2], 3)

    assert asyncio.run(from_a_loop()) == retrieve(TEXTS[2], 3)


def test_the_wrong_key_of_the_texts_is_named(client):
    client.upsert("passages", points())
    base = QdrantCollection(client, "passages", embedder=EMBEDDER)
    with pytest.raises(InvalidInputError, match=r"pass text= with the key .* of: body, nested"):
        base.retrieve("the weir", 3)
