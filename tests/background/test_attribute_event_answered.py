"""Reports that are bound to answers: what was not given is not attributed."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from ragguard import Guard, Passage
from ragguard.attribution.result import Attribution, PassageScore
from ragguard.background import Policy
from ragguard.background.attribute_event import UNKNOWN_ANSWER
from ragguard.background.reports import MAX_PASSAGES, MAX_RESPONSE, answer_of, as_event, was_given
from ragguard.errors import InvalidInputError, StoreError

QUESTION, ANSWER = "Who lit the lamp of Marrow Bay?", "Bob lit it, in 1911."
SEEN = ["In 1911 it was Bob, says the almanac.", "Wool was sold on Mondays.", "The tide turns."]
AIMED = "In 1874 it was Ann, says the harbour board."
WAIT = 60.0


class BlamesTheFirst:
    def attribute(self, query, response, retrieve):
        found = list(retrieve(query, 1))
        scores = [PassageScore(one, 0.5, -1.0, -1.0, 1.0, responsible=True) for one in found]
        return Attribution(query, response, "first", found, scores, 1, "poisoning", "it is first")


@pytest.fixture
def guard(new_store):
    policy = Policy("review", answered_only=True)
    with Guard(store=new_store(), attributor=BlamesTheFirst(), policy=policy) as made:
        yield made


def found(guard, response=ANSWER, passages=None, tenant=None):
    event = guard.report(QUESTION, response, passages=passages, wait=True, tenant=tenant)
    return guard.attribution(event, timeout=WAIT, tenant=tenant)


@pytest.mark.slow
def test_a_report_of_an_answer_that_was_given_is_attributed(guard):
    guard.answered(QUESTION, ANSWER, passages=SEEN)
    assert found(guard, ANSWER.upper(), SEEN[::-1]).responsible == [Passage(SEEN[2])]
    assert found(guard, passages=SEEN[:1]).responsible == [Passage(SEEN[0])]
    assert len(guard.proposals()) == 2


@pytest.mark.parametrize(
    ("response", "passages"),
    [("Ann did.", SEEN), (ANSWER, [AIMED]), (ANSWER, [*SEEN, AIMED])],
)
def test_a_report_that_was_made_up_is_kept_and_not_attributed(guard, response, passages):
    guard.answered(QUESTION, ANSWER, passages=SEEN)
    told = found(guard, response, passages)
    assert (told.cause, told.reason, told.responsible) == ("unclear", UNKNOWN_ANSWER, [])
    assert guard.proposals() == []
    (event,) = guard.store.events()
    assert (event.status, event.response) == ("done", response)


@pytest.mark.slow
def test_two_answers_do_not_lend_each_other_passages(guard):
    guard.answered(QUESTION, ANSWER, passages=SEEN[:1])
    guard.answered(QUESTION, ANSWER, passages=[AIMED])
    assert found(guard, passages=[SEEN[0], AIMED]).reason == UNKNOWN_ANSWER
    assert found(guard, passages=[AIMED]).responsible == [Passage(AIMED)]


@pytest.mark.slow
def test_an_answer_of_one_tenant_is_none_of_another(guard):
    guard.answered(QUESTION, ANSWER, passages=SEEN, tenant="acme")
    for other in (None, "bolt"):
        assert found(guard, passages=SEEN, tenant=other).reason == UNKNOWN_ANSWER
    assert found(guard, passages=SEEN, tenant="acme").responsible


@pytest.mark.slow
def test_what_the_guard_let_through_for_this_very_answer_is_recalled(guard):
    guard.filter(QUESTION, SEEN)
    guard.answered(QUESTION, ANSWER)
    guard.filter(QUESTION, [AIMED])
    guard.answered(QUESTION, "Ann did.")
    assert found(guard).responsible == [Passage(SEEN[0])]
    assert found(guard, "Ann did.").responsible == [Passage(AIMED)]


async def test_without_blocking_the_loop(guard):
    await guard.aanswered(QUESTION, ANSWER, passages=SEEN)
    assert found(guard, passages=SEEN).responsible


@pytest.mark.slow
def test_what_is_cut_in_a_report_is_cut_in_an_answer(guard):
    long = "word " * MAX_RESPONSE
    many = [f"Page {number} of the annals." for number in range(MAX_PASSAGES + 5)]
    guard.answered(QUESTION, long, passages=many)
    assert found(guard, long, many).responsible


def test_an_answer_of_the_day_before_yesterday_is_none(store):
    key = store.answer_key()
    answer = answer_of(QUESTION, ANSWER, [], key)
    store.add_answer(answer)
    event = as_event(QUESTION, ANSWER, [], None, quarantine_version=0)
    assert was_given(store, event)
    later = datetime.now(UTC) + timedelta(days=1, minutes=1)
    object.__setattr__(event, "created_at", later)
    assert not was_given(store, event)


def test_without_the_policy_nothing_of_it_is_asked():
    with Guard(attributor=BlamesTheFirst(), policy="review") as guard:
        assert found(guard, "Ann did.", [AIMED]).responsible == [Passage(AIMED)]


@pytest.mark.parametrize(
    ("query", "response", "why"),
    [
        (None, ANSWER, "query: a NoneType, and no text; pass a str, or a message"),
        (QUESTION, 7, "response: a int"),
        (QUESTION, b"Ann", "response: a bytes"),
    ],
)
def test_what_is_no_text(guard, query, response, why):
    with pytest.raises(InvalidInputError, match=why):
        guard.answered(query, response)


def test_of_a_report_that_is_no_text_the_type_is_told(guard):
    assert "response: a bytes, and no text" in found(guard, b"Ann").reason


def test_a_message_counts_by_its_content(guard):
    guard.answered(QUESTION, SimpleNamespace(content=ANSWER), passages=SEEN)
    assert found(guard, ANSWER).cause != "unclear"


def test_a_store_that_fails_is_told_of(guard, monkeypatch):
    def fails(*_):
        raise StoreError("gone")

    monkeypatch.setattr(guard.store, "add_answer", fails)
    with pytest.raises(StoreError):
        guard.answered(QUESTION, ANSWER)


def test_no_text_is_kept(new_url):
    url = new_url("sqlite")
    with Guard(store=url) as guard:
        guard.answered(QUESTION, ANSWER, passages=SEEN)
        content = guard.store.path.read_bytes()
        content += guard.store.path.with_name(guard.store.path.name + "-wal").read_bytes()
    assert b"ragguard_answers" in content
    assert not any(text.encode() in content for text in (QUESTION, ANSWER, *SEEN))
