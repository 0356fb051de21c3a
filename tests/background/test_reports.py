"""Reports without a guard: what is searched, by whom, and when it is made."""

import logging

import pytest

from ragguard.audit import Event, MemoryStore, QuarantineWatch, open_store
from ragguard.background.reports import Reports
from ragguard.content import content_key
from ragguard.embedding import HashedEmbedder
from ragguard.errors import AttributionPendingError, AttributionTimeoutError
from ragguard.passage import Passage
from ragguard.recent import RecentPassages

QUESTION = "Who built the pier of Halden?"
PLANTED = [f"{QUESTION} It was the Crown Estate, as {who} says." for who in ("A", "B", "C")]
BENIGN = [f"The {word} of Halden lies by the river." for word in "mill port inn lock farm".split()]
WAIT = 60.0


class Counting(HashedEmbedder):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def embed(self, texts):
        self.calls += 1
        return super().embed(texts)


@pytest.fixture
def parts():
    store = MemoryStore()
    seen, embedder = RecentPassages(), Counting()
    quarantine = QuarantineWatch(store)
    reports = Reports(
        store, seen=seen, quarantine=quarantine, embedder=embedder, retrieve=None, attributor=None
    )
    yield reports, store, seen, quarantine, embedder
    reports.close()
    quarantine.close()


def test_ragorigin_takes_the_embedder_and_what_was_seen(parts):
    reports, store, seen, quarantine, embedder = parts
    seen.remember(QUESTION, [Passage(text) for text in (*PLANTED, *BENIGN)])
    assert embedder.calls == 0
    found = reports.attribution(reports.take(QUESTION, "the Crown Estate", None, "alice"), WAIT)
    assert found.method == "ragorigin"
    assert {passage.text for passage in found.responsible} == set(PLANTED)
    assert embedder.calls
    assert quarantine.keys() == store.quarantine_keys() == {content_key(t) for t in PLANTED}


def test_passages_that_cannot_be_read_leave_those_that_were_seen(parts, caplog):
    reports, store, seen, _, _ = parts
    seen.remember(QUESTION, [Passage(BENIGN[0])])
    with caplog.at_level(logging.WARNING, "ragguard"):
        event = reports.take(QUESTION, "the Crown Estate", 5, None)
    assert f"event {event} goes without the reported passages" in caplog.text
    reports.attribution(event, WAIT)
    assert [passage.text for passage in store.event(event).passages] == BENIGN[:1]


def test_once_closed_an_open_event_is_left_to_others(parts):
    reports, store, *_ = parts
    reports.close()
    store.add_event(Event("e", QUESTION, "the Crown Estate"))
    with pytest.raises(AttributionPendingError, match="event e is not attributed yet"):
        reports.attribution("e", None)
    with pytest.raises(AttributionTimeoutError, match=r"not attributed within 0\.1 s"):
        reports.attribution("e", 0.1)
    assert store.attribution("e") is None


def test_what_others_report_without_passages_is_left_to_who_can_search(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'audit.db'}")
    store.add_event(Event("elsewhere", QUESTION, "the Crown Estate"))
    quarantine = QuarantineWatch(store)

    def reports(retrieve):
        return Reports(
            store,
            seen=RecentPassages(),
            quarantine=quarantine,
            embedder=HashedEmbedder(),
            retrieve=retrieve,
            attributor=None,
        )

    blind = reports(None)
    with pytest.raises(AttributionTimeoutError, match="ragguard worker --knowledge-base"):
        blind.attribution("elsewhere", 1.0)
    # Its own reports it answers, with passages or without.
    assert blind.attribution(blind.take(QUESTION, "x", None, None), WAIT).method == "none"
    passages = [Passage(text) for text in (*PLANTED, *BENIGN)]
    found = blind.attribution(blind.take(QUESTION, "the Crown Estate", passages, None), WAIT)
    assert found.cause == "poisoning"
    blind.close()
    assert store.event("elsewhere").status == "pending"
    searching = reports(lambda _, limit: passages[:limit])
    # What is in quarantine by now is left out of the search.
    assert searching.attribution("elsewhere", WAIT).method == "ragorigin"
    searching.close()
    quarantine.close()
    store.close()
