"""What a policy makes of an attribution."""

import json
import logging

import numpy as np
import pytest

from ragguard import Guard, Passage
from ragguard.attribution.result import Attribution, PassageScore
from ragguard.audit import Event, MemoryStore
from ragguard.background.attribute_event import EventAttributor
from ragguard.background.policy import Policy, as_policy
from ragguard.content import content_key
from ragguard.errors import InvalidInputError


def attribution(*texts, marks=0.01, counterfactual=True, cause="poisoning"):
    passages = [Passage(text, id=text) for text in texts]
    responsible, scores = passages, []
    if cause == "disputed":
        responsible, scores = (
            [],
            [PassageScore(one, 0.5, -1.0, -1.0, 1.0, True) for one in passages],
        )
    found = {content_key(text): marks for text in texts}
    details = {"counterfactual": counterfactual, "marks": found}
    return Attribution("q", "r", "fake", responsible, scores, 9, cause, "because", details)


def searched(query, limit):
    return []  # a knowledge base, in which nothing else is found


def accuse(store, policy, *texts, reporter="ann", event="e"):
    event = Event(event, "q", "r", reporter=reporter)
    attributor = EventAttributor(store, searched, policy=policy)
    done = attributor.quarantine(event, attribution(*texts))
    return [(one.entry.passage_id, one.entry.status) for one in done]


def test_observing_does_nothing():
    assert accuse(None, Policy("observe"), "a", "b") == []


def test_a_review_proposes_all_of_them():
    store = MemoryStore()
    assert accuse(store, Policy("review"), "a", "b") == [("a", "proposed"), ("b", "proposed")]
    assert store.quarantine_keys() == frozenset()
    (_, entry) = store.quarantine()
    assert (entry.event_id, entry.reporters, entry.reason) == ("e", ("ann",), "because")


def test_of_one_event_the_most_responsible_go():
    found = accuse(MemoryStore(), Policy("auto", top_k=2), "a", "b", "A", "c")
    assert found == [("a", "quarantined"), ("b", "quarantined"), ("c", "proposed")]


@pytest.mark.parametrize(
    ("lacks", "why"),
    [
        ({"marks": 0.051}, "no mark of an attack"),
        ({"counterfactual": False}, "do not explain the response"),
        ({"cause": "disputed"}, ""),
    ],
)
def test_what_lacks_evidence_is_proposed(lacks, why):
    store = MemoryStore()
    (one,) = EventAttributor(store, policy=Policy("auto")).quarantine(
        Event("e", "q", "r"), attribution("a", **lacks)
    )
    assert (one.entry.status, one.limited) == ("proposed", None)
    assert why in one.entry.reason


def test_an_attribution_without_evidence_is_none():
    found = Attribution("q", "r", "fake", [Passage("a")], [], 1, "poisoning", "because")
    (one,) = EventAttributor(MemoryStore(), policy=Policy("auto")).quarantine(
        Event("e", "q", "r"), found
    )
    assert one.entry.status == "proposed"


def test_a_limit_is_told_loudly_and_once(caplog):
    store, policy = MemoryStore(), Policy("auto", per_hour=1)
    attributor = EventAttributor(store, searched, policy=policy)
    with caplog.at_level(logging.ERROR):
        for number in range(5):
            attributor.quarantine(Event(f"{number}", "q", "r"), attribution(f"text {number}"))
    assert len(store.quarantine(status="proposed")) == 4
    (record,) = caplog.records
    assert "event 1: 1 of 1 passages are proposed and not quarantined" in record.message
    assert "1 came into force within the last hour" in record.message


def test_the_default_is_a_person_where_others_share_the_store():
    assert as_policy(None, shared=True) == Policy("review")
    assert as_policy(None, shared=False) == Policy("auto")
    assert as_policy("observe", shared=True) == Policy("observe")
    assert as_policy(Policy("auto", quorum=3), shared=True) == Policy("auto", quorum=3)


def test_a_policy_without_a_name_is_the_default_one():
    named = [as_policy(Policy(quorum=3), shared=shared) for shared in (True, False)]
    assert named == [Policy("review", quorum=3), Policy("auto", quorum=3)]


def test_limits_alone_leave_a_stored_guard_at_review(tmp_path):
    with Guard(store=str(tmp_path / "audit.db"), policy=Policy(answered_only=True)) as guard:
        (row,) = guard.store.trail()
    assert (row.action, row.subject, row.told["answered_only"]) == ("policy.set", "review", True)


@pytest.mark.parametrize("wrong", ["sometimes", 5, ["auto"]])
def test_there_is_no_other_policy(wrong):
    with pytest.raises(InvalidInputError, match="observe, review, auto"):
        Guard(policy=wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"quorum": 0}, {"top_k": 1.5}, {"per_hour": -1}, {"days": 0.0}, {"per_reporter": "5"}),
        *(
            {"proposals": 0},
            {"attack_alpha": 0.0},
            {"days": float("inf")},
            {"days": "5"},
            {"weights": 5},
            {"weights": {7: 2}},
            {"answered_only": "no"},
        ),
    ],
)
def test_limits_are_positive(wrong):
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        Policy("auto", **wrong)


def test_numbers_of_other_libraries_are_plain_ones_from_here_on():
    policy = Policy("auto", days=np.int64(30), per_hour=np.int8(5), top_k=np.int16(2))
    assert policy == Policy("auto", days=30, per_hour=5, top_k=2)
    assert {type(one) for one in (policy.days, policy.per_hour, policy.top_k)} == {float, int}
    json.dumps(policy.change.details)
