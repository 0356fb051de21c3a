"""One guard, many tenants: each is answered from its own quarantine."""

from __future__ import annotations

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from lighthouse import FACTS, POISON, documents, quarantine, run, texts
from pydantic import ValidationError
from ragguard import Guard
from ragguard.audit import MemoryStore
from ragguard.errors import InvalidInputError

from langchain_ragguard import RAGGuardCompressor, RAGGuardFeedback, RAGGuardRetriever

ASKED = "Which words are these?"  # by which the gate alone would not fire


@pytest.fixture
def guard():
    store = MemoryStore()
    store.of_tenant("acme").add_quarantine(quarantine().quarantine())
    with Guard(store=store) as made:
        yield made


@pytest.fixture
def retriever(guard):
    return RAGGuardRetriever(base=RunnableLambda(lambda _: documents()), guard=guard)


async def test_of_a_call(retriever, ask):
    for tenant, left in (("acme", FACTS), ("bolt", POISON + FACTS), (None, POISON + FACTS)):
        assert texts(await ask(retriever, "invoke", ASKED, tenant=tenant)) == left


def test_of_a_retriever(guard, retriever):
    own = retriever.model_copy(update={"tenant": "acme"})
    assert not set(POISON) & set(texts(own.invoke(ASKED)))
    assert set(POISON) & set(texts(own.invoke(ASKED, tenant="bolt")))


async def test_of_a_request_in_a_chain(retriever, ask):
    shared = retriever.configurable_fields(tenant=ConfigurableField(id="tenant")) | texts
    for tenant, left in (("acme", set()), ("bolt", set(POISON))):
        config = {"configurable": {"tenant": tenant}}
        assert set(await ask(shared, "invoke", ASKED, config)) & set(POISON) == left


def test_of_a_request_over_a_vector_store():
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    store.add_documents(documents())
    made = RAGGuardRetriever.from_vectorstore(store, k=3, tenant="bolt")
    shared = made.configurable_fields(tenant=ConfigurableField(id="tenant"))
    made.guard.store.of_tenant("acme").add_quarantine(quarantine().quarantine())
    kept = shared.invoke(ASKED, {"configurable": {"tenant": "acme"}})
    assert not set(POISON) & set(texts(kept))
    assert made.tenant == "bolt"
    prepared, _ = shared.prepare({"configurable": {"tenant": "acme"}})
    assert prepared.embedder is made.embedder


async def test_of_a_compressor(guard, ask):
    for tenant, left in (("acme", FACTS), (None, POISON + FACTS)):
        compressor = RAGGuardCompressor(guard=guard, tenant=tenant)
        kept = await ask(compressor, "compress_documents", documents(), ASKED)
        assert texts(kept) == left


def test_of_a_complaint(guard, retriever):
    feedback = RAGGuardFeedback(guard)
    event = feedback.report(run(retriever | (lambda found: "In 1790."), feedback), tenant="bolt")
    guard.attribution(event, timeout=60, tenant="bolt")
    assert [one.id for one in guard.store.of_tenant("bolt").events()] == [event]
    assert guard.store.events() == []


def test_a_name_that_is_none(retriever):
    with pytest.raises(InvalidInputError, match="tenant"):
        retriever.invoke(ASKED, tenant="a\nb")


@pytest.mark.parametrize("tenant", ["", " ", "a\nb"])
def test_a_name_that_is_none_is_refused_at_once(guard, tenant):
    with pytest.raises(ValidationError, match="leave it out for the default tenant"):
        RAGGuardRetriever(base=RunnableLambda(lambda _: documents()), guard=guard, tenant=tenant)
    with pytest.raises(ValidationError, match="leave it out for the default tenant"):
        RAGGuardCompressor(guard=guard, tenant=tenant)
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    with pytest.raises(InvalidInputError, match="leave it out for the default tenant"):
        RAGGuardRetriever.from_vectorstore(store, tenant=tenant)
