"""Tables in PostgreSQL: of pgvector's types where the server has them, and of plain arrays."""

import numpy as np
import pytest

from ragguard.audit import MemoryStore, QuarantineEntry
from ragguard.content import content_key
from ragguard.embedding import HashedEmbedder
from ragguard.errors import InvalidInputError, StoreError
from ragguard.knowledge import PgVectorTable
from ragguard.passage import Passage
from ragguard.repair import Enhancer, remove_quarantined, restore

pytestmark = pytest.mark.postgres

EMBEDDER = HashedEmbedder(8)
TEXTS = ["The weir stands.", "Salt was carried in flat boats.", "The mill grinds oats."]


def run(engine, statement, **values):
    from sqlalchemy import text

    with engine.begin() as connection:
        found = connection.execute(text(statement), values)
        return list(found) if found.returns_rows else []


def literal(row, brackets="[]"):
    return brackets[0] + ",".join(map(str, row)) + brackets[1]


@pytest.fixture
def arrays(postgres_engine):
    """A table as applications have them: an identity, a generated column, times, arrays, JSON."""
    run(
        postgres_engine,
        "CREATE TABLE passages (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        '"Text" text NOT NULL, embedding double precision[], written timestamptz NOT NULL, '
        "tags text[], meta jsonb NOT NULL DEFAULT '{}', size integer GENERATED ALWAYS AS "
        '(length("Text")) STORED)',
    )
    for text, row in zip(TEXTS, EMBEDDER.embed(TEXTS), strict=True):
        run(
            postgres_engine,
            'INSERT INTO passages ("Text", embedding, written, tags, meta) VALUES (:text, '
            "CAST(:row AS double precision[]), '2024-05-01 12:00:00.123456+02', "
            """ARRAY['a,b', 'c"d', NULL], CAST(:meta AS jsonb))""",
            text=text,
            row=literal(row.astype(float) / 3, "{}"),
            meta='{"title": "T", "pages": [1, 2.5, null]}',
        )
    return postgres_engine


def rows_of(engine):
    return run(engine, "SELECT * FROM passages ORDER BY id")


def test_rows_come_back_as_they_were(arrays):
    base = PgVectorTable(arrays, "passages", text="Text", metadata="meta")
    before = rows_of(arrays)
    taken = base.remove(["2", "7", "no number", "2"])
    assert [(p.id, p.text) for p in taken] == [("2", TEXTS[1])]
    metadata = taken[0].metadata
    assert (metadata["title"], metadata["pages"]) == ("T", [1, 2.5, None])
    assert metadata["written"].startswith("2024-05-01")
    assert "meta" not in metadata
    np.testing.assert_array_equal(taken[0].embedding, before[1][2])
    assert rows_of(arrays) == [before[0], before[2]]
    base.add(taken)
    assert rows_of(arrays) == before
    base.add(taken)  # replaced, not doubled
    assert rows_of(arrays) == before


@pytest.mark.slow
@pytest.mark.parametrize("stored", ["{}", '{"id": 7, "title": "clash"}', "[1, 2]", "7"])
def test_json_that_is_no_plain_object_of_its_own_keys(arrays, stored):
    run(arrays, "UPDATE passages SET meta = CAST(:meta AS jsonb) WHERE id = 1", meta=stored)
    base = PgVectorTable(arrays, "passages", text="Text", metadata="meta")
    before = rows_of(arrays)
    base.add(base.remove(["1"]))
    assert rows_of(arrays) == before


def test_without_a_column_of_metadata_every_column_is_its_own(arrays):
    base = PgVectorTable(arrays, "passages", text="Text")
    before = rows_of(arrays)
    taken = base.remove(["1", "3"])
    assert taken[0].metadata["meta"] == {"title": "T", "pages": [1, 2.5, None]}
    base.add(taken)
    assert rows_of(arrays) == before
    with pytest.raises(InvalidInputError, match=r"no column for the metadata 'colour'"):
        base.add([Passage("a", id="9", embedding=np.ones(8), metadata={"colour": "red"})])


def test_what_the_database_refuses_changes_nothing(arrays):
    base = PgVectorTable(arrays, "passages", text="Text", metadata="meta")
    before = rows_of(arrays)
    bad = Passage("a", id="1", embedding=np.ones(8))  # has no `written`, which must be
    with pytest.raises(StoreError, match=r'"written".*check'):
        base.add([bad])
    assert rows_of(arrays) == before
    with pytest.raises(InvalidInputError, match="has no embedding"):
        base.add([Passage("a", id="1")])
    run(arrays, "DROP TABLE passages")
    with pytest.raises(StoreError, match="passages"):
        base.remove(["1"])


def test_rows_that_share_an_id_stay_and_come_back_together(postgres_engine):
    run(postgres_engine, "CREATE TABLE docs (id text, text text, embedding double precision[])")
    base, lie = PgVectorTable(postgres_engine, "docs", embedder=EMBEDDER), "The weir fell."
    base.add([*(Passage(one, id="page") for one in (*TEXTS, lie)), Passage(lie, id="alone")])
    store, key = MemoryStore(), content_key(lie)
    store.add_quarantine([QuarantineEntry(key, "page", lie, "found", status="confirmed")])
    assert [one.passage_id for one in remove_quarantined(store, base).shared] == ["page"]
    assert sorted(one.text for one in base.find(["page"])) == sorted([*TEXTS, lie])
    restore(store, base, [key])
    base.add(base.remove(["page"]))
    assert sorted(one.text for one in base.find(["page"])) == sorted([*TEXTS, lie])
    assert len(base.find(["alone"])) == 1


def test_arrays_cannot_be_searched(arrays):
    base = PgVectorTable(arrays, "passages", text="Text", embedder=EMBEDDER)
    with pytest.raises(InvalidInputError, match="type vector or halfvec"):
        base.retrieve("a", 1)


def test_what_is_no_table(arrays):
    for name, options, message in (
        ("nowhere", {}, "no table 'nowhere'"),
        ('x" y', {}, "no table"),
        ("passages", {}, "no column 'text'; it has id, Text"),
        ("passages", {"text": "Text", "embedding": "tags"}, "'tags' is text"),
        ("passages", {"text": "Text", "metadata": "tags"}, "json"),
        ("passages", {"text": "Text", "distance": "taxi"}, "cosine, l2, inner_product"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            PgVectorTable(arrays, name, **options)
    for engine in (None, "postgresql://h/d"):
        with pytest.raises(InvalidInputError, match="SQLAlchemy engine"):
            PgVectorTable(engine, "passages")


def test_a_table_by_its_schema(arrays):
    (schema,) = run(arrays, "SELECT current_schema()")[0]
    base = PgVectorTable(arrays, f"{schema}.passages", text="Text")
    assert [p.id for p in base.remove(["3"])] == ["3"]


# with pgvector


@pytest.fixture
def vectors(pgvector_engine):
    run(
        pgvector_engine,
        "CREATE TABLE passages (id text PRIMARY KEY, text text, embedding vector(8), meta jsonb)",
    )
    return pgvector_engine


def fill(engine, count):
    texts = [f"{TEXTS[n % 3]} {n}" for n in range(count)]
    for number, row in enumerate(EMBEDDER.embed(texts)):
        run(
            engine,
            "INSERT INTO passages VALUES (:id, :text, CAST(:row AS vector), '{}')",
            id=f"doc-{number}",
            text=texts[number],
            row=literal(row),
        )
    return texts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("distance", "slow"),
    [
        ("cosine", lambda q, x: 1 - (q @ x) / np.linalg.norm(q) / np.linalg.norm(x)),
        ("l2", lambda q, x: np.linalg.norm(q - x)),
        ("inner_product", lambda q, x: -(q @ x)),
    ],
)
def test_rows_are_ranked_by_distance(vectors, distance, slow):
    texts = fill(vectors, 12)
    base = PgVectorTable(vectors, "passages", metadata="meta", embedder=EMBEDDER, distance=distance)
    query = EMBEDDER.embed(["the mill"])[0].astype(float)
    expected = sorted(slow(query, row) for row in EMBEDDER.embed(texts).astype(float))
    found = base.retrieve("the mill", 12)
    assert [p.score for p in found] == pytest.approx(expected, abs=1e-6)
    assert [p.id for p in base.retrieve("the mill", 5)] == [p.id for p in found[:5]]
    assert {p.id: p.text for p in found} == {f"doc-{n}": text for n, text in enumerate(texts)}
    assert all(p.metadata == {} and p.embedding is None for p in found)
    assert base.retrieve("the mill", 0) == []


@pytest.mark.slow
def test_an_index_does_not_end_the_ranking(vectors):
    fill(vectors, 90)
    run(vectors, "CREATE INDEX ON passages USING hnsw (embedding vector_cosine_ops)")
    run(vectors, "ANALYZE passages")
    from sqlalchemy import event

    @event.listens_for(vectors, "begin")
    def prefer_the_index(connection):  # as the planner does in tables that are not so small
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")

    nearest = "SELECT id FROM passages ORDER BY embedding <=> CAST(:row AS vector) LIMIT 90"
    assert len(run(vectors, nearest, row=literal(EMBEDDER.embed(["the mill"])[0]))) < 90
    base = PgVectorTable(vectors, "passages", metadata="meta", embedder=EMBEDDER)
    assert len(base.retrieve("the mill", 90)) == 90


@pytest.mark.slow
def test_half_precision(vectors):
    run(vectors, "ALTER TABLE passages ALTER embedding TYPE halfvec(8)")
    fill_text = "INSERT INTO passages VALUES ('a', 'The weir.', CAST(:row AS halfvec), NULL)"
    run(vectors, fill_text, row=literal(EMBEDDER.embed(["The weir."])[0]))
    before = run(vectors, "SELECT id, text, embedding::text, meta FROM passages")
    base = PgVectorTable(vectors, "passages", metadata="meta", embedder=EMBEDDER)
    assert [p.text for p in base.retrieve("weir", 3)] == ["The weir."]
    base.add(base.remove(["a"]))
    assert run(vectors, "SELECT id, text, embedding::text, meta FROM passages") == before


@pytest.mark.slow
def test_an_enhancement(vectors):
    fill(vectors, 5)
    base = PgVectorTable(vectors, "passages", metadata="meta", embedder=EMBEDDER)
    enhancer = Enhancer(lambda prompt: "Orla Venn built it.", secret="a secret of our own")
    enhancer.add(base, "Who built the ferry?", "Orla Venn")
    (found,), rest = enhancer.take_out(base.retrieve("Who built the ferry?", 9))
    assert found.text == "Orla Venn built it."
    assert len(rest) == 5


def test_vectors_of_another_length(vectors):
    fill(vectors, 2)
    base = PgVectorTable(vectors, "passages", embedder=HashedEmbedder(9))
    with pytest.raises(StoreError, match=r"expected 8 dimensions, not 9.*length"):
        base.retrieve("a", 1)
