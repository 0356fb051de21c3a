"""Knowledge bases of the real libraries, emptied and filled by the forms of the review page."""

from __future__ import annotations

import pytest

from ragguard.audit import MemoryStore, QuarantineEntry
from ragguard.content import content_key
from tests.knowledge.test_round_trip import KINDS, PASSAGES
from tests.review.browser import browser, press, read

BAD = PASSAGES[3]


def words(client, address):
    return read(client.get(address)).words


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_confirmed_passage_is_taken_out_and_put_back_by_forms(kind, request):
    base = kind(PASSAGES, request).removable
    store, key = MemoryStore(), content_key(BAD.text)
    store.add_quarantine([QuarantineEntry(key, BAD.id, BAD.text, "found", status="confirmed")])
    client = browser(store, base)
    address, others = f"/entry?key={key}", [one.id for one in PASSAGES if one is not BAD]

    assert "This would be removed." in words(client, address)
    assert press(client, address, "remove", why="it lies").status_code == 303
    assert base.find([BAD.id]) == []
    assert {one.id for one in base.find(others)} == set(others)
    assert "ann removed it" in words(client, address)

    assert press(client, address, "restore", why="a mistake").status_code == 303
    (back,) = base.find([BAD.id])
    assert back.text == BAD.text
    assert store.quarantine(keys=[key])[0].status == "released"
    assert [row.action for row in store.trail() if row.action.startswith("knowledge-base.")] == [
        "knowledge-base.removed",
        "knowledge-base.restored",
    ]
