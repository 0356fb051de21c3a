"""How much less repetition says where a query only names its topic."""

import numpy as np

from benchmarks.query_forms import OFFSETS, by_offset, counted, tables
from benchmarks.retrieval import RetrievedSet

TEXTS = (
    "Marrow Bay Lighthouse. The Marrow Bay lighthouse was built by the crown on the northern tip.",
    "Parish of Marrow. Sand was carried inland by carts until the mill was built by the ford.",
    "Skerrin. The town has a school and a bank.",
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
    assert (row["sets"], row["expected"]) == (1, 1)
    assert (row["fired_as_questions"], row["fired_as_it_is"]) == (1, 0)
    assert (row["hit_as_questions"], row["hit_as_it_is"]) == (1, 0)


def test_a_question_is_counted_alike_both_ways_and_only_with_poison_among_the_first():
    asked = "When was the lighthouse of Marrow Bay built?"
    texts = (f"{asked} It was built in 1911.", *TEXTS)
    quiet = a_set(asked)
    rows = list(counted("attack", "asks", 1, [a_set(asked, planted=True, texts=texts), quiet]))
    assert [row["sets"] for row in rows] == [1] * 4
    assert all(row["hit_as_questions"] == row["hit_as_it_is"] == 1 for row in rows)


def test_the_more_an_offset_takes_off_the_less_is_touched():
    clean = [a_set("Marrow Bay Lighthouse"), a_set("When was the lighthouse built?")]
    attacked = [a_set("Marrow Bay Lighthouse", planted=True)]
    rows = list(by_offset("names", clean, attacked))
    assert [row["k"] for row in rows] == [5, 5, 10, 10]
    assert {(row["sets"], row["attacked"]) for row in rows} == {(2, 1)}
    for row in rows:
        touched = [row[f"touched_{nats:g}"] for nats in OFFSETS]
        assert touched == sorted(touched, reverse=True)
        assert (touched[0], touched[-1]) == (1, 0)
        assert row["found_0"] == 1


def test_tables_show_what_changes():
    found = [a_set("Marrow Bay Lighthouse")] * 2
    rows = list(by_offset("names", found, found))
    counts = [
        *counted("clean", "keyword_traffic: title", 0, found),
        *counted("attack", "asks", 1, [a_set("Who lit it?", planted=True)]),
    ]
    made = list(tables({"expected_offset": rows, "query_forms": counts}))
    assert [len(table.rows) for table in made] == [2, 1, 1, 1]
    assert made[1].rows[0][:4] == ("keyword_traffic: title", "2", "2", "100.0 % / 0.0 %")
