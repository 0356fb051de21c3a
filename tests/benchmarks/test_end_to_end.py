"""The end-to-end benchmark: which sets, whose turn, and what the rows say; no model is loaded."""

from random import Random

import numpy as np
import pytest

from benchmarks import end_to_end
from benchmarks.datasets import skerrin
from benchmarks.embedders import Tally
from benchmarks.end_to_end import Contender, rows, sets, time_sets
from ragguard.embedding import HashedEmbedder
from ragguard.errors import InvalidInputError


def test_the_same_questions_are_asked_clean_and_attacked():
    given = sets([skerrin()], k=5, limit=3, seed=0)
    asked = {traffic: [one.question for one in found] for traffic, found in given.items()}
    assert asked["clean"] == asked["attacked"]
    assert len(set(asked["clean"])) == 3
    assert all(len(one.texts) == 5 for found in given.values() for one in found)
    assert not any(one.poisoned.any() for one in given["clean"])
    assert all(one.poisoned.any() for one in given["attacked"])
    assert list(given) == ["clean", "attacked", "attacked, dropped"]
    # The same texts, but less of the question in front of them.
    whole, less = (
        {
            text
            for one in given[name]
            for text, bad in zip(one.texts, one.poisoned, strict=True)
            if bad
        }
        for name in ("attacked", "attacked, dropped")
    )
    assert max(map(len, less)) < max(map(len, whole))


def test_every_contender_is_prepared_and_called_once_a_round():
    prepared, called = [], []

    def contender(name, drops):
        def prepare(found):
            prepared.append((name, found))

            def call():
                called.append((name, found))
                return drops

            return call

        return Contender(name, "none", prepare)

    timed = [contender("drops", 2), contender("keeps", 0)]
    given = ["one", "two"]
    time_sets(timed, given, rounds=3, order=Random(0))
    # Three rounds and one before them that is not counted.
    assert called == prepared
    assert all(called.count((name, one)) == 4 for name in ("drops", "keeps") for one in given)
    assert [len(contender.wall) for contender in timed] == [6, 6]
    assert [contender.fired for contender in timed] == [6, 0]


def test_calls_that_embed_are_counted():
    tally = Tally(HashedEmbedder())

    def prepare(found):
        tally.embed([found])  # before the clock starts: not counted
        return lambda: len(tally.embed([found])) if found == "doubtful" else 0

    timed = [Contender("asks", "cold", prepare, tally), Contender("always", "none", prepare)]
    time_sets(timed, ["doubtful", "clear", "clear"], rounds=2, order=Random(0))
    assert [contender.embedded for contender in timed] == [2, 6]
    assert timed[0].fired == 2
    assert (tally.embed(["a"]) == HashedEmbedder().embed(["a"])).all()


def test_rows_compare_with_the_package():
    fast = Contender("ragguard", "cold", lambda _: lambda: 0, None, [1_000_000], [500_000])
    slow = Contender(
        "package single_hop", "none", lambda _: lambda: 1, None, [4_000_000], [5_000_000], 1, 1
    )
    mine, theirs = rows([fast, slow], traffic="clean", threads=1)
    assert (mine["median_ms"], mine["median_cpu_ms"]) == (1.0, 0.5)
    assert (mine["times_faster"], mine["times_less_cpu"]) == (4.0, 10.0)
    assert (mine["mean_ms"], mine["times_faster_mean"], mine["embedded"]) == (1.0, 4.0, 0)
    assert theirs["embedded"] == 1
    assert (theirs["times_faster"], theirs["times_less_cpu"]) == pytest.approx((1.0, 1.0))
    assert (theirs["fired"], theirs["samples"], theirs["traffic"]) == (1, 1, "clean")


def test_a_graph_that_is_another_model_is_not_timed(monkeypatch, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("sentence_transformers")

    class Embedder:
        def __init__(self, folder):
            self.name = folder.name

        def embed(self, texts):
            return np.eye(2)[[0] * len(texts)]

    monkeypatch.setattr("sentence_transformers.SentenceTransformer", lambda *_, **__: None)
    monkeypatch.setattr(end_to_end, "minilm_folder", lambda: tmp_path)
    monkeypatch.setattr(end_to_end, "export", lambda _, folder: folder)
    monkeypatch.setattr(end_to_end, "quantise", lambda _, folder: folder)
    monkeypatch.setattr(end_to_end, "OnnxEmbedder", Embedder)
    monkeypatch.setattr(end_to_end, "_encoded", lambda _, texts: np.eye(2)[[1] * len(texts)])
    given = sets([skerrin()], k=5, limit=1, seed=0)
    with pytest.raises(InvalidInputError, match=r"not the model that torch runs \(cosine 0\.0000"):
        end_to_end.run(given, [1], 1, 0)
