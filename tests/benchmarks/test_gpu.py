"""Ways to score, compared with the first: agreement and differences, with no GPU needed."""

from __future__ import annotations

import numpy as np
import pytest
from rich.progress import Progress

from benchmarks import gpu
from benchmarks.misgeneration import Selection
from benchmarks.proxies import reports
from ragguard.proxy import LexicalProxy, Scores


class Shifted(LexicalProxy):
    def score(self, contexts, query, response):
        found = super().score(contexts, query, response)
        return Scores(found.semantic_correlation + 0.25, found.generation_influence)


class Flat(LexicalProxy):
    def score(self, contexts, query, response):
        same = np.zeros(len(contexts))
        return Scores(same, same)


@pytest.mark.slow
def test_the_first_way_is_what_the_others_are_compared_with():
    [(_, records, base)] = Selection(None, 2, 0, 1).datasets()
    events = [one for record in records for one in reports(record, base, 0)]
    ways = {"first": LexicalProxy, "shifted": Shifted, "flat": Flat}
    with Progress(disable=True) as progress:
        rows = gpu.run(events, ways, progress)
    first, shifted, flat = rows
    assert [row["way"] for row in rows] == list(ways)
    assert first["identical"] == first["identical_alone"] == first["events"] == len(events)
    assert first["largest_difference"] == 0.0
    # What is added to all passages of a scope changes no blame.
    assert shifted["identical_alone"] == len(events)
    assert shifted["largest_difference"] == pytest.approx(0.25)
    assert flat["identical_alone"] < len(events)
    [table] = gpu.tables({"device": "a card", "gpu": rows})
    assert "a card" in table.title
    assert table.rows[0][4:] == ("100.0 %", "100.0 %", "0.0")
