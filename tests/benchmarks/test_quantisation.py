"""How the benchmark of quantised proxies compares what they blame."""

from __future__ import annotations

import pytest

pytest.importorskip("onnxruntime", reason="the proxies are ONNX graphs")
pytest.importorskip("tokenizers", reason="the proxies need their tokenizer")

from benchmarks import quantisation
from ragguard.attribution import Attribution
from ragguard.passage import Passage


def blaming(*texts):
    cause = "poisoning" if texts else "unclear"
    return Attribution("q", "a", "m", [Passage(text) for text in texts], [], 3, cause, "")


def test_identical_sets_by_hand():
    reference = [blaming("a", "b"), blaming("a"), blaming(), blaming()]
    ours = [blaming("b", "a"), blaming("a", "c"), blaming(), blaming("d")]
    assert quantisation._compared(ours, reference) == {
        "events": 4,
        "identical_sets": 0.5,
        "mean_overlap": (1.0 + 0.5 + 1.0 + 0.0) / 4,
        "identical_causes": 0.75,
        "events_with_blame": 2,
        "identical_with_blame": 0.5,
    }


def test_scores_are_compared_where_both_were_asked():
    ours = {("q", "a"): -1.0, ("q", "b"): -2.0, ("q", "c"): 0.0}
    theirs = {("q", "a"): -1.5, ("q", "b"): -2.0, ("q", "d"): 9.0}
    assert quantisation._apart(ours, theirs) == {
        "gc_mean_difference": 0.25,
        "gc_largest_difference": 0.5,
    }
