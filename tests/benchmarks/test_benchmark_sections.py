"""Every count of the sections by hand, with a scripted embedder and a scripted defence."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import cost, inline
from benchmarks.datasets import Dataset, Record
from benchmarks.defences.contenders import NONE, Outcome
from benchmarks.retrieval import retrieve
from benchmarks.tables import tables

HITS = tuple(f"hit {i}" for i in range(40))


class Scripted:
    """Similarity 0.9 for texts that begin with "near", else 0.5 less a little a place."""

    name = "scripted"

    def embed(self, texts):
        shares = [1.0 if t == "Who?" else self._similarity(t) for t in texts]
        return np.array([[s, np.sqrt(1 - s * s)] for s in shares], dtype=np.float32)

    def _similarity(self, text):
        return 0.9 if text.startswith("near") else 0.5 - int(text.split()[-1]) / 100


class DropsFirst:
    """Drops the first passage of every set, and moves the rest up."""

    name = "drops first"

    def __init__(self, over_fetch=1):
        self.over_fetch = over_fetch
        self.given = []

    def bind(self, retrieved, k):
        self.given.append(len(retrieved.texts))
        return lambda: len(retrieved.texts)

    def outcome(self, answer, k):
        drops = np.arange(min(answer, k)) == 0
        return Outcome(True, drops, tuple(range(1, answer))[:k])


MARKS_ONE = replace(
    NONE,
    name="marks one",
    outcome=lambda answer, k: replace(NONE.outcome(answer, k), marked=k == 10),
)
"""Drops nothing, and marks a passage of every set of ten."""


def dataset(poison=(), golden=()):
    return Dataset(
        "own", (Record("Who?", HITS, frozenset(golden), {"blind": tuple(poison)}),), split=False
    )


def by_k(rows, defence):
    return {row["k"]: row for row in rows if row["defence"] == defence}


def test_retrieval_ranks_hits_and_poison_together():
    one = dataset(poison=["near 1"], golden=["hit 1"]).records[0]
    ranked = retrieve(one, Scripted(), 3, ["near 1", "far 39"])
    assert ranked.texts == ("near 1", "hit 0", "hit 1")
    assert ranked.poisoned.tolist() == [True, False, False]
    assert ranked.golden.tolist() == [False, False, True]
    assert ranked.embeddings.shape == (3, 2)
    assert ranked.first(2).texts == ("near 1", "hit 0")
    assert ranked.first(2).golden.tolist() == [False, False]


def test_clean_counts():
    rows = inline.clean(
        [dataset(golden=["hit 0"])],
        [Scripted()],
        [NONE, DropsFirst()],
    )
    nothing, first = by_k(rows, "none")[5], by_k(rows, "drops first")[10]
    assert (nothing["queries"], nothing["touched"], nothing["passages"]) == (1, 0, 5)
    assert (nothing["removed"], nothing["golden"], nothing["golden_removed"]) == (0, 1, 0)
    assert (first["queries"], first["touched"], first["passages"]) == (1, 1, 10)
    assert (first["removed"], first["golden"], first["golden_removed"]) == (1, 1, 1)


def test_what_is_dropped_or_marked_is_noticed():
    data, defences = dataset(poison=["near 1"]), [NONE, MARKS_ONE, DropsFirst()]
    found = inline.clean([data], [Scripted()], defences)
    attacked = inline.attack([data], [Scripted()], defences, ["plain"])
    for rows, dropped in ((found, "touched"), (attacked, "fired")):
        for name, counts in (("none", (0, 0)), ("marks one", (0, 1)), ("drops first", (1, 1))):
            row = by_k([row for row in rows if row.get("planted", 1) == 1], name)[10]
            assert (row[dropped], row["noticed"]) == counts
    assert by_k(found, "marks one")[5]["noticed"] == 0
    (table,) = [t for t in tables({"clean": found}) if t.title.startswith("Clean traffic, public")]
    shown = {row[:2]: row[4] for row in table.rows}
    assert table.columns[3:5] == ("touched", "or marked")
    assert shown["10", "marks one"].startswith("100.0 %")


def test_a_golden_passage_that_was_not_retrieved_is_not_counted_as_lost():
    rows = inline.clean([dataset(golden=["hit 39"])], [Scripted()], [DropsFirst()])
    assert all(row["golden"] == row["golden_removed"] == 0 for row in rows)


def test_attack_counts():
    data = dataset(poison=["near 1", "near 2", "far 39"])
    rows = inline.attack([data], [Scripted()], [NONE, DropsFirst()], ["plain"])
    assert {row["planted"] for row in rows} == {1, 5}
    none = by_k([row for row in rows if row["planted"] == 5], "none")[5]
    first = by_k([row for row in rows if row["planted"] == 5], "drops first")[5]
    for row in (none, first):
        assert (row["attempts"], row["sets"], row["poison"], row["benign"]) == (1, 1, 2, 3)
    assert (none["fired"], none["poison_removed"], none["poison_left"]) == (0, 0, 1)
    assert (first["fired"], first["poison_removed"], first["benign_removed"]) == (1, 1, 0)
    assert first["poison_left"] == 1
    single = by_k([row for row in rows if row["planted"] == 1], "drops first")[5]
    assert (single["poison"], single["poison_removed"], single["poison_left"]) == (1, 1, 0)


def test_an_attack_that_is_not_retrieved_is_an_attempt_only():
    rows = inline.attack([dataset(poison=["far 39"])], [Scripted()], [NONE], ["plain"])
    assert all(row["attempts"] == 1 and row["sets"] == row["poison"] == 0 for row in rows)


def test_poison_that_moves_up_from_below_is_poison_left():
    # Rank 5 of 0..: below k = 5, and moved up when the first passage goes.
    data = dataset(poison=["hidden -0", "hit 4"])
    widest = DropsFirst(over_fetch=3)
    rows = inline.attack([data], [Scripted()], [widest], ["plain"])
    row = by_k([row for row in rows if row["planted"] == 5], "drops first")[5]
    assert (row["poison"], row["poison_removed"]) == (1, 0)
    assert row["poison_left"] == 1
    assert set(widest.given) == {15, 30}


@pytest.mark.parametrize("traffic", ["clean", "attacked"])
def test_cost_times_every_defence_and_only_calls(traffic):
    rows = cost.run(
        [dataset(poison=["near 1"])],
        Scripted(),
        [NONE, DropsFirst()],
        limit=1,
        seed=0,
        sizes=(5,),
    )
    row, gram = [row for row in rows if row["traffic"] == traffic]
    assert (row["defence"], gram["defence"]) == ("drops first", cost.GRAM)
    assert gram["fired"] == 0 < gram["median_ms"]
    assert row["samples"] == row["fired"] > 0
    assert 0 < row["median_ms"] <= row["p99_ms"]


def timed(k, defence, ms, *, fired=0):
    return {
        "traffic": "attacked",
        "defence": defence,
        "caches": "warm",
        "k": k,
        "samples": 10,
        "fired": fired,
        "median_cpu_ms": ms,
    }


def test_growth_is_the_exponent_of_the_power_law_that_fits():
    # 2 k beside a matrix of k^2 / 10: k = 5 is left out of the fit, or its 99 would spoil it.
    rows = [timed(5, "cubic", 99.0), timed(5, cost.GRAM, 2.5), timed(5, "groups", 99.0, fired=10)]
    for k in (10, 20, 40):
        rows += [timed(k, "cubic", k**3 / 7), timed(k, cost.GRAM, k**2 / 10)]
        rows += [timed(k, "groups", 2.0 * k + k**2 / 10, fired=10)]
        rows += [timed(k, "ragguard", 2.0 * k, fired=10)]
    found = {row["defence"]: row for row in cost.growth(rows)}
    assert found["cubic"]["exponent"] == found["cubic"]["less_gram"] == 3.0
    assert found[cost.GRAM]["exponent"] == 2.0
    assert found["groups"]["less_gram"] == 1.0 < found["groups"]["exponent"] < 2.0
    # The guard fires, but hardly ever computes the matrix.
    assert found["ragguard"]["less_gram"] == found["ragguard"]["exponent"] == 1.0
    assert found["groups"]["10 to 20"] == pytest.approx(80 / 30, abs=0.005)
    law = found["k log k"]
    assert law["10 to 20"] == pytest.approx(2 * np.log(20) / np.log(10), abs=0.005)
    assert 1.0 < law["exponent"] == law["less_gram"] < 1.5


def test_one_size_has_no_growth():
    rows = [timed(10, cost.GRAM, 1.0), timed(10, "alone", 2.0)]
    assert [row["exponent"] for row in cost.growth(rows)] == [None, None, None]
