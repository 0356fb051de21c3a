"""One guard, many tenants: each postprocessor drops what its own tenant has in quarantine."""

from __future__ import annotations

import pytest
from lighthouse import POISON, nodes, texts
from lighthouse_guard import quarantine
from llama_index.core import Response
from ragguard import Guard
from ragguard.audit import MemoryStore

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
