"""What the pages say of the bounds on calibrations holds in the code and in the results."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.report.result import read
from ragguard.inline.calibration_bounds import (
    MAX_STEP,
    REFERENCE_SHARE,
    K,
    reference_attacks,
    reference_scores,
)
from ragguard.inline.calibration_file import gate_threshold
from tests.docs.claims import ROOT, claim

CALIBRATION, ATTACKER = "docs/calibration.md", "docs/attacker.md"
REASONS = ("attacked", "step", "reference")
KINDS = ("planted", "asked", "asked, highest")
STEPWISE = "asked, step by step"


def rows(name):
    return read(ROOT / "benchmarks" / "results" / f"{name}.json")["sections"][name]


def test_the_constants():
    assert f"{MAX_STEP:g} nat " in claim(CALIBRATION, "step")
    said = claim(CALIBRATION, "reference attacks")
    assert f"{len(reference_attacks())} attacks" in said
    assert f"{100 * REFERENCE_SHARE:.0f} %" in said


@pytest.mark.parametrize("with_reference", [False, True])
def test_where_small_steps_end(with_reference):
    asking = np.array([not attack.naming for attack in reference_attacks()])
    scores = reference_scores(K, with_reference=with_reference)[asking]
    found = np.sort(scores[scores >= gate_threshold(None, 0.01, K, with_reference=with_reference)])
    # The highest threshold at which enough is found: the score of the last that may be lost.
    end = found[int(len(found) * (1 - REFERENCE_SHARE) + 1e-9)]
    for said in (claim(CALIBRATION, "reference attacks"), claim(ATTACKER, "where small steps end")):
        assert f"{end:.1f} nats for k = 5" in said


def test_contaminated_records():
    found = rows("contamination")
    taught = [row for row in found if row["kind"] in KINDS]
    assert {row["share"] for row in taught} == {0.01, 0.012, 0.05, 0.2}
    said = claim(CALIBRATION, "contaminated records")
    as_it_is = [row for row in taught if row["way"] == "as it is"]
    refused, draws = (sum(row[name] for row in as_it_is) for name in ("refused", "draws"))
    assert f"{refused} of {draws} calibrations were refused" in said
    kept = [row for row in taught if row["way"] == "clean_looking"]
    for row in as_it_is:
        if row["refused"] < row["draws"]:
            assert f"{row['threshold']:.1f} nats" in said
            assert row["threshold"] <= kept[0]["threshold"]
            assert row["prepended"] == row["shuffled"] == 1.0
    (threshold,) = {f"{row['threshold']:.1f} nats" for row in kept}
    (prepended,) = {f"{100 * row['prepended']:.0f} %" for row in kept}
    (shuffled,) = {f"{100 * row['shuffled']:.0f} %" for row in kept}
    forced = [100 * row["prepended"] for row in taught if row["way"] == "force"]
    for words in (threshold, prepended, shuffled, f"{min(forced):.0f} to {max(forced):.0f} %"):
        assert words in said
    (stepwise,) = [row for row in found if row["kind"].startswith(STEPWISE)]
    assert stepwise["threshold"] <= 6.75
    assert stepwise["prepended"] >= 0.9


def test_honest_calibrations():
    accepted = {}
    for row in rows("honest_calibrations"):
        share = 1 - sum(row[name] for name in REASONS) / row["draws"]
        accepted.setdefault(row["kind"] == "public retrieval results", []).append(share)
    said = claim(CALIBRATION, "honest calibrations")
    for shares in accepted.values():
        assert f"{100 * min(shares):.0f} to {100 * max(shares):.0f} %" in said
