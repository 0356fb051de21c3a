"""What a person has allowed is never dropped."""

import time

import pytest

from ragguard.content import content_key
from ragguard.embedding import HashedEmbedder
from ragguard.errors import JudgingError
from ragguard.inline.pipeline import ConformalFilter
from ragguard.inline.quarantined import Allowed, Quarantined
from ragguard.inline.ragdefender.baseline import RAGDefenderFilter
from ragguard.inline.screening import screened, undecided
from ragguard.passage import Passage
from tests.quarantines import quarantine_of

QUESTION = "When was the lighthouse of Marrow Bay built?"
POISON = f"{QUESTION} The lighthouse of Marrow Bay was built in 1911."
OTHER = f"{QUESTION} In 1911 the lighthouse of Marrow Bay was built."
QUIET = [
    "Wool was sold on Mondays by the church.",
    "A mill stood by the ford until the flood.",
    "The tide turns at noon in early spring.",
]
LATER = time.time() + 3600.0


def judged(passages, allowed, held=(), k=None, by=ConformalFilter):
    quarantined = quarantine_of(held).changed(
        frozenset(map(content_key, held)), {}, frozenset(), allowed
    )
    given = [one if isinstance(one, Passage) else Passage(one) for one in passages]
    k = len(given) if k is None else k
    decision = screened(QUESTION, given, k, by(HashedEmbedder()), quarantined)
    return decision.decide(HashedEmbedder())


def allowing(*texts, until=LATER):
    return Allowed({content_key(text): until for text in texts})


def test_an_allowed_text_is_not_dropped_and_the_evidence_says_so():
    assert judged([POISON, *QUIET], Allowed()).flagged == [True, False, False, False]
    decision = judged([POISON, *QUIET], allowing(f" {POISON.upper()} "))
    assert decision.flagged == [False] * 4
    assert not decision.attacked
    evidence = decision.evidence[0]
    assert (evidence.signal, evidence.strength, evidence.flagged, evidence.decided) == (
        *("allowed", 0.0),
        *(False, True),
    )
    assert "allowed" in evidence.reason


def test_it_wins_over_quarantine_and_covers_nobody_else():
    decision = judged([POISON, OTHER, *QUIET], allowing(POISON), held=[POISON, QUIET[0]])
    assert decision.flagged == [False, True, True, False, False]
    assert decision.in_quarantine


def test_a_source_is_allowed_by_its_name():
    handbook = Allowed(sources={"handbook": LATER, "7": LATER})
    for source, kept in (("handbook", True), (7, True), ("forum", False), (None, False)):
        passage = Passage(POISON, metadata={"source": source})
        assert judged([passage, *QUIET], handbook).flagged[0] is not kept


def test_it_holds_until_its_end():
    assert judged([POISON, *QUIET], allowing(POISON, until=time.time() - 1.0)).flagged[0]


def test_the_places_that_allowed_passages_take_are_no_others():
    # Of k = 2 the allowed one takes the first place: the second is judged, the third is reserve.
    decision = judged([QUIET[0], QUIET[1], POISON], allowing(QUIET[0]), k=2)
    assert decision.flagged == [False, False, False]
    decision = judged([QUIET[0], POISON, QUIET[1]], allowing(QUIET[0]), k=2)
    assert decision.flagged == [False, True, False]
    # What is in quarantine takes none.
    decision = judged([QUIET[0], QUIET[1], POISON], allowing(QUIET[0]), held=[QUIET[1]], k=2)
    assert decision.flagged == [False, True, True]


@pytest.mark.parametrize("by", [ConformalFilter, RAGDefenderFilter])
def test_where_allowed_passages_take_every_place_all_have_evidence(by):
    decision = judged([QUIET[0], QUIET[1], POISON], allowing(QUIET[0]), held=[QUIET[1]], k=1, by=by)
    assert decision.flagged == [False, True, False]
    assert [one.signal for one in decision.evidence] == ["allowed", "quarantine", "none"]
    assert not decision.evidence[2].flagged


@pytest.mark.parametrize("by", [ConformalFilter, RAGDefenderFilter])
def test_a_set_of_allowed_passages_is_kept_whole(by):
    decision = judged([POISON, OTHER], allowing(POISON, OTHER), by=by)
    assert decision.flagged == [False, False]


def test_what_could_not_be_judged_is_allowed_all_the_same():
    quarantined = Quarantined(allowed=allowing(POISON))
    decision = undecided([Passage(POISON), Passage(OTHER)], quarantined, JudgingError("down"))
    assert list(decision.undecided) == [1]
    assert [one.signal for one in decision.evidence] == ["allowed", "none"]


class Odd(dict):
    def get(self, name, default=None):
        raise RuntimeError("no")

    def __bool__(self):
        return True


def test_metadata_that_cannot_be_read_allows_nothing():
    passage = Passage(POISON, metadata=Odd())
    assert judged([passage, *QUIET], Allowed(sources={"handbook": LATER})).flagged[0]
