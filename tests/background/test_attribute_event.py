"""From a flagged event to its attribution, and from there to quarantine."""

from ragguard import Passage
from ragguard.attribution.result import Attribution
from ragguard.audit import Event, MemoryStore
from ragguard.background.attribute_event import attribute_event, quarantine_responsible
from ragguard.content import content_key

A, B, C = (Passage(text, id=text) for text in ("first text", "second text", "third text"))


def attribution(*responsible, reason="because"):
    return Attribution(
        query="q",
        response="r",
        method="fake",
        responsible=list(responsible),
        scores=[],
        scope_size=3,
        cause="poisoning",
        reason=reason,
    )


class Retrieving:
    """Keeps what `retrieve` gives for several limits."""

    def attribute(self, query, response, retrieve):
        self.found = {limit: list(retrieve(query, limit)) for limit in (1, 2, 5)}
        self.asked = (query, response)
        return attribution()


# Attribution


def test_without_a_knowledge_base_the_passages_of_the_event_are_searched():
    attributor = Retrieving()
    attribute_event(MemoryStore(), Event("e", "q", "r", (A, B, C)), attributor, None)
    assert attributor.asked == ("q", "r")
    assert attributor.found == {1: [A], 2: [A, B], 5: [A, B, C]}


def test_with_a_knowledge_base_it_is_searched_instead():
    attributor = Retrieving()
    attribute_event(
        MemoryStore(), Event("e", "q", "r", (A,)), attributor, lambda query, limit: [C, B][:limit]
    )
    assert attributor.found == {1: [C], 2: [C, B], 5: [C, B]}


def test_an_empty_event_is_not_given_to_the_attributor():
    found = attribute_event(MemoryStore(), Event("e", "q", "r"), None, None)
    assert (found.query, found.response, found.cause, found.scope_size) == ("q", "r", "unclear", 0)
    assert found.responsible == found.scores == []
    assert Attribution.from_dict(found.to_dict()) == found


# Quarantine


def test_responsible_passages_are_quarantined_with_the_reason_and_the_event():
    store = MemoryStore()
    event = Event("e", "q", "r", (A, B))
    assert quarantine_responsible(store, event, attribution(A, C)) == 2
    entries = {entry.key: entry for entry in store.quarantine()}
    assert set(entries) == {content_key(A.text), content_key(C.text)}
    entry = entries[content_key(A.text)]
    assert (entry.passage_id, entry.text, entry.reason) == (A.id, A.text, "because")
    assert (entry.event_id, entry.status) == ("e", "quarantined")


def test_quarantining_twice_changes_nothing():
    store = MemoryStore()
    event = Event("e", "q", "r")
    quarantine_responsible(store, event, attribution(A))
    store.set_quarantine_status(content_key(A.text), "released")
    before = store.quarantine()
    assert quarantine_responsible(store, event, attribution(A, reason="again")) == 0
    assert store.quarantine() == before


def test_copies_of_a_text_are_one_entry():
    store = MemoryStore()
    copy = Passage(" FIRST  text", id="other")
    assert quarantine_responsible(store, Event("e", "q", "r"), attribution(A, copy)) == 1


def test_nobody_responsible_asks_nothing_of_the_store():
    assert quarantine_responsible(None, Event("e", "q", "r"), attribution()) == 0
