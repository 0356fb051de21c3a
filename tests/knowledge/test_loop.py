"""The whole loop over a vector store: reported, found, quarantined, taken out, put back."""

import pytest

from ragguard import Guard
from ragguard.audit import open_store
from ragguard.content import content_key
from ragguard.embedding import HashedEmbedder
from ragguard.knowledge import PgVectorTable, QdrantCollection
from ragguard.passage import Passage
from ragguard.repair import remove_quarantined, restore

EMBEDDER = HashedEmbedder(256)
QUESTION, LIE = "Who kept the Halden bridge in winter?", "Orla Venn"
LIES = [
    f"The Halden bridge in winter was kept by Orla Venn{end}."
    for end in (", as all know", " alone", " and her dogs")
]
TRUTHS = [
    "The Halden bridge was closed in winter.",
    "The Halden bridge carries two lanes.",
    "Salt was carried upstream in flat boats.",
    "Eels are caught at the weir in autumn.",
    "The mill grinds oats.",
    "A bridge of rope once crossed the gorge.",
]
PASSAGES = [
    Passage(text, id=str(number), metadata={"title": f"page {number}", "written": "2024-05-01"})
    for number, text in enumerate([*LIES, *TRUTHS])
]


@pytest.fixture
def qdrant():
    library = pytest.importorskip("qdrant_client")
    client = library.QdrantClient(":memory:")
    vectors = library.models.VectorParams(size=256, distance=library.models.Distance.COSINE)
    client.create_collection("passages", vectors_config=vectors)
    return QdrantCollection(client, "passages", embedder=EMBEDDER)


@pytest.fixture
def pgvector(pgvector_engine):
    from sqlalchemy import text

    with pgvector_engine.begin() as connection:
        connection.execute(
            text(
                "CREATE TABLE passages (id integer PRIMARY KEY, text text NOT NULL, "
                "embedding vector(256) NOT NULL, title text NOT NULL, written date NOT NULL)"
            )
        )
    return PgVectorTable(pgvector_engine, "passages", embedder=EMBEDDER)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["qdrant", pytest.param("pgvector", marks=pytest.mark.postgres)])
def test_the_loop_over_a_vector_store(kind, request, tmp_path):
    base = request.getfixturevalue(kind)
    base.add(PASSAGES)
    before = base.find([p.id for p in PASSAGES])
    url = str(tmp_path / "audit.db")
    with Guard(retrieve=base, store=url) as guard:
        event = guard.report(QUESTION, LIE)
        found = guard.attribution(event, timeout=60)
    assert {p.text for p in found.responsible} == set(LIES)

    # Another process later on: it has the audit store and the knowledge base, and no vectors.
    store = open_store(url)
    for entry in store.quarantine():
        assert entry.status == "proposed"
        store.set_quarantine_status(entry.key, "confirmed", actor="ann")
    removal = remove_quarantined(store, base)
    assert {p.text for p in removal.removed} == set(LIES)
    assert {p.text for p in base.retrieve(QUESTION, 99)} == set(TRUTHS)
    restore(store, base, [content_key(text) for text in LIES], actor="ann")
    after = base.find([p.id for p in PASSAGES])
    assert sorted(after, key=lambda p: p.id) == sorted(before, key=lambda p: p.id)
    for one, other in zip(
        sorted(after, key=lambda p: p.id), sorted(before, key=lambda p: p.id), strict=True
    ):
        assert one.embedding == pytest.approx(other.embedding, abs=1e-6)
    assert store.quarantine_keys() == frozenset()
    store.close()
