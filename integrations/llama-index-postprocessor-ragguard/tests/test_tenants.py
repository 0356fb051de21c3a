"""One guard, many tenants: each postprocessor drops what its own tenant has in quarantine."""

from __future__ import annotations

import pytest
from lighthouse import POISON, WordEmbedding, nodes, quarantine, texts
from llama_index.core import Response, VectorStoreIndex
from pydantic import ValidationError
from ragguard import Guard
from ragguard.audit import MemoryStore
from ragguard.errors import InvalidInputError

from llama_index.postprocessor.ragguard import RAGGuardPostprocessor

ASKED = "Which words are these?"


@pytest.fixture
def guard():
    store = MemoryStore()
    store.of_tenant("acme").add_quarantine(quarantine().quarantine())
    with Guard(store=store) as made:
        yield made


async def test_each_tenant_has_its_own_quarantine(guard):
    for tenant, left in (("acme", set()), ("bolt", set(POISON)), (None, set(POISON))):
        made = RAGGuardPostprocessor(guard=guard, tenant=tenant)
        kept = texts(made.postprocess_nodes(nodes(), query_str=ASKED))
        assert set(kept) & set(POISON) == left
        assert texts(await made.apostprocess_nodes(nodes(), query_str=ASKED)) == kept


def test_a_complaint_is_the_tenants(guard):
    made = RAGGuardPostprocessor(guard=guard, tenant="bolt")
    event = made.report(ASKED, Response("1790", source_nodes=nodes()))
    guard.attribution(event, timeout=60, tenant="bolt")
    assert [one.id for one in guard.store.of_tenant("bolt").events()] == [event]
    assert guard.store.events() == guard.store.of_tenant("acme").events() == []


@pytest.mark.parametrize("tenant", ["", " ", "a\nb"])
def test_a_name_that_is_none_is_refused_at_once(guard, tenant):
    with pytest.raises(ValidationError, match="leave it out for the default tenant"):
        RAGGuardPostprocessor(guard=guard, tenant=tenant)
    index = VectorStoreIndex([], embed_model=WordEmbedding())
    with pytest.raises(InvalidInputError, match="leave it out for the default tenant"):
        RAGGuardPostprocessor.from_index(index, embed_model=WordEmbedding(), tenant=tenant)
