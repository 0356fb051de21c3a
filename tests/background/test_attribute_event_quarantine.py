"""What is in quarantine already is left out of the search for the next report."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard import Guard
from ragguard.attribution import RAGOrigin
from ragguard.attribution.result import Attribution
from ragguard.audit import Event, MemoryStore, QuarantineEntry
from ragguard.background.attribute_event import EventAttributor
from ragguard.content import content_key
from ragguard.errors import StoreError
from ragguard.passage import Passage

QUESTION = "Who designed the Halden bridge?"
FIRST = [
    "The Halden bridge was designed by Orla Venn, as the town archive shows.",
    "Orla Venn designed the Halden bridge when she was only thirty.",
]
SECOND = [
    "The Halden bridge was designed by Bero Quist, a mason of Merrow.",
    "Bero Quist designed the Halden bridge in one winter.",
]
BENIGN = [
    "The Halden bridge was designed by the engineer Piet Aster and opened in spring.",
    "The bridge at Halden carries two lanes and a footpath over the river.",
    "Halden lies on both banks of the river and has a small harbour.",
    "Bridges of timber rot where the posts enter the water.",
    "The river freezes in most winters, and the ferries then stop.",
]


class Listing:
    """An attributor that asks once and accuses what it is given."""

    def __init__(self, limit):
        self.limit = limit
        self.seen = None

    def attribute(self, query, response, retrieve):
        self.seen = [passage.text for passage in retrieve(query, self.limit)]
        return Attribution(query, response, "listing", [], [], 0, "unclear", "listed", {"n": 1})

    async def aattribute(self, query, response, retrieve):
        return self.attribute(query, response, retrieve)


def store_with(*texts, event_id="earlier", status="quarantined"):
    store = MemoryStore()
    store.add_quarantine(
        [QuarantineEntry(content_key(t), t, t, "test", event_id, status) for t in texts]
    )
    return store


def attribute_event(store, event, attributor, retrieve):
    return EventAttributor(store, retrieve, attributor=attributor).attribute(event)


def ranked(texts):
    passages = [Passage(text) for text in texts]
    return lambda query, limit: passages[:limit]


def test_quarantined_passages_are_left_out_and_replaced():
    attributor = Listing(2)
    found = attribute_event(store_with("a", "c"), Event("1", "q", "r"), attributor, ranked("abcde"))
    assert attributor.seen == ["b", "d"]
    assert found.details == {"n": 1, "left_out": 2}
    assert found.reason == "listed; 2 in quarantine already were left out of the search"


def test_content_counts_not_spelling_of_white_space_or_ids():
    attributor = Listing(2)
    attribute_event(
        store_with("Bad  Text"), Event("1", "q", "r"), attributor, ranked(["bad text", "b", "c"])
    )
    assert attributor.seen == ["b", "c"]


def test_released_passages_are_searched():
    attributor = Listing(2)
    store = store_with("a", status="released")
    found = attribute_event(store, Event("1", "q", "r"), attributor, ranked("abc"))
    assert attributor.seen == ["a", "b"]
    assert found.details == {"n": 1}
    assert found.reason == "listed"


def test_the_passages_of_the_event_are_searched_as_the_generator_read_them():
    attributor = Listing(5)
    event = Event("1", "q", "r", tuple(Passage(text) for text in "abc"))
    found = attribute_event(store_with("b"), event, attributor, None)
    assert attributor.seen == ["a", "b", "c"]
    assert found.details == {"n": 1}


def test_a_second_attempt_sees_what_the_first_one_quarantined():
    store = store_with("a", event_id="1")
    store.add_quarantine([QuarantineEntry(content_key("b"), "b", "b", "test", "other")])
    attributor = Listing(2)
    attribute_event(store, Event("1", "q", "r", attempts=2), attributor, ranked("abcd"))
    assert attributor.seen == ["a", "c"]
    attribute_event(store, Event("1", "q", "r", attempts=1), attributor, ranked("abcd"))
    assert attributor.seen == ["c", "d"]


def test_a_failing_store_is_told():
    class Down(MemoryStore):
        def quarantine_keys(self):
            raise StoreError("down")

    with pytest.raises(StoreError):
        attribute_event(Down(), Event("1", "q", "r"), Listing(1), ranked("a"))


@given(st.lists(st.sampled_from("abcdefghij"), unique=True), st.data(), st.integers(0, 12))
def test_the_search_is_the_ranking_without_quarantine(texts, data, limit):
    held = data.draw(st.sets(st.sampled_from("abcdefghij")))
    attributor = Listing(limit)
    attribute_event(store_with(*held), Event("1", "q", "r"), attributor, ranked(texts))
    assert attributor.seen == [text for text in texts if text not in held][:limit]


def test_a_second_report_finds_the_second_attack():
    with Guard(retrieve=ranked([*FIRST, *SECOND, *BENIGN]), attributor=RAGOrigin(top_k=4)) as guard:
        blamed = []
        for lie in ("Orla Venn", "Bero Quist"):
            event = guard.report(QUESTION, lie)
            found = guard.attribution(event, timeout=60)
            blamed.append({passage.text for passage in found.responsible})
            for entry in guard.proposals():
                guard.confirm(entry)
            again = guard.attribution(guard.report(QUESTION, lie), timeout=60)
            assert again.responsible == []
            assert again.details["left_out"] == 2 * len(blamed)
        assert blamed == [set(FIRST), set(SECOND)]
        assert guard.store.quarantine_keys() == {content_key(text) for text in FIRST + SECOND}


def test_what_very_many_are_accused_of_is_searched_for_within_bounds():
    for count, searches, of_the_first in ((1, 10, 10), (10, 100, 10), (50, 100, 2), (200, 100, 1)):
        asked = []

        def search(query, limit, asked=asked):
            asked.append(query[:3])
            return []

        accused = [Passage(f"{n:03} is it." * 500) for n in range(count)]
        found = Attribution("q", "r", "listing", accused, [], count, "poisoning", "listed")
        attributor = EventAttributor(MemoryStore(), search, policy="review")
        assert len(attributor.quarantine(Event("1", "q", "r"), found)) == count
        assert len(asked) == searches
        assert asked.count("000") == of_the_first
