"""RAGDefender's protocol: the sets, the counts, and the comparison, by hand."""

import json

import numpy as np

from benchmarks import protocol
from benchmarks.datasets import Dataset, Record
from benchmarks.defences.contenders import Outcome
from benchmarks.protocol import TOGETHER, compared, poisoned_set, run, tables, texts_of

HITS = tuple(f"hit {i}" for i in range(8))


class Scripted:
    """Similarity by the number at the end: 0 is nearest to the question."""

    name = "scripted"

    def embed(self, texts):
        shares = [1.0 if t == "Who?" else 0.9 - int(t.split()[-1]) / 100 for t in texts]
        return np.array([[s, np.sqrt(1 - s * s)] for s in shares], dtype=np.float32)


class Drops:
    """Drops the given positions, where there are any."""

    def __init__(self, name, positions, over_fetch=1):
        self.name = name
        self.over_fetch = over_fetch
        self.positions = positions
        self.given = []

    def bind(self, retrieved, k):
        self.given.append((len(retrieved.texts), k))
        return lambda: None

    def outcome(self, answer, k):
        drops = np.isin(np.arange(k), self.positions)
        return Outcome(bool(drops.any()), drops, tuple(np.flatnonzero(~drops).tolist()))


def record(golden=("hit 6",), **poison):
    texts = {kind: tuple(f"{kind} {i}" for i in numbers) for kind, numbers in poison.items()}
    return Record("Who?", HITS, frozenset(golden), texts)


def test_the_golden_passage_is_among_the_benign_ones_and_the_rest_ranks_below():
    found, k = poisoned_set(record(), Scripted(), 2, ["gpt4 1", "gpt4 3"])
    assert k == 4
    assert found.texts[:4] == ("hit 0", "gpt4 1", "gpt4 3", "hit 6")
    assert found.poisoned.tolist() == [False, True, True, False] + [False] * 6
    assert found.golden.tolist() == [False] * 3 + [True] + [False] * 6
    assert found.texts[4:] == tuple(f"hit {i}" for i in (1, 2, 3, 4, 5, 7))
    assert found.embeddings.shape == (10, 2)


def test_without_a_golden_passage_the_best_hits_are_benign():
    found, k = poisoned_set(record(golden=()), Scripted(), 3, ["gpt4 1"])
    assert found.texts[:k] == ("hit 0", "hit 1", "gpt4 1", "hit 2")
    assert not found.golden.any()


def test_the_writers_texts_come_together_in_order_each_once():
    one = record(poisonedrag=(1,), gpt4=(2, 2), gemini=(3,), blind=(4,))
    assert texts_of(one, TOGETHER, "plain") == ["poisonedrag 1", "gpt4 2", "gemini 3"]
    assert texts_of(one, "gpt4", "prepend") == ["Who? gpt4 2"]


def test_a_question_counts_where_it_has_enough_texts():
    # Two benign passages: six texts reach ratios 1 and 2, together with two more also 4.
    data = Dataset("hotpotqa", (record(gpt4=range(6), gemini=(10, 11)),), split=False)
    rows = run([data], [Scripted()], [Drops("ragguard", ())], ["plain"])
    assert [(row["kind"], row["ratio"]) for row in rows] == [
        ("gpt4", 1),
        ("gpt4", 2),
        ("gemini", 1),
        ("together", 1),
        ("together", 2),
        ("together", 4),
    ]
    assert all(row["poison"] == row["ratio"] * row["benign"] for row in rows)


def test_counts():
    # Best first: hit 0, gpt4 1, gpt4 2, hit 6 (golden).
    data = Dataset("hotpotqa", (record(gpt4=(1, 2)),), split=False)
    all_but_one, wide = Drops("ragguard", (0, 1, 3)), Drops("wide", (), over_fetch=3)
    rows = run([data], [Scripted()], [all_but_one, wide], ["plain"])
    first, second = (row for row in rows if row["kind"] == "gpt4")
    assert (first["questions"], first["fired"]) == (1, 1)
    assert (first["poison"], first["poison_removed"]) == (2, 1)
    assert (first["benign"], first["benign_removed"]) == (2, 2)
    assert (first["golden"], first["golden_removed"]) == (1, 1)
    assert all_but_one.given[0] == (4, 4)
    # Twelve are asked for, ten are there.
    assert (second["fired"], second["reference"]) == (0, 6)
    assert wide.given[0] == (10, 4)


def cell(defence, poison_removed, benign_removed, dataset="nq"):
    return {
        **{"dataset": dataset, "kind": "gpt4", "form": "prepend", "ratio": 1, "embedder": "e"},
        **{"defence": defence, "questions": 2, "poison": 10, "poison_removed": poison_removed},
        **{"benign": 10, "benign_removed": benign_removed},
    }


def test_no_worse_means_in_both_measures():
    rows = [
        cell("ragguard", 9, 1),
        cell("ragguard 3x", 9, 2),
        cell("paper clustering", 8, 1),
        cell("paper concentration", 10, 0),
        cell("ragguard", 7, 0, "hotpotqa"),
        cell("ragguard 3x", 10, 0, "hotpotqa"),
        cell("paper clustering", 0, 10, "hotpotqa"),
        cell("paper concentration", 8, 4, "hotpotqa"),
        cell("package multi_hop", 5, 5, "hotpotqa"),
    ]
    single, multi = compared(rows)
    assert (single["ragguard: no_worse"], single["ragguard: margin"]) == (True, 0.0)
    assert (single["ragguard 3x: no_worse"], single["ragguard 3x: margin"]) == (False, -0.1)
    assert (multi["ragguard: no_worse"], multi["ragguard: margin"]) == (False, -0.1)
    assert (multi["ragguard 3x: no_worse"], multi["ragguard 3x: margin"]) == (True, 0.2)
    assert (single["package: detected"], multi["package: detected"]) == (None, 0.5)
    by_ratio, _, worst = tables({"cells": [single, multi]})
    means = ("80.0 % / 5.0 %", "95.0 % / 10.0 %", "80.0 % / 25.0 %", "50.0 % / 50.0 %")
    assert by_ratio.rows == (("1", *means, "1 of 2"),)
    assert worst.rows[0][0] == "hotpotqa, gpt4, 1, e"


def test_a_folder_without_the_papers_datasets_is_refused(tmp_path, capsys):
    line = json.dumps({"question": "Who?", "hits": []})
    (tmp_path / "simpleqa.jsonl").write_text(line + "\n", encoding="utf-8")
    assert protocol.main(["--data", str(tmp_path)]) == 2
    assert "holds none of nq" in " ".join(capsys.readouterr().err.split())
