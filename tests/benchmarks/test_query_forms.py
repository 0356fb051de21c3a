"""How much less repetition says where a query only names its topic."""

import numpy as np
import pytest

from benchmarks import query_forms
from benchmarks.query_forms import chosen, counted, tables
from benchmarks.retrieval import RetrievedSet

TEXTS = (
    "Marrow Bay Lighthouse. The Marrow Bay lighthouse was built by the crown on the northern tip.",
    "Parish of Marrow. Sand was carried inland by carts until the mill was built by the ford.",
)


def a_set(question, *, planted=False, texts=TEXTS):
    first = np.arange(len(texts)) == 0
    nowhere = np.zeros(len(texts), dtype=bool)
    rows = np.zeros((len(texts), 1), dtype=np.float32)
    return RetrievedSet(
        question, texts, rows, first if planted else nowhere, nowhere if planted else first
    )


def test_a_title_is_left_alone_only_as_it_is():
    (row, *_) = counted("clean", "titles", 0, [a_set("Marrow Bay Lighthouse")])
    assert (row["sets"], row["topics"]) == (1, 1)
    assert (row["fired_as_questions"], row["fired_as_it_is"]) == (1, 0)
    assert (row["hit_as_questions"], row["hit_as_it_is"]) == (1, 0)


def test_a_question_is_counted_alike_both_ways_and_only_with_poison_among_the_first():
    asked = "When was the lighthouse of Marrow Bay built?"
    texts = (f"{asked} It was built in 1911.", *TEXTS)
    quiet = a_set(asked)
    rows = list(counted("attack", "asks", 1, [a_set(asked, planted=True, texts=texts), quiet]))
    assert [row["sets"] for row in rows] == [1] * 4
    assert all(row["hit_as_questions"] == row["hit_as_it_is"] == 1 for row in rows)


@pytest.mark.parametrize(("queries", "offset"), [(100, 3.0), (1000, 1.0)])
def test_the_offset_lets_be_touched_what_the_sample_can_vouch_for(monkeypatch, queries, offset):
    # Of a hundred none may lie above the line; of a thousand the three that score highest may.
    sets = [a_set(f"name {number}") for number in range(queries)]
    scores = {one.question: 8.0 if number < 3 else 6.0 for number, one in enumerate(sets)}
    monkeypatch.setattr(
        query_forms, "highest", lambda one, setting, topic: (scores[one.question], 0.0)
    )
    monkeypatch.setattr(query_forms, "line", lambda setting: 5.0)
    found, rows = chosen(sets)
    assert found == offset
    assert [row["queries"] for row in rows] == [queries] * 4


def test_tables_show_what_changes():
    found = [a_set("Marrow Bay Lighthouse")] * 2
    _, rows = chosen(found)
    counts = [
        *counted("clean", "keyword_traffic: title", 0, found),
        *counted("attack", "asks", 1, [a_set("Who lit it?", planted=True)]),
    ]
    made = list(tables({"topic_offset": rows, "query_forms": counts}))
    assert [len(table.rows) for table in made] == [4, 1, 1, 1]
    assert made[1].rows[0][:4] == ("keyword_traffic: title", "2", "2", "100.0 % / 0.0 %")
