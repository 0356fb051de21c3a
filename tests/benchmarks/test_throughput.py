"""The throughput benchmark runs every way of calling a guard."""

import pytest

from benchmarks.throughput import measure, traffic


@pytest.mark.slow
def test_every_way_is_measured():
    result = measure(rounds=1, workers=[1])
    ways = {(row["how"], row["store"]) for row in result["rates"]}
    assert ways == {
        (how, store)
        for how in ("one by one", "filter_batch", "threads", "asyncio", "processes")
        for store in ("memory", "sqlite")
    }
    assert all(row["per_s"] > 0 < row["cpu_us"] for row in result["rates"])
    assert min(result["recording"].values()) > 0


def test_every_fifth_question_is_attacked():
    queries = traffic()
    assert all(len(passages) == 5 for _, passages in queries)
    assert all(passage.embedding is None for _, passages in queries for passage in passages)
    questions = [query for query, _ in queries]
    attacked = [any(query in p.text for p in passages) for query, passages in queries]
    assert len(set(questions)) == len(questions)
    assert all(attacked[::5])
