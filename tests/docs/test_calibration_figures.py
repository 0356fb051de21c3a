"""What the pages say of the bounds on calibrations holds in the code and in the results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.contamination import KINDS, STEPWISE
from benchmarks.honest_calibrations import REASONS
from benchmarks.report import read
from ragguard.embedding import HashedEmbedder
from ragguard.inline.admission import MAX_STEP, REFERENCE_SHARE, gate_line
from ragguard.inline.judge import ConformalJudge
from ragguard.inline.reference import K, reference_attacks, reference_scores

ROOT = Path(__file__).parents[2]
OPERATIONS, ATTACKER = (
    " ".join((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").split())
    for name in ("operations", "attacker")
)


def rows(name):
    return read(ROOT / "benchmarks" / "results" / f"{name}.json")["sections"][name]


def test_the_constants():
    assert f"rises by {MAX_STEP:g} nat at most" in OPERATIONS
    assert f"of the {len(reference_attacks())} attacks that ship" in OPERATIONS
    assert f"at least {REFERENCE_SHARE:.0%} of those".replace("%", " %") in OPERATIONS


@pytest.mark.parametrize("with_reference", [False, True])
def test_where_small_steps_end(with_reference):
    judge = ConformalJudge(HashedEmbedder())
    scores = reference_scores(judge, K, with_reference=with_reference)
    found = np.sort(scores[scores >= gate_line(None, 0.01, K, with_reference=with_reference)])
    # The highest threshold at which enough is found: the score of the last that may be lost.
    end = found[int(len(found) * (1 - REFERENCE_SHARE) + 1e-9)]
    for page in (OPERATIONS, ATTACKER):
        assert f"at {end:.1f} nats for k = 5" in page


def test_contaminated_records():
    found = rows("contamination")
    taught = [row for row in found if row["kind"] in KINDS]
    assert {row["share"] for row in taught} == {0.01, 0.012, 0.05, 0.2}
    for row in taught:
        if row["way"] == "as it is":
            assert row["refused"] == row["draws"]
    kept = [row for row in taught if row["way"] == "clean_looking"]
    assert {f"{row['threshold']:.1f}" for row in kept} == {"6.2"}
    assert {f"{row['prepended']:.0%}" for row in kept} == {"100%"}
    assert {f"{row['shuffled']:.0%}" for row in kept} == {"93%"}
    forced = [row["prepended"] for row in taught if row["way"] == "force"]
    assert (
        f"forced, {min(forced):.0%} to {max(forced):.0%}".replace("%", " %").replace(
            "0 % to", "0 to"
        )
        in OPERATIONS
    )
    (stepwise,) = [row for row in found if row["kind"].startswith(STEPWISE)]
    assert stepwise["threshold"] <= 6.75
    assert stepwise["prepended"] >= 0.9


def test_honest_calibrations():
    accepted = {}
    for row in rows("honest_calibrations"):
        share = 1 - sum(row[name] for name in REASONS) / row["draws"]
        accepted.setdefault(row["kind"] == "public retrieval results", []).append(share)
    for public, words in ((True, "28 to 44 % were accepted"), (False, "0 to 2 %")):
        low, high = min(accepted[public]), max(accepted[public])
        assert words.startswith(f"{100 * low:.0f} to {100 * high:.0f} %")
        assert words in OPERATIONS
