"""The same input gives the same verdict, to the last digit, in every process."""

import hashlib
import os
import subprocess
import sys

import pytest

PROGRAM = """
import dataclasses, sys
import numpy as np
from ragguard import Guard
from ragguard.demo.corpus import ATTACKS, load_corpus, poison
from ragguard.inline.conformal import Calibration
from ragguard.inline.scoring import SCORER

corpus = load_corpus()
always = Calibration(
    scores=np.full(99, -1e3), passage_scores=np.linspace(-7, 3, 99), size=5, with_reference=True,
    scorer=SCORER, source="test",
)

def show(verdict):
    rows = [
        (e.passage_id, e.signal, e.strength.hex(), e.suspicion.hex(), e.flagged,
         [(name, float(value).hex()) for name, value in e.signals.items()])
        for e in verdict.evidence
    ]
    print(verdict.attacked, verdict.p_value.hex(), [p.id for p in verdict.kept], rows)

for options in ({}, {"calibration": always}):
    with Guard(on_error="raise", **options) as guard:
        for number, question in enumerate(corpus.questions[:24]):
            kind = ATTACKS[number % len(ATTACKS)]
            clean = corpus.passages[11 * number : 11 * number + 8]
            show(guard.filter(question.text, clean))
            show(guard.filter(question.text, [*poison(question, kind), *clean], k=6))
with Guard.ragdefender(on_error="raise") as guard:
    for number, question in enumerate(corpus.questions[:24]):
        show(guard.filter(question.text, corpus.passages[11 * number : 11 * number + 8]))
"""


def verdicts(seed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
        timeout=170,
    )
    return done.stdout


@pytest.mark.slow
def test_two_processes_with_different_hash_seeds_give_the_same_verdicts():
    first, second = verdicts("1"), verdicts("4242")
    assert len(first.splitlines()) == 24 * 5
    assert "True" in first
    for one, other in zip(first.splitlines(), second.splitlines(), strict=True):
        assert one == other
    assert hashlib.sha256(first.encode()).digest() == hashlib.sha256(second.encode()).digest()
