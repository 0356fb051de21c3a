"""Honest calibrations and why they are refused; the reference attacks that all are judged by."""

from dataclasses import replace

import pytest

from benchmarks import honest_calibrations
from benchmarks.datasets import skerrin
from benchmarks.make_reference import lines
from ragguard.inline.admission import reference_attacks


def test_the_reference_attacks_are_those_that_are_shipped():
    made = [
        (line["query"], attack["form"], tuple(attack["ranks"]))
        for line in lines()
        for attack in line["attacks"]
    ]
    assert made == [(one.query, one.form, one.planted) for one in reference_attacks()]


@pytest.mark.slow
def test_reasons_are_told_apart():
    records = skerrin().records
    scored = honest_calibrations.recorded(records[:4], 3)
    assert len(scored) == 4
    quiet = [replace(scored[0], score=-1.0, suspicions=(-1.0,), question=str(n)) for n in range(98)]
    high = replace(quiet[0], score=11.5, suspicions=(11.5,), question="a")
    found = [
        next(honest_calibrations.measure("own", record, 3))
        for record in (
            [*quiet, replace(quiet[0], question="x"), replace(quiet[0], question="y")],
            [*quiet, high, replace(high, question="b")],
            [replace(high, question=str(n)) for n in range(100)],
        )
    ]
    counts = [[row[name] for name in honest_calibrations.REASONS] for row in found]
    assert counts == [[0, 0, 0], [0, 50, 0], [50, 0, 0]]
    (table,) = honest_calibrations.tables({"honest_calibrations": found})
    assert [row[4:6] for row in table.rows] == [("100 %", "0 %"), ("0 %", "0 %"), ("0 %", "100 %")]
