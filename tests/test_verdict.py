"""A verdict puts its evidence into words when that is read, and is plain data all the same."""

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, replace

import numpy as np
import pytest

from ragguard import Evidence, Passage, Verdict

EVIDENCE = [Evidence("a", "none", 0.0, "nothing", {"prompt_injection": 0.0}, -6.0, flagged=False)]


def made(calls):
    def explain():
        calls.append(1)
        return list(EVIDENCE)

    return Verdict([], [], False, 1.0, explain)


def test_evidence_is_made_when_first_read_and_then_stays():
    calls = []
    verdict = made(calls)
    assert (verdict.attacked, verdict.mode, verdict.error, calls) == (False, "filter", None, [])
    assert verdict.evidence == EVIDENCE
    assert verdict.evidence is verdict.evidence
    assert calls == [1]


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, replace, lambda verdict: pickle.loads(pickle.dumps(verdict))],
)
def test_a_verdict_can_be_copied_before_anybody_read_it(copied):
    assert copied(made([])) == made([]) == Verdict([], [], False, 1.0, EVIDENCE)
    assert asdict(made([]))["evidence"] == [asdict(EVIDENCE[0])]
    shown = "attacked=False, p_value=1, kept=0, dropped=0, marked=0, mode='filter'"
    assert repr(made([])) == f"Verdict({shown})"


def test_equal_verdicts_are_one_in_a_set_and_keep_their_words_to_themselves():
    calls, seen = [], set()
    for one in (made(calls), Verdict([], [], False, 1.0, EVIDENCE), Verdict([], [], True, 0.1, [])):
        seen.add(one)
        assert one in seen
    assert len(seen) == 2
    assert len({hash(made(calls)), hash(made(calls))}) == 1
    kept = Verdict([Passage("a", embedding=np.ones(3), metadata={"of": []})], [], False, 1.0, [])
    assert {kept: 1}[pickle.loads(pickle.dumps(kept))] == 1


def test_a_verdict_is_frozen_and_has_no_other_attributes():
    verdict = made([])
    with pytest.raises(FrozenInstanceError):
        verdict.evidence = []
    with pytest.raises(AttributeError, match="no attribute 'evidences'"):
        verdict.evidences  # noqa: B018
    with pytest.raises(AttributeError):
        object.__new__(Verdict).evidence  # noqa: B018
