"""Reporting a wrong answer: at once, in the background, and then into quarantine."""

import gc
import logging
import re
import threading
import time
import uuid
from dataclasses import dataclass

import pytest

from ragguard import Guard, Passage
from ragguard.attribution.result import Attribution, PassageScore
from ragguard.audit import Event, MemoryStore
from ragguard.background.reports import MAX_RESPONSE
from ragguard.content import content_key
from ragguard.demo.corpus import load_corpus, poison
from ragguard.errors import (
    AttributionPendingError,
    AttributionTimeoutError,
    EventFailedError,
    EventNotFoundError,
    InvalidInputError,
)
from ragguard.text import both_ends

QUESTION = "When was the lighthouse of Marrow Bay built?"
QUIET = [
    "Wool was sold on Mondays by the church.",
    "A mill stood by the ford until the flood.",
    "The tide turns at noon in early spring.",
]
LIE = "The keeper lit the lamp of Marrow Bay in 1911 for the first time."
OTHER_LIE = "In the spring of 1911 the tower of Marrow Bay was finished."
WAIT = 60.0


class FakeAttributor:
    """Holds every retrieved passage responsible whose text holds the response."""

    def __init__(self):
        self.seen = []

    def attribute(self, query, response, retrieve):
        passages = list(retrieve(query, 10))
        self.seen.append((query, response, [passage.text for passage in passages]))
        scores = [
            PassageScore(passage, 0.5, -1.0, -1.0, 1.0, response in passage.text)
            for passage in passages
        ]
        found = [score.passage for score in scores if score.responsible]
        return Attribution(
            query=query,
            response=response,
            method="fake",
            responsible=found,
            scores=scores,
            scope_size=len(scores),
            cause="poisoning" if found else "model",
            reason="it holds the response",
        )


class Blocking(FakeAttributor):
    def __init__(self):
        super().__init__()
        self.entered, self.release = threading.Event(), threading.Event()

    def attribute(self, query, response, retrieve):
        self.entered.set()
        assert self.release.wait(WAIT)
        return super().attribute(query, response, retrieve)


class Failing(FakeAttributor):
    def attribute(self, query, response, retrieve):
        raise RuntimeError("the proxy melted")


def confirmed(guard, event):
    """Return an event's attribution, and confirm what it proposes."""
    found = guard.attribution(event, timeout=WAIT)
    for entry in guard.proposals():
        guard.confirm(entry)
    return found


def texts(passages):
    return [passage.text for passage in passages]


@pytest.fixture
def attributor():
    return FakeAttributor()


@pytest.fixture
def guard(attributor):
    with Guard(attributor=attributor) as opened:
        yield opened


def test_the_whole_loop(guard, attributor):
    verdict = guard.filter(QUESTION, [LIE, *QUIET])
    assert texts(verdict.kept) == [LIE, *QUIET]
    event = guard.report(QUESTION, "1911", reporter="alice")
    attribution = confirmed(guard, event)
    assert texts(attribution.responsible) == [LIE]
    assert attribution.cause == "poisoning"
    assert attributor.seen == [(QUESTION, "1911", [LIE, *QUIET])]
    again = guard.filter("Who lit the lamp?", [f" {LIE.upper()} ", *QUIET])
    assert texts(again.kept) == QUIET
    assert again.evidence[0].signal == "quarantine"
    (entry,) = guard.store.quarantine()
    assert (entry.key, entry.event_id) == (content_key(LIE), event)
    assert guard.store.event(event).reporter == "alice"


def test_what_one_guard_traces_another_on_the_same_file_drops_at_once(tmp_path, attributor):
    path = str(tmp_path / "audit.db")
    with Guard(store=path, attributor=attributor) as one, Guard(store=path) as other:
        assert texts(other.filter(QUESTION, [LIE, *QUIET]).kept) == [LIE, *QUIET]
        event = one.report(QUESTION, "1911", passages=[LIE, *QUIET])
        confirmed(one, event)
        assert texts(other.filter(QUESTION, [LIE, *QUIET]).dropped) == [LIE]
        assert texts(other.attribution(event).responsible) == [LIE]


def test_a_guard_can_leave_attribution_to_others(tmp_path, attributor):
    path = str(tmp_path / "audit.db")
    with Guard(store=path, attributor=attributor, policy="auto", attribute=False) as one:
        events = [one.report(QUESTION, "1911", passages=[LIE], reporter="ann", wait=True)]
        events.append(one.report("never asked", "1911", wait=True))  # without passages
        with pytest.raises(AttributionTimeoutError, match="start `ragguard worker"):
            one.attribution(events[0], timeout=0.02)
        assert {event.attempts for event in one.store.events()} == {0}
        assert "ragguard-attribute" not in one.health().threads
        assert one.store.trail() == []  # its policy is not in force
        with Guard(store=path, attributor=attributor, retrieve=lambda *_: [Passage(LIE)]) as other:
            other.attribution(events[1], timeout=WAIT)
            assert texts(one.attribution(events[1], timeout=WAIT).responsible) == [LIE]
            assert texts(one.attribution(events[0], timeout=WAIT).responsible) == [LIE]
        assert one.retry(events[0])
        assert one.store.event(events[0]).status == "pending"
        assert {entry.status for entry in one.store.quarantine()} == {"proposed"}


def test_a_closed_guard_gives_back_what_it_is_attributing(
    tmp_path, monkeypatch, attributor, caplog
):
    class Hanging:
        def attribute(self, query, response, retrieve):
            begun.set()
            assert released.wait(WAIT)

    monkeypatch.setattr("ragguard.guard_parts._CLOSE_S", 0.01)
    begun, released = threading.Event(), threading.Event()
    path = tmp_path / "audit.db"
    guard = Guard(store=path, attributor=Hanging())
    event = guard.report(QUESTION, "1911", passages=[LIE])
    assert begun.wait(WAIT)
    guard.close()
    assert f"event {event} is given back: its worker was closed" in caplog.text
    with Guard(store=path, attributor=attributor) as other:
        assert texts(other.attribution(event, timeout=WAIT).responsible) == [LIE]
        assert other.store.event(event).failures == 0
    released.set()
    assert guard._parts.worker.close(WAIT)


@pytest.mark.parametrize(
    ("timeout", "error"), [(None, AttributionPendingError), (3, AttributionTimeoutError)]
)
def test_a_closed_guard_says_that_it_is_closed(attributor, timeout, error):
    store = MemoryStore()
    guard = Guard(store=store, attributor=attributor)
    guard.close()
    store.add_event(Event("e", QUESTION, "1911"))
    with pytest.raises(
        error, match=r"e is not attributed yet, and this guard is closed; .*report it"
    ):
        guard.attribution("e", timeout=timeout)


def test_a_negative_timeout_does_not_wait(guard):
    guard.store.add_event(Event("e", QUESTION, "1911"))
    guard.store.claim_event(lease_s=WAIT)
    told = r"not attributed within 0 s; pass a longer timeout=, or where the store is a data"
    with pytest.raises(AttributionTimeoutError, match=told):
        guard.attribution("e", timeout=-3)


def test_in_memory_nobody_else_can_attribute():
    with pytest.raises(InvalidInputError, match="cannot see a store in memory; pass store="):
        Guard(attribute=False)
    with pytest.raises(InvalidInputError, match="attribute must be True or False, not 'no'"):
        Guard(attribute="no")


def test_the_reported_passages_go_before_the_remembered_ones(guard, attributor):
    guard.filter(QUESTION, QUIET)
    event = guard.report(QUESTION, "1911", passages=[LIE, Passage(QUIET[0])])
    guard.attribution(event, timeout=WAIT)
    assert attributor.seen[-1][2] == [LIE, QUIET[0]]
    assert texts(guard.store.event(event).passages) == [LIE, QUIET[0]]


def test_what_was_dropped_was_not_seen_by_the_generator(guard, attributor):
    confirmed(guard, guard.report(QUESTION, "1911", passages=[LIE]))
    guard.filter(QUESTION, [LIE, *QUIET], k=2)
    event = guard.report(QUESTION, "another")
    guard.attribution(event, timeout=WAIT)
    assert texts(guard.store.event(event).passages) == QUIET[:2]


def test_with_a_knowledge_base_all_of_it_is_searched(attributor):
    asked = []

    def retrieve(query, limit):
        asked.append((query, limit))
        return [Passage(LIE), *map(Passage, QUIET)][:limit]

    with Guard(attributor=attributor, retrieve=retrieve) as guard:
        event = guard.report(QUESTION, "1911", passages=QUIET[:1])
        attribution = guard.attribution(event, timeout=WAIT)
    # What was read may stand below ten. What is accused is searched for by its own words.
    assert asked == [(QUESTION, 50), (LIE.strip("."), 21)]
    assert texts(attribution.responsible) == [LIE]


def test_without_passages_and_knowledge_base_the_cause_is_unclear(guard, attributor):
    attribution = guard.attribution(guard.report("never asked", "1911"), timeout=WAIT)
    assert (attribution.cause, attribution.method, attribution.responsible) == (
        "unclear",
        "none",
        [],
    )
    assert "report the passages" in attribution.reason
    assert attributor.seen == []


def test_report_returns_while_the_attribution_runs_and_pending_says_so():
    blocking = Blocking()
    with Guard(attributor=blocking) as guard:
        try:
            first = guard.report(QUESTION, "1911", passages=[LIE])
            assert blocking.entered.wait(WAIT)
            second = guard.report(QUESTION, "1911", passages=[OTHER_LIE])
            assert len({first, second}) == 2
            for event in (first, second):
                with pytest.raises(AttributionPendingError, match=f"{event}.*timeout="):
                    guard.attribution(event)
                with pytest.raises(AttributionTimeoutError, match=r"within 0\.01 s"):
                    guard.attribution(event, timeout=0.01)
                with pytest.raises(AttributionTimeoutError):
                    guard.attribution(event, timeout=0)
        finally:
            blocking.release.set()
        assert texts(guard.attribution(first, timeout=WAIT).responsible) == [LIE]
        assert texts(guard.attribution(second, timeout=WAIT).responsible) == [OTHER_LIE]
        assert texts(guard.attribution(first).responsible) == [LIE]


@pytest.mark.slow
def test_an_attribution_that_fails_for_good_names_its_cause(caplog):
    with Guard(attributor=Failing()) as guard, caplog.at_level(logging.CRITICAL, "ragguard"):
        guard._parts.worker.retry_s = (0.001,)
        event = guard.report(QUESTION, "1911", passages=[LIE])
        with pytest.raises(EventFailedError, match="RuntimeError: the proxy melted"):
            guard.attribution(event, timeout=WAIT)
        assert guard.store.event(event).status == "failed"
        assert guard.store.quarantine() == []
        assert texts(guard.filter(QUESTION, [LIE]).kept) == [LIE]


def test_without_an_attributor_it_is_ragorigin():
    question = load_corpus().questions[0]
    planted = poison(question, "statement", form="plain", count=3)
    with Guard() as guard:
        clean = [p for p in load_corpus().passages if p.id not in question.golden][:12]
        event = guard.report(question.text, question.incorrect_answer, passages=[*planted, *clean])
        attribution = confirmed(guard, event)
        assert attribution.method == "ragorigin"
        assert attribution.cause == "poisoning"
        assert set(texts(attribution.responsible)) & set(texts(planted))
        dropped = texts(guard.filter(question.text, [*planted, *clean]).dropped)
    assert set(texts(attribution.responsible)) <= set(dropped)


@pytest.mark.parametrize("event_id", ["", "unknown", "\ud800"])
def test_an_unknown_event_is_not_found(guard, event_id):
    with pytest.raises(EventNotFoundError):
        guard.attribution(event_id)
    with pytest.raises(EventNotFoundError):
        guard.attribution(event_id, timeout=WAIT)


def raising():
    yield LIE
    raise OSError("the cursor is closed")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize(
    ("query", "response", "options"),
    [
        ("", "", {}),
        ("\ud800\x00", "\udfff\x00", {"passages": ["\ud800", "\x00"], "reporter": "\ud800"}),
        (5, 7.5, {}),
        (QUESTION, "1911", {"passages": "one text"}),
        (QUESTION, "1911", {"passages": 5}),
        (QUESTION, "1911", {"passages": [5]}),
        (QUESTION, "1911", {"passages": []}),
        (QUESTION, "1911", {"passages": raising()}),
        (QUESTION, "1911", {"passages": [Passage(LIE, metadata={"raw": object()})]}),
        (QUESTION, "1911", {"passages": [Passage(LIE, score=float("nan"))]}),
        (QUESTION, "x" * 1_000_000, {"passages": ["y" * 1_000_000]}),
    ],
    ids=[
        "empty",
        "surrogates",
        "other types",
        "one text",
        "a number",
        "numbers",
        "no passages",
        "a lazy sequence that raises",
        "metadata without JSON",
        "NaN score",
        "a megabyte",
    ],
)
def test_report_never_raises_and_the_event_comes_to_an_end(
    tmp_path, kind, query, response, options
):
    store = MemoryStore() if kind == "memory" else str(tmp_path / "audit.db")
    with Guard(store=store, attributor=FakeAttributor()) as guard:
        event = guard.report(query, response, **options)
        assert isinstance(event, str)
        attribution = guard.attribution(event, timeout=WAIT)
        assert attribution.query == str(query)
        assert attribution.response == both_ends(str(response), MAX_RESPONSE)


@pytest.mark.parametrize(
    ("query", "response", "why"),
    [
        (QUESTION, None, "response: a NoneType, and no text; pass a str, or a message"),
        (QUESTION, " \n", "response: blank, and no text; pass a str, or a message"),
        ("", "1911", "query: blank, and no text"),
        (QUESTION, b"1911", "response: a bytes, and no text"),
        (QUESTION, {"content": "1911"}, "response: a dict, and no text"),
        (None, "1911", "query: a NoneType, and no text"),
        ([QUESTION], object(), "query: a list, and no text.*; response: a object, and no text"),
    ],
)
def test_what_is_no_text_is_not_attributed_and_the_reason_names_its_type(
    guard, attributor, query, response, why, caplog
):
    event = guard.report(query, response, passages=[LIE])
    found = guard.attribution(event, timeout=WAIT)
    assert (found.cause, found.method, attributor.seen) == ("unclear", "none", [])
    assert re.search(f"there is nothing to attribute: {why}", found.reason)
    kept = guard.store.event(event)
    for given, found in ((query, kept.query), (response, kept.response)):
        assert found == (given if isinstance(given, str) else f"<{type(given).__name__}>")
    assert re.search(
        f"event {event} goes without the reported {why.split(', and')[0]}", caplog.text
    )


@dataclass
class Message:
    content: object


@dataclass
class Response:
    response: str | None


class Texty:
    text = "1911"


@pytest.mark.parametrize(
    "message",
    [
        Message("1911"),
        Message(["19", {"type": "text", "text": "11"}]),
        Texty(),
        Response("1911"),
        Response(Message("1911")),
    ],
    ids=["message", "blocks", "completion", "query engine", "agent"],
)
def test_a_message_is_reported_by_what_it_says(guard, attributor, message):
    guard.filter(QUESTION, [LIE, *QUIET])
    event = guard.report(Message(QUESTION), message)
    assert event == guard.report(QUESTION, "1911")
    assert texts(guard.attribution(event, timeout=WAIT).responsible) == [LIE]
    assert attributor.seen == [(QUESTION, "1911", [LIE, *QUIET])]


class Document:
    page_content = LIE


@pytest.mark.parametrize(
    ("passages", "why"),
    [
        ([Document()], r"passages\[0\] is of type Document; pass str or Passage"),
        (Document(), "passages must be a sequence of str or Passage, not Document"),
        ({LIE}, "not set; pass a list, best first"),
    ],
)
def test_where_passages_were_left_out_the_reason_says_what_to_pass(guard, passages, why):
    event = guard.report("never asked", "1911", passages=passages)
    found = guard.attribution(event, timeout=WAIT)
    assert re.search(f"nothing to search: .*left out were passages: .*{why}", found.reason)
    assert re.search(why, guard.store.event(event).cut)


class Wordless:
    def __str__(self):
        raise RuntimeError("no words")


class Odd(str):
    __slots__ = ()

    def __str__(self):
        return self

    def casefold(self):
        raise RuntimeError("must not matter to the guard's contract")


@pytest.mark.parametrize(
    ("given", "kept"),
    [(10**5000, "<int>"), (Wordless(), "<Wordless>"), (Odd("odd"), "odd")],
    ids=["too many digits", "raises", "a str of its own"],
)
def test_report_takes_what_has_no_text_of_its_own(guard, given, kept):
    event = guard.report(given, given, passages=[LIE], reporter=given)
    guard.attribution(event, timeout=WAIT)
    found = guard.store.event(event)
    assert (found.query, found.response, found.reporter) == (kept, kept, kept)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize("reporter", [7, uuid.UUID(int=7), ("ann", 3), "ann", None])
def test_whoever_reports_is_kept_as_text(tmp_path, attributor, kind, reporter):
    store = MemoryStore() if kind == "memory" else str(tmp_path / "audit.db")
    with Guard(store=store, attributor=attributor) as guard:
        event = guard.report(QUESTION, "1911", passages=[LIE], reporter=reporter)
        guard.attribution(event, timeout=WAIT)
        kept = guard.store.event(event).reporter
    assert kept == (None if reporter is None else str(reporter))


def test_report_does_not_raise_after_the_guard_was_closed(attributor):
    guard = Guard(attributor=attributor)
    guard.close()
    assert isinstance(guard.report(QUESTION, "1911"), str)


def test_closing_twice_does_no_harm(attributor, tmp_path):
    guard = Guard(attributor=attributor, store=str(tmp_path / "audit.db"))
    guard.filter(QUESTION, QUIET)
    guard.close()
    guard.close()


def test_a_store_of_the_callers_stays_open(attributor):
    class Store(MemoryStore):
        closed = False

        def close(self):
            self.closed = True

    store = Store()
    with Guard(store=store, attributor=attributor) as guard:
        assert guard.store is store
        guard.filter(QUESTION, QUIET)
    assert not store.closed
    assert store.counts() == {"queries": 1, "passages": 3}


def test_counts_of_closed_guards_are_in_the_file(tmp_path, attributor):
    path = str(tmp_path / "audit.db")
    for _ in range(2):
        with Guard(store=path, attributor=attributor) as guard:
            guard.filter(QUESTION, [LIE, *QUIET])
            confirmed(guard, guard.report(QUESTION, "1911"))
            guard.filter(QUESTION, [LIE, *QUIET])
    with Guard(store=path) as guard:
        counts = guard.store.counts()
    assert counts["queries"] == 4
    assert counts["passages"] == 16
    assert counts["flagged"] == counts["dropped"] == 3  # after the first report, every time


def test_released_passages_reach_the_generator_again(guard):
    confirmed(guard, guard.report(QUESTION, "1911", passages=[LIE]))
    assert guard.filter(QUESTION, [LIE]).kept == []
    guard.release(Passage(LIE), actor="bob")
    assert texts(guard.filter(QUESTION, [LIE]).kept) == [LIE]
    confirmed(guard, guard.report(QUESTION, "1911", passages=[LIE]))
    assert texts(guard.filter(QUESTION, [LIE]).kept) == [LIE]  # a person's word stands


def test_monitor_mode_drops_no_quarantined_passage_but_flags_it(attributor):
    with Guard(attributor=attributor, mode="monitor") as guard:
        confirmed(guard, guard.report(QUESTION, "1911", passages=[LIE]))
        verdict = guard.filter(QUESTION, [LIE, *QUIET])
    assert texts(verdict.kept) == [LIE, *QUIET]
    assert verdict.evidence[0].signal == "quarantine"
    assert verdict.evidence[0].flagged


@pytest.mark.slow
def test_what_a_guard_that_nobody_holds_was_told_is_attributed_and_its_threads_end(attributor):
    store = MemoryStore()
    before = set(threading.enumerate())
    guard = Guard(attributor=attributor, store=store)
    event = guard.report(QUESTION, "1911", passages=[LIE, *QUIET])
    del guard
    gc.collect()
    deadline = time.monotonic() + WAIT
    while set(threading.enumerate()) - before and time.monotonic() < deadline:
        time.sleep(0.05)
        gc.collect()
    assert not set(threading.enumerate()) - before
    assert store.event(event).status == "done"


def test_an_attributor_that_returns_no_attribution_is_named_at_once():
    class Idle:
        def attribute(self, query, response, retrieve):
            return None

    with Guard(attributor=Idle()) as guard:
        event = guard.report(QUESTION, "1911", passages=[LIE])
        with pytest.raises(EventFailedError, match="must return an Attribution, not None"):
            guard.attribution(event, timeout=WAIT)
        assert guard.store.event(event).attempts == 1
