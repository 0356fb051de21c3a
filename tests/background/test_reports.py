"""Reports: what is searched, by whom, what of them is kept, and which are one event."""

import logging
import sys
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard import Guard
from ragguard.audit import Event
from ragguard.background.reports import (
    MAX_PASSAGE,
    MAX_PASSAGES,
    MAX_QUERY,
    MAX_REPORTER,
    MAX_RESPONSE,
    MAX_TOGETHER,
    as_event,
)
from ragguard.content import content_key
from ragguard.embedding import HashedEmbedder
from ragguard.errors import AttributionPendingError, AttributionTimeoutError
from ragguard.passage import Passage
from ragguard.recent_passages import MAX_METADATA, light, passages_bytes

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


def test_ragorigin_takes_the_embedder_and_what_was_seen():
    with Guard(embedder=Counting()) as guard:
        parts = guard._parts
        parts.seen.remember(QUESTION, [Passage(text) for text in (*PLANTED, *BENIGN)])
        embedder = parts.settings["embedder"]
        assert embedder.calls == 0
        event = guard.report(QUESTION, "the Crown Estate", reporter="alice")
        found = guard.attribution(event, WAIT)
        assert found.method == "ragorigin"
        assert {passage.text for passage in found.responsible} == set(PLANTED)
        assert embedder.calls
        held = guard.store.quarantine_keys()
        assert parts.quarantine.held().keys == held == {content_key(text) for text in PLANTED}


def test_passages_that_cannot_be_read_leave_those_that_were_seen(caplog):
    with Guard() as guard, caplog.at_level(logging.WARNING, "ragguard"):
        guard._parts.seen.remember(QUESTION, [Passage(BENIGN[0])])
        event = guard.report(QUESTION, "the Crown Estate", passages=5)
        assert f"event {event} goes without the reported passages" in caplog.text
        guard.attribution(event, WAIT)
        assert [passage.text for passage in guard.store.event(event).passages] == BENIGN[:1]


def test_once_closed_an_open_event_is_left_to_others():
    guard = Guard()
    guard.close()
    guard.store.add_event(Event("e", QUESTION, "the Crown Estate"))
    with pytest.raises(AttributionPendingError, match="event e is not attributed yet"):
        guard.attribution("e")
    with pytest.raises(AttributionTimeoutError, match="not attributed yet, and this guard is clos"):
        guard.attribution("e", 0.1)
    assert guard.store.attribution("e") is None


@pytest.mark.slow
def test_what_others_report_without_passages_is_left_to_who_can_search(tmp_path):
    url = f"sqlite:///{tmp_path / 'audit.db'}"
    with Guard(store=url) as blind:
        blind.store.add_event(Event("elsewhere", QUESTION, "the Crown Estate"))
        with pytest.raises(AttributionTimeoutError, match="ragguard worker --knowledge-base"):
            blind.attribution("elsewhere", 1.0)
        # Its own reports it answers, with passages or without.
        assert blind.attribution(blind.report(QUESTION, "x"), WAIT).method == "none"
        passages = [Passage(text) for text in (*PLANTED, *BENIGN)]
        event = blind.report(QUESTION, "the Crown Estate", passages=passages)
        assert blind.attribution(event, WAIT).cause == "poisoning"
        assert blind.store.event("elsewhere").status == "pending"
    with Guard(store=url, retrieve=lambda _, limit: passages[:limit]) as searching:
        # What is in quarantine by now is left out of the search.
        assert searching.attribution("elsewhere", WAIT).method == "ragorigin"


# What of a report is kept, and which reports are one event.

NOON = 1_700_000_000 // 3600 * 3600


def named(
    query="Who?",
    response="Me.",
    texts=("a", "b"),
    reporter=None,
    version=0,
    now=NOON,
):
    passages = [Passage(text) for text in texts]
    with patch("ragguard.background.reports.time", SimpleNamespace(time=lambda: now)):
        return as_event(query, response, passages, reporter, quarantine_version=version).id


def test_each_reporter_has_claims_of_their_own():
    assert len({named(reporter=name) for name in ("ann", "bob", None, "ann")}) == 3


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
def test_a_blank_is_nobodys_name(blank):
    assert named(reporter=blank) == named(reporter=None)
    assert as_event("q", "r", [], blank, quarantine_version=0).reporter is None


def test_the_same_claim_is_one_event_however_it_is_spaced():
    assert named() == named("  who? ", "ME.\n") == named(now=NOON + 3599)


def test_the_same_passages_in_another_order_are_the_same_claim():
    assert named(texts=("b", "a")) == named(texts=("a", "b"))
    assert named(texts=("a", "b", "a")) != named(texts=("a", "b", "b"))
    event = as_event("q", "r", [Passage("b"), Passage("a")], None, quarantine_version=0)
    assert [passage.text for passage in event.passages] == ["b", "a"]  # best first, as reported


@pytest.mark.parametrize(
    "other",
    [
        {"query": "Whom?"},
        {"response": "You."},
        {"texts": ("a",)},
        {"texts": ("a", "c")},
        {"texts": ()},
        {"query": "Who? Me.", "response": ""},
        {"version": 1},
        {"now": NOON + 3600},
    ],
)
def test_another_claim_another_hour_and_another_quarantine_are_another_event(other):
    assert named(**other) != named()


def test_what_fits_is_kept_as_it_is():
    passages = [Passage("text", score=0.5, metadata={"page": 3})] * MAX_PASSAGES
    event = as_event("q" * MAX_QUERY, "r", passages, "ann", quarantine_version=0)
    assert event.cut is None
    assert (event.query, event.response, event.reporter) == ("q" * MAX_QUERY, "r", "ann")
    assert event.passages == tuple(passages)


def test_of_long_texts_both_ends_are_kept_and_the_event_says_so():
    query, response = "who " * 2_000 + "built it?", "It was " + "x" * 1_000_000 + " Bob."
    event = as_event(query, response, [], "a" * 500, quarantine_version=0)
    assert len(event.query) == MAX_QUERY
    assert len(event.response) == MAX_RESPONSE
    assert len(event.reporter) == MAX_REPORTER
    assert event.query.startswith("who who")
    assert event.query.endswith("built it?")
    assert event.response.startswith("It was xx")
    assert event.response.endswith("x Bob.")
    assert event.cut == (
        "query: the middle of 8009 characters; response: the middle of 1000012 characters; "
        "reporter: the middle of 500 characters"
    )


def test_a_passage_is_kept_whole_or_left_out():
    huge, fine = Passage("x" * MAX_PASSAGE), Passage("fine")
    event = as_event("q", "r", [huge, fine], None, quarantine_version=0)
    assert event.passages == (fine,)
    assert event.cut == "passages: all but 1"
    many = [Passage(f"{i}") for i in range(MAX_PASSAGES + 9)]
    event = as_event("q", "r", many, None, quarantine_version=0)
    assert event.passages == tuple(many[:MAX_PASSAGES])
    large = [Passage(f"{i}" * 40_000) for i in range(9)]
    event = as_event("q", "r", [*large, fine], None, quarantine_version=0)
    assert event.passages == (*large[:4], fine)
    assert sum(len(one.text) for one in event.passages) <= MAX_TOGETHER


class Raising(dict):
    def items(self):
        raise OSError("gone")


@pytest.mark.parametrize(
    "metadata",
    [
        {"raw": "x" * MAX_METADATA},
        {"nested": [{"deep": ["x" * 100] * 100}]},
        {"many": list(range(10**6))},
        {"digits": 10**20_000},
        Raising(a=1),
    ],
)
def test_metadata_is_kept_whole_or_left_out(metadata):
    passage = Passage("text", id="p", score=0.5, metadata=metadata)
    event = as_event("q", "r", [passage], None, quarantine_version=0)
    assert event.passages == (Passage("text", id="p", score=0.5),)
    assert event.cut == "metadata: of 1 passages"


def test_metadata_that_holds_itself_is_too_large():
    loop: dict[str, object] = {}
    loop["again"] = loop
    assert light(Passage("text", metadata=loop)) == Passage("text")


@given(st.text(max_size=50), st.text(max_size=50), st.lists(st.text(max_size=20), max_size=60))
def test_an_event_is_bounded_whatever_is_reported(query, response, texts):
    passages = [Passage(text * 5_000) for text in texts]
    event = as_event(query * 900, response * 900, passages, query * 9, quarantine_version=0)
    most = MAX_QUERY + MAX_RESPONSE + MAX_TOGETHER + MAX_REPORTER
    assert event.nbytes <= 4 * most + 200 * (MAX_PASSAGES + 2)
    assert (event.cut is None) == (
        len(query * 900) <= MAX_QUERY
        and len(response * 900) <= MAX_RESPONSE
        and len(query * 9) <= MAX_REPORTER
        and event.passages == tuple(passages)
    )


def test_bytes_of_a_passage():
    vector = np.zeros(1000)
    plain = Passage("x" * 1000, id="p")
    assert passages_bytes([plain]) == sys.getsizeof("x" * 1000) + sys.getsizeof("p")
    rich = Passage("x" * 1000, id="p", embedding=vector, metadata={"raw": "y" * 500})
    held = sys.getsizeof("y" * 500) + sys.getsizeof("raw")
    assert passages_bytes([rich]) == passages_bytes([plain]) + 8000 + held
