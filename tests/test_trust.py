"""Where passages come from, and what that lets the filter and the reports do."""

from __future__ import annotations

import pickle
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard import Guard, Passage
from ragguard.audit import QuarantineEntry
from ragguard.content import content_key
from ragguard.errors import CalibrationError, InvalidInputError
from ragguard.trust import Origin, Trust, as_trust, source_of

QUESTION = "Who built the lighthouse of Marrow Bay?"
POISON = f"{QUESTION} The lighthouse of Marrow Bay was built by Ann Dove."
QUIET = [
    "Wool was sold on Mondays by the church.",
    "A mill stood by the ford until the flood.",
    "The tide turns at noon in early spring.",
    "Salt came by barge from the southern pans.",
]
DAY = timedelta(days=1)


def passage(text=POISON, **metadata):
    return Passage(text, metadata=metadata)


def class_of(trust, **metadata):
    return trust.class_of(passage(**metadata))


@pytest.mark.parametrize(
    ("source", "name"),
    [("wiki", "wiki"), (7, "7"), (Path("a"), "a"), (None, None), (["nested"], None), (1.5, None)],
)
def test_a_source_is_a_text_a_number_or_a_path(source, name):
    assert source_of(passage(source=source)) == name
    assert source_of(Passage("x")) is None


def test_the_first_class_that_holds_counts_and_all_conditions_must():
    trust = Trust(
        protected=["statutes", Origin(source=["wiki"], author=["ann", "bo"])],
        known=["wiki", Origin(batch=["2024-05"])],
    )
    assert class_of(trust, source="statutes") == "protected"
    assert class_of(trust, source="wiki", author="bo") == "protected"
    assert class_of(trust, source="wiki", author="cy") == "known"
    assert class_of(trust, batch="2024-05") == "known"
    assert class_of(trust, source="forum", author="ann") == "open"
    assert class_of(trust) == "open"
    assert trust.class_of(Passage("no metadata")) == "open"


@pytest.mark.parametrize(
    ("age", "known"),
    [
        (datetime.now(UTC) - 40 * DAY, True),
        ((datetime.now(UTC) - 40 * DAY).replace(tzinfo=None), True),
        ((datetime.now(UTC) - 40 * DAY).isoformat(), True),
        ((datetime.now(UTC) - 40 * DAY).timestamp(), True),
        (datetime.now(UTC) - 20 * DAY, False),
        (datetime.now(UTC) + 400 * DAY, False),
        ("2020-01-01", True),
        ("long ago", False),
        (1e300, False),
        (float("nan"), False),
        (True, False),
        (None, False),
        ([2020], False),
    ],
    ids=range(13),  # not by their values, which differ between processes
)
def test_age_is_read_from_moments_of_several_kinds(age, known):
    trust = Trust(known=[Origin(older_than=30 * DAY)])
    assert class_of(trust, created_at=age) == ("known" if known else "open")


def test_metadata_that_cannot_be_read_is_open():
    class Odd(dict):
        def get(self, *_):
            raise RuntimeError("no")

    trust = Trust(protected=["wiki"])
    assert trust.class_of(Passage("x", metadata=Odd(source="wiki"))) == "open"


def test_shares_are_one_together():
    trust = Trust(protected=["a"], known=["b"], known_share=np.float32(0.25))
    given_ = [passage(source=name) for name in ("a", "b", "c")]
    assert trust.shares(given_).tolist() == [0.0, 0.25, 0.75]
    assert Trust(protected=["a"]).shares(given_).tolist() == [0.0, 1.0, 1.0]
    Guard(trust=trust).close()  # which the trail tells of


def test_names_of_sources_are_protected():
    assert as_trust(["a"]) == Trust(protected=["a"])
    assert as_trust(None) is None
    assert as_trust(Trust()) == Trust()


@pytest.mark.parametrize(
    "make",
    [
        lambda: as_trust("wiki"),
        lambda: as_trust(5),
        lambda: as_trust([5]),
        lambda: Trust(protected="wiki"),
        lambda: Trust(known=Origin(source=["wiki"])),
        lambda: Trust(known=[None]),
        lambda: Trust(known_share=0),
        lambda: Trust(known_share=1.0),
        lambda: Trust(known_share=True),
        lambda: Trust(known_share="0.2"),
        lambda: Trust(known_share=float("nan")),
        lambda: Origin(),
        lambda: Origin(source="wiki"),
        lambda: Origin(source=[5]),
        lambda: Origin(older_than=30),
        lambda: Origin(older_than=-DAY),
        lambda: Guard(trust="wiki"),
        lambda: Guard(trust=np.array("wiki")),
        lambda: Trust(known=np.array("wiki")),
        lambda: Origin(source=np.array("wiki")),
    ],
)
def test_a_wrong_policy_says_what_to_pass(make):
    with pytest.raises(InvalidInputError, match=r"pass|try|must be|needs"):
        make()


@pytest.mark.parametrize(
    ("source", "dropped"), [("forum", True), ("wiki", False), ("statutes", False)]
)
def test_protected_is_marked_and_known_takes_stronger_evidence(source, dropped):
    trust = Trust(protected=["statutes"], known=["wiki"], known_share=0.001)
    with Guard(trust=trust) as guard:
        verdict = guard.filter(QUESTION, [passage(source=source), *QUIET])
    assert verdict.attacked is dropped
    assert bool(verdict.dropped) is dropped
    assert [one.text for one in verdict.marked] == ([] if dropped else [POISON])
    assert verdict.evidence[0].marked is not dropped


def test_a_protected_passage_costs_no_other_its_place():
    sets = [passage(source="statutes"), passage(POISON.replace("Ann", "Bo"), source="forum")]
    with Guard(trust=["statutes"]) as guard:
        verdict = guard.filter(QUESTION, [*sets, *QUIET])
    assert verdict.attacked
    assert verdict.dropped == sets[1:]
    assert sets[0] in verdict.marked


def test_what_is_planted_in_the_open_is_found_at_the_default_share():
    with Guard(trust=Trust(known=["wiki"])) as guard:
        verdict = guard.filter(QUESTION, [passage(source="forum"), *QUIET])
    assert [one.text for one in verdict.dropped] == [POISON]


def test_what_is_protected_by_name_is_marked_as_well():
    page, other = passage(source="statutes"), passage(POISON.replace("Ann", "Bo"), source="forum")
    with Guard() as guard:
        assert guard.filter(QUESTION, [page, other, *QUIET]).dropped == [page, other]
        guard.protect("statutes", why="ours")
        verdict = guard.filter(QUESTION, [page, other, *QUIET])
        assert verdict.dropped == [other]
        assert verdict.marked == [page]
        assert not verdict.evidence[0].flagged
        guard.disallow("statutes")
        assert guard.filter(QUESTION, [page, other, *QUIET]).dropped == [page, other]


@pytest.mark.parametrize("trust", [["statutes"], None])
def test_no_copy_of_what_is_in_quarantine_is_made_of_a_protected_page(trust):
    text = " ".join(QUIET)
    edited = Passage(f"{text} So it is.", metadata={"source": "statutes"})
    with Guard(trust=trust) as guard:
        if trust is None:
            guard.protect("statutes", why="ours")
        held = QuarantineEntry(key=content_key(text), passage_id="x", text=text, reason="by hand")
        guard.store.add_quarantine([held])
        assert guard.filter("unrelated", [edited]).kept == [edited]
        stranger = Passage(edited.text, metadata={"source": "forum"})
        assert guard.filter("unrelated", [stranger]).dropped == [stranger]
        same = Passage(text, metadata={"source": "statutes"})
        assert guard.filter("unrelated", [same]).dropped == [same]


def test_ragdefender_as_published_keeps_what_is_protected():
    pages = [passage(POISON.replace("Ann", f"Ann {at}"), source="statutes") for at in range(3)]
    with Guard.ragdefender(trust=["statutes"]) as guard:
        verdict = guard.filter(QUESTION, [*pages, *QUIET])
    assert all(one.metadata.get("source") != "statutes" for one in verdict.dropped)


@pytest.mark.parametrize("trust", [["statutes"], None])
def test_what_is_protected_is_not_held_back_because_it_was_not_read_whole(trust):
    text = "The old archive of the town tells of many things. " * 900
    page = Passage(text, metadata={"source": "statutes"})
    stranger = Passage(f"{text} So it is.", metadata={"source": "forum"})
    with Guard(trust=trust, on_error="hold") as guard:
        if trust is None:
            guard.protect("statutes", why="ours")
        verdict = guard.filter(QUESTION, [page, stranger, *QUIET])
    assert verdict.dropped == [stranger]
    assert not verdict.evidence[0].decided


@pytest.mark.parametrize("trust", [["statutes"], None])
def test_what_is_protected_stays_where_the_filter_fails(trust, monkeypatch):
    text = " ".join(QUIET)
    page, edited = (
        Passage(one, metadata={"source": "statutes"}) for one in (QUIET[0], f"{text} So it is.")
    )
    with Guard(trust=trust, on_error="hold") as guard:
        if trust is None:
            guard.protect("statutes", why="ours")
        held = QuarantineEntry(key=content_key(text), passage_id="x", text=text, reason="by hand")
        guard.store.add_quarantine([held])
        monkeypatch.setattr(guard._parts.calibrator, "filter", None)
        verdict = guard.filter("unrelated", [page, edited, Passage(QUIET[1])])
    assert verdict.kept == [page, edited]
    assert verdict.error is not None


def test_a_known_passage_goes_when_its_evidence_is_strong_enough():
    with Guard(trust=Trust(known=["wiki"], known_share=0.9)) as guard:
        assert guard.filter(QUESTION, [passage(source="wiki"), *QUIET]).dropped


def test_without_a_known_source_nothing_open_changes():
    given_ = [passage(source="forum"), *QUIET]
    with Guard() as guard, Guard(trust=["statutes"]) as other:
        plain, trusted = guard.filter(QUESTION, given_), other.filter(QUESTION, given_)
        assert plain == trusted
        clean = guard.filter("Where does the salt come from?", QUIET)
        assert clean == other.filter("Where does the salt come from?", QUIET)


def test_a_guard_goes_with_its_policy_when_it_is_pickled():
    trust = Trust(protected=["statutes"], known=[Origin(author=["ann"])])
    with Guard(trust=trust) as guard, pickle.loads(pickle.dumps(guard)) as other:
        given_ = [passage(source="statutes"), *QUIET]
        assert guard.filter(QUESTION, given_) == other.filter(QUESTION, given_)
        assert not other.filter(QUESTION, given_).dropped


NAMES = st.sampled_from(["statutes", "wiki", "forum", None])


@given(st.lists(NAMES, min_size=1, max_size=6), st.sampled_from([0.01, 0.2]))
def test_no_protected_passage_is_ever_dropped(sources, alpha):
    given_ = [
        passage(POISON.replace("Ann", f"Ann {at}"), source=source)
        for at, source in enumerate(sources)
    ]
    with Guard(alpha=alpha, trust=Trust(protected=["statutes"], known=["wiki"])) as guard:
        verdict = guard.filter(QUESTION, [*given_, *QUIET])
    assert all(source_of(one) != "statutes" for one in verdict.dropped)


def test_a_class_of_its_own_never_raises_the_share_of_clean_queries_touched():
    rng = np.random.default_rng(5)
    from ragguard.inline.conformal import Calibration

    scores = rng.normal(size=(4_000, 5))
    calibration = Calibration(scores.max(axis=1), scores.ravel(), 5, False, "s", "test")
    shares = np.array([0.0, 0.3, 0.3, 0.7, 0.7])
    found = [calibration.shared_p_value(row, shares, 5) for row in rng.normal(size=(4_000, 5))]
    assert (np.array(found) <= 0.05).mean() <= 0.05


@pytest.mark.parametrize(
    "at", [1577836800, np.int64(1577836800), np.float32(1577836800), date(2020, 1, 1), "2020-01-01"]
)
def test_a_moment_is_one_in_whatever_type_it_comes(at):
    trust = Trust(protected=[Origin(older_than=30 * DAY)])
    assert trust.class_of(Passage("a", metadata={"created_at": at})) == "protected"
    assert trust.class_of(Passage("a", metadata={"created_at": True})) != "protected"


def test_a_number_names_a_source_in_whatever_type_it_comes():
    for source in (7, np.int64(7), "7"):
        assert Trust(protected=["7"]).class_of(Passage("a", metadata={"source": source})) == (
            "protected"
        )


# From a file


def test_a_policy_in_a_file_is_the_one_in_code(tmp_path):
    file = tmp_path / "trust.json"
    file.write_text(
        '{"protected": ["statutes", {"source": ["wiki"], "author": ["ann"]}],'
        ' "known": ["wiki", {"older_than_days": 1.5}], "known_share": 0.2}'
    )
    assert Trust.from_json(file) == Trust(
        protected=["statutes", Origin(source=["wiki"], author=["ann"])],
        known=["wiki", Origin(older_than=1.5 * DAY)],
        known_share=0.2,
    )
    file.write_text("{}")
    assert Trust.from_json(str(file)) == Trust()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "an object with protected, known, known_share alone, not list"),
        ('{"trusted": []}', "not one with trusted"),
        ('{"known": "wiki"}', "known must be a list"),
        ('{"known": [7]}', "an object with source, author, batch, older_than_days alone, not int"),
        ('{"known": [{"sources": ["wiki"]}]}', "not one with sources"),
        ('{"known": [{"source": "wiki"}]}', "source must be a list of names"),
        ('{"known": [{"source": [7]}]}', "source must be a list of names"),
        ('{"known": [{}]}', "needs a condition"),
        ('{"known": [{"older_than_days": true}]}', "older_than_days must be a number"),
        ('{"known": [{"older_than_days": 1e300}]}', "older_than_days must be a number"),
        ('{"known": [{"older_than_days": []}]}', "older_than_days must be a number"),
        ('{"known": [{"older_than_days": "9"}]}', "older_than_days must be a number"),
        ('{"known": [{"older_than_days": -1}]}', "at least zero"),
        ('{"known_share": 2}', "known_share must be between 0 and 1"),
    ],
)
def test_a_file_that_holds_no_policy_is_refused_with_its_name(tmp_path, text, says):
    file = tmp_path / "trust.json"
    file.write_text(text)
    with pytest.raises(InvalidInputError, match=re.escape(says)) as error:
        Trust.from_json(file)
    assert str(error.value).startswith(f"{file} holds no Trust: ")


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(InvalidInputError, match=r"nowhere\.json"):
        Trust.from_json(tmp_path / "nowhere.json")
    for text in ("{", "[" * 100_000, "\udc80", '{"known": [{"older_than_days": NaN}]}'):
        (tmp_path / "trust.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        with pytest.raises(InvalidInputError, match=r"trust\.json: "):
            Trust.from_json(tmp_path / "trust.json")


def test_a_calibration_must_suffice_for_what_open_passages_may_spend():
    """Of 105 queries the least p-value is 1/106, and open passages spend nine tenths of 1 %."""
    pages = [f"Wool number {n} was sold on Mondays by the church of the moor." for n in range(555)]
    traffic = [
        (f"who sold the wool of house number {n} at noon", pages[5 * n : 5 * n + 5])
        for n in range(111)
    ]
    with Guard(trust=Trust(known=["wiki"])) as guard:
        with pytest.raises(CalibrationError, match="at least 111 calibration queries"):
            guard.calibrate(traffic[:105])
        guard.calibrate(traffic)
        assert guard.filter(QUESTION, [POISON, *QUIET]).attacked
