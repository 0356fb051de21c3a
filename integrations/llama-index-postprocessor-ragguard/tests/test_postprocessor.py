from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lighthouse import (
    FACTS,
    POISON,
    QUERY,
    WordEmbedding,
    ask_for_vectors,
    count_words,
    nodes,
    quarantine,
    texts,
)
from llama_index.core import Document, Response, VectorStoreIndex
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import (
    ImageNode,
    IndexNode,
    MetadataMode,
    NodeWithScore,
    QueryBundle,
    TextNode,
)
from pydantic import Field, ValidationError
from ragguard import Guard
from ragguard.errors import InvalidInputError, RagguardError

from llama_index.postprocessor import ragguard as package
from llama_index.postprocessor.ragguard import RAGGuardPostprocessor


class BrokenEmbedding(WordEmbedding):
    def _get_text_embedding(self, text: str) -> list[float]:
        raise ConnectionError("the embedding service is down")


@pytest.fixture
def embedding() -> WordEmbedding:
    return WordEmbedding()


@pytest.fixture
def postprocessor(embedding: WordEmbedding) -> RAGGuardPostprocessor:
    return RAGGuardPostprocessor(guard=Guard(embedder=embedding, store=quarantine()))


async def both(
    postprocessor: RAGGuardPostprocessor, found: list[NodeWithScore], query: str = QUERY
) -> list[NodeWithScore]:
    """The answer of the synchronous method, which the asynchronous one must share."""
    kept = postprocessor.postprocess_nodes(found, query_str=query)
    again = await postprocessor.apostprocess_nodes(found, query_str=query)
    assert again == kept
    marked = [_is_marked(node) for node in kept]
    assert [_is_marked(node) for node in again] == marked
    for one, other, copied in zip(kept, again, marked, strict=True):
        assert (one is other) != copied  # what is marked is a copy, all else is what was given
    return kept


def _is_marked(node: NodeWithScore) -> bool:
    return node.node.metadata.get("ragguard_marked") is True


def test_it_is_what_llama_index_asks_for() -> None:
    assert "BaseNodePostprocessor" in [kind.__name__ for kind in RAGGuardPostprocessor.__mro__]
    assert issubclass(RAGGuardPostprocessor, BaseNodePostprocessor)
    assert RAGGuardPostprocessor.class_name() == "RAGGuardPostprocessor"


async def test_nodes_come_back_as_the_same_unmodified_objects(
    postprocessor: RAGGuardPostprocessor,
) -> None:
    found = nodes()
    before = [node.model_copy(deep=True) for node in found]
    kept = await both(postprocessor, found)
    assert [id(node) for node in kept] == [id(node) for node in found[2:]]
    assert found == before


async def test_top_n_is_filled_from_the_survivors(embedding: WordEmbedding) -> None:
    guard = Guard(embedder=embedding, store=quarantine())
    postprocessor = RAGGuardPostprocessor(guard=guard, top_n=3)
    assert texts(await both(postprocessor, nodes())) == FACTS[:3]


async def test_duplicates_and_nodes_without_scores_are_kept_apart(
    postprocessor: RAGGuardPostprocessor,
) -> None:
    same = TextNode(text=FACTS[0], id_="same")
    found = [
        NodeWithScore(node=same, score=0.9),
        NodeWithScore(node=same),
        NodeWithScore(node=TextNode(text=POISON[0], id_="same")),
        NodeWithScore(node=TextNode(text=FACTS[1], id_="same"), score=0.1),
    ]
    kept = await both(postprocessor, found)
    assert [id(node) for node in kept] == [id(found[i]) for i in (0, 1, 3)]
    assert [node.score for node in kept] == [0.9, None, 0.1]


async def test_nodes_may_come_from_a_generator(postprocessor: RAGGuardPostprocessor) -> None:
    found: Any = (node for node in nodes())
    assert texts(postprocessor.postprocess_nodes(found, query_str=QUERY)) == FACTS
    found = (node for node in nodes())
    assert texts(await postprocessor.apostprocess_nodes(found, query_str=QUERY)) == FACTS


async def test_no_nodes_stay_no_nodes(postprocessor: RAGGuardPostprocessor) -> None:
    assert await both(postprocessor, []) == []


async def test_images_without_text_stay_and_captions_are_judged(
    embedding: WordEmbedding,
) -> None:
    image = NodeWithScore(node=ImageNode(image="AAAA", embedding=[1.0, 0.0]))
    bad_caption = NodeWithScore(node=ImageNode(image="AAAA", text=POISON[0], embedding=[1.0, 0.0]))
    caption = NodeWithScore(
        node=ImageNode(
            image="AAAA",
            text=FACTS[2],
            embedding=[1.0, 0.0],
            text_embedding=count_words(FACTS[2]),
        )
    )
    pointer = NodeWithScore(node=IndexNode(text=FACTS[3], index_id="table-3"))
    whole = NodeWithScore(node=Document(text=FACTS[4]))
    found = [image, bad_caption, *nodes()[:2], caption, image, pointer, whole]
    expected = [id(node) for node in (image, caption, image, pointer, whole)]

    guard = Guard(embedder=embedding, store=quarantine())
    kept = await both(RAGGuardPostprocessor(guard=guard), found)
    assert [id(node) for node in kept] == expected

    kept = await both(RAGGuardPostprocessor(guard=guard, top_n=3), found)
    assert [id(node) for node in kept] == expected[:3]

    only_images = [image, image]
    assert await both(RAGGuardPostprocessor(guard=guard), only_images) == only_images


async def test_a_query_is_required(postprocessor: RAGGuardPostprocessor) -> None:
    with pytest.raises(InvalidInputError, match="query_str="):
        postprocessor.postprocess_nodes(nodes())
    with pytest.raises(InvalidInputError, match="query_str="):
        await postprocessor.apostprocess_nodes(nodes())


@pytest.mark.parametrize("options", [{"top_n": 0}, {"guard": "a guard"}])
def test_bad_construction_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RAGGuardPostprocessor(**{"guard": Guard(), **options})


def test_what_is_no_guard_is_told_what_to_use() -> None:
    for options in ({}, {"guard": RAGGuardPostprocessor(guard=Guard())}):
        with pytest.raises(ValidationError, match=r"pass guard=Guard\(\).*\.from_index\("):
            RAGGuardPostprocessor(**options)


def test_a_subclass_may_bring_its_guard() -> None:
    class Mine(RAGGuardPostprocessor):
        guard: Guard = Field(default_factory=Guard, exclude=True)

    assert isinstance(Mine().guard, Guard)
    for wrong in (None, Guard):
        with pytest.raises(ValidationError, match=r"pass guard=Guard\(\)"):
            Mine(guard=wrong)


async def test_monitor_mode_drops_nothing(embedding: WordEmbedding) -> None:
    guard = Guard(embedder=embedding, store=quarantine(), mode="monitor")
    assert texts(await both(RAGGuardPostprocessor(guard=guard), nodes())) == POISON + FACTS
    top = await both(RAGGuardPostprocessor(guard=guard, top_n=3), nodes())
    assert texts(top) == [*POISON, FACTS[0]]


async def test_what_is_unusual_comes_back_as_a_marked_copy(embedding: WordEmbedding) -> None:
    image = NodeWithScore(node=ImageNode(image="AAAA"))
    found = [image, *nodes(embedded=True)]
    found[1].node.metadata["ragguard_marked"] = False  # as whoever plants a text may write
    before = [node.model_copy(deep=True) for node in found]
    guard = Guard(embedder=embedding, store=quarantine(), mode="monitor")
    kept = await both(RAGGuardPostprocessor(guard=guard), found)
    assert [_is_marked(node) for node in kept] == [False, True, True] + [False] * len(FACTS)
    assert [id(node) for node in kept[3:]] == [id(node) for node in found[3:]]
    assert kept[0] is image
    for given, node in zip(found[1:3], kept[1:3], strict=True):
        assert (node.node.node_id, node.score) == (given.node.node_id, given.score)
        assert node.node.embedding == given.node.embedding
        assert type(node.node) is TextNode
        assert node.node.metadata["source"] == given.node.metadata["source"]
        # Neither the model nor a reranker reads the mark.
        for mode in (MetadataMode.LLM, MetadataMode.EMBED):
            assert "ragguard_marked: True" not in node.node.get_content(mode)
            assert given.node.metadata["source"] in node.node.get_content(mode)
    assert found == before


async def test_on_error(embedding: WordEmbedding, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragguard.inline.selection.companions", lambda p, s, found: ~found)
    passing = RAGGuardPostprocessor(
        guard=Guard(embedder=BrokenEmbedding(), on_error="pass"), top_n=3
    )
    assert texts(await both(passing, nodes())) == FACTS[:3]  # words alone flag the poison

    raising = RAGGuardPostprocessor(guard=Guard(embedder=BrokenEmbedding(), on_error="raise"))
    with pytest.raises((RagguardError, ConnectionError)):
        raising.postprocess_nodes(nodes(), query_str=QUERY)
    with pytest.raises((RagguardError, ConnectionError)):
        await raising.apostprocess_nodes(nodes(), query_str=QUERY)


def test_the_nodes_own_embeddings_are_used(embedding: WordEmbedding) -> None:
    guard = Guard(embedder=embedding, on_error="raise")
    kept = RAGGuardPostprocessor(guard=guard).postprocess_nodes(
        nodes(embedded=True), QueryBundle(QUERY, embedding=count_words(QUERY))
    )
    assert texts(kept) == FACTS
    assert embedding.texts == []
    assert embedding.queries == []


@pytest.mark.parametrize("vector", [None, [1.0, 2.0, 3.0]])
def test_embeddings_that_cannot_be_compared_are_left_alone(
    embedding: WordEmbedding, vector: list[float] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_for_vectors(monkeypatch)
    found = nodes(embedded=True)
    found[3].node.embedding = vector
    guard = Guard(embedder=embedding, on_error="raise")
    assert (
        texts(RAGGuardPostprocessor(guard=guard).postprocess_nodes(found, query_str=QUERY)) == FACTS
    )
    assert set(embedding.texts) == {*FACTS, *POISON}


def test_the_namespace_packages_stay_open() -> None:
    root = Path(package.__file__).parents[2]
    assert not (root / "__init__.py").exists()
    assert not (root / "postprocessor" / "__init__.py").exists()
    program = (
        "import sys, llama_index.postprocessor.ragguard\n"
        "print({'torch', 'transformers', 'faiss'} & set(sys.modules))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=root.parent,
    )
    assert answer.stdout.strip() == "set()"


@pytest.mark.parametrize("index", [None, "index", VectorStoreIndex])
def test_what_is_no_index_is_refused(index: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"takes an index.*pass RAGGuardPostprocessor\("):
        RAGGuardPostprocessor.from_index(index)


@pytest.mark.parametrize("response", ["text", None, Response("text", source_nodes=None)])
def test_a_report_needs_the_source_nodes(
    postprocessor: RAGGuardPostprocessor, response: Any
) -> None:
    with pytest.raises(InvalidInputError, match=r"source_nodes.*guard.report\(query, text\)"):
        postprocessor.report(QUERY, response)
    with pytest.raises(InvalidInputError, match="pass NodeWithScore"):
        postprocessor.report(QUERY, Response("text", source_nodes=["text"]))


@pytest.mark.parametrize("found", [["text"], None])
async def test_what_is_no_node_is_refused(postprocessor: RAGGuardPostprocessor, found: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"must be .*NodeWithScore objects"):
        postprocessor.postprocess_nodes(found, query_str=QUERY)
    with pytest.raises(InvalidInputError, match=r"must be .*NodeWithScore objects"):
        await postprocessor.apostprocess_nodes(found, query_str=QUERY)


def test_it_has_a_json_schema_as_other_postprocessors_have() -> None:
    described = RAGGuardPostprocessor.model_json_schema()

    assert {"top_n", "tenant"} < described["properties"].keys()
    assert "guard" not in described["properties"]  # no more than `to_dict` has it
    assert "guard" not in RAGGuardPostprocessor(guard=Guard()).to_dict()
