"""What contamination costs: attackers who plant and who ask, on a small record."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from benchmarks import contamination, honest_calibrations
from benchmarks.contamination import KINDS, STEPWISE, WAYS, measure, queries
from benchmarks.contamination_tables import tables
from benchmarks.datasets import skerrin
from benchmarks.embedders import built_in
from benchmarks.make_reference import lines
from ragguard.inline.admission import reference_attacks


@pytest.fixture(scope="module")
def asked():
    """Half of the own data as it was recorded, half as it is filtered."""
    records = [replace(record, hits=record.hits[:60]) for record in skerrin().records]
    found = []
    for half in (records[0::2], records[1::2]):
        by_kind = {"clean": [], "prepend": [], "shuffled": [], "asked": []}
        for kind, query in queries(half, built_in()):
            by_kind[kind].append(query)
        found.append(by_kind)
    return found


def test_queries_are_clean_planted_and_asked(asked):
    recorded, _ = asked
    assert len(recorded["clean"]) == 32
    assert len(recorded["prepend"]) >= 30
    assert len(recorded["asked"]) >= 30
    for kind, found in recorded.items():
        for question, passages, rank in found:
            assert len(passages) == 15
            assert (rank is not None) == (kind in ("prepend", "shuffled"))
            if kind == "prepend":
                assert passages[rank].text.startswith(question)
            if kind == "asked":
                assert any(passage.text.startswith(question) for passage in passages)


@pytest.mark.slow
def test_the_attacker_is_refused_capped_or_forced(asked, monkeypatch):
    recorded, filtered = asked
    quiet = [one for one in recorded["clean"] if not one[0].startswith("How hot")]
    many = [(f"{question} {n}", *rest) for question, *rest in quiet for n in range(4)]
    monkeypatch.setattr(contamination, "SHARES", (0.2,))
    rows = measure(
        {**recorded, "clean": many},
        filtered,
        seed=0,
        console=Console(file=io.StringIO()),
        draws=1,
    )
    *mixed, stepwise = rows
    assert [(row.kind, row.way) for row in mixed] == [
        (kind, way) for kind in ("none", *KINDS) for way in WAYS
    ]
    assert stepwise.kind.startswith(STEPWISE)
    assert stepwise.prepended >= 0.9
    for row in rows:
        if row.refused:
            assert row.refused == row.draws == 1
            assert row.prepended is row.threshold is None
        elif row.way != "force":
            assert row.prepended >= 0.9
    taught = [row for row in mixed if row.kind != "none"]
    assert all(row.refused for row in taught if row.way == "as it is")
    assert not any(row.refused for row in taught if row.way != "as it is")
    assert all(
        row.prepended < 0.9 for row in taught if row.kind == "planted" and row.way == "force"
    )
    (table,) = tables([vars(row) for row in rows])
    assert {len(row) for row in table.rows} == {len(table.columns)}


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
    (table,) = honest_calibrations.tables(found)
    assert [row[4:6] for row in table.rows] == [("100 %", "0 %"), ("0 %", "0 %"), ("0 %", "100 %")]
