"""Events with a language model for the proxy: what is kept, and the rows."""

from __future__ import annotations

import numpy as np
import pytest
from rich.progress import Progress

from benchmarks import proxies
from benchmarks.misgeneration import Selection
from ragguard.proxy import LexicalProxy


class Counting(LexicalProxy):
    gain_power = 0.5

    def __init__(self):
        self.asked = []

    def score(self, contexts, query, response):
        self.asked += contexts
        return super().score(contexts, query, response)


def test_nothing_is_scored_twice_and_a_later_run_goes_on(tmp_path):
    texts = ["Orla Venn built it.", "It rained.", "Orla Venn built it."]
    first = Counting()
    before = proxies.Remembered(first, tmp_path / "kept.sqlite")
    scores = before.score(texts, "Who built it?", "Orla Venn")
    expected = LexicalProxy().score(texts, "Who built it?", "Orla Venn")
    np.testing.assert_array_equal(scores.generation_influence, expected.generation_influence)
    np.testing.assert_array_equal(scores.semantic_correlation, expected.semantic_correlation)
    before.score(texts[:1], "Who built it?", "Orla Venn")
    assert (first.asked, before.gain_power) == (texts[:2], 0.5)
    second = Counting()
    after = proxies.Remembered(second, tmp_path / "kept.sqlite")
    after.score([*texts, "Snow."], "Who built it?", "Orla Venn")
    assert second.asked == ["Snow."]


@pytest.mark.slow
def test_rows_and_tables_of_the_projects_own_data():
    with Progress(disable=True) as progress:
        found = proxies.run(
            Selection(None, 3, 0, 1),
            LexicalProxy(),
            {"other": LexicalProxy()},
            shares=(0.5,),
            progress=progress,
        )
    rows = {(row["proxy"], row["case"], row["form"]): row for row in found["proxies"]}
    assert {name for name, *_ in rows} == {"lexical", "0.5 of the model", "the model"}
    assert rows["lexical", "five texts", "prepend"]["events"] == 3
    assert rows["lexical", "five texts", "prepend"]["fnr"] == 0.0
    assert rows["lexical", "nothing planted", "none"]["blamed"] == 0
    mixed, form = found["proxy_forms"]
    assert mixed["form"] == "other, 0.5 of the model"
    assert form["identical"] == form["events"] > form["with_blame"] > 0
    measures, clean, forms = proxies.tables(found)
    assert measures.columns == ("event", "form", "lexical", "0.5 of the model", "the model")
    assert clean.rows == (("nothing planted", "0 of 3", "0 of 3", "0 of 3"),)
    assert [*proxies.tables({**found, "proxy_forms": []})] == [measures, clean]
    assert forms.rows[1] == ("other, the model", str(form["events"]), "100.0 %", "100.0 %")
