"""Intervals over questions: all rows of one are drawn together."""

from random import Random

import numpy as np
import pytest

from benchmarks.metrics.counting import _RESAMPLES, attributed, figures, rate


def ends_by_loops(rows, part, whole):
    """Draw questions one by one, and put the rows of each as often as it was drawn into a list."""
    questions = list(dict.fromkeys((row["dataset"], row["question"]) for row in rows))
    shape = _RESAMPLES, len(questions)
    found = []
    for drawn in np.random.default_rng(0).integers(0, len(questions), shape).tolist():
        chosen = []
        for number in drawn:
            of = questions[number]
            chosen += [row for row in rows if (row["dataset"], row["question"]) == of]
        if total := sum(row[whole] for row in chosen):
            found.append(sum(row[part] for row in chosen) / total)
    return tuple(np.quantile(found, [0.025, 0.975]).tolist())


def asked(question, dataset="nq", **more):
    return {"question": question, "dataset": dataset, "one": 1, **more}


def share_of(rows, part, whole="one"):
    return rate([row[part] for row in rows], [row[whole] for row in rows], rows)


def test_rows_of_one_question_are_drawn_together():
    rows = [asked(one, attacked=int(one == "a")) for one in "ababab"]
    # Both questions twice, or one of each: no other share can be drawn, so both ends are reached.
    assert share_of(rows, "attacked").ends == (0.0, 1.0)
    assert share_of(rows, "attacked").value == 0.5
    # Row by row, all six of one kind are drawn once in 64 times, which is too seldom.
    low, high = rate([row["attacked"] for row in rows]).ends
    assert 0.0 < low < high < 1.0
    kept = share_of(rows, "attacked").with_ends()
    assert kept == {"value": 0.5, "low": 0.0, "high": 1.0, "count": 2}


def test_a_question_asked_more_often_says_nothing_more():
    rows = [asked(one, attacked=int(one in "ad")) for one in "abcdefgh"]
    once = share_of(rows, "attacked")
    often = share_of(rows * 5, "attacked")
    assert (often.value, often.ends) == (once.value, once.ends)


def test_a_question_of_another_dataset_is_another_question():
    apart = [asked("1", "nq", attacked=1), asked("1", "msmarco", attacked=0)]
    assert share_of(apart, "attacked").ends == (0.0, 1.0)
    same = [{**row, "dataset": "nq"} for row in apart]
    assert share_of(same, "attacked").ends == (0.5, 0.5)


@pytest.mark.parametrize("seed", range(3))
def test_intervals_are_those_of_rows_drawn_by_loops(seed):
    draw = Random(seed)
    rows = []
    for _ in range(18):
        place = draw.choice("abcde"), draw.choice(["nq", "msmarco"])
        whole = draw.choice([0, 0, 3, 5])
        rows.append(asked(*place, poison=whole, removed=draw.randint(0, whole)))
    assert share_of(rows, "removed", "poison").ends == ends_by_loops(rows, "removed", "poison")
    assert share_of(rows, "removed").ends == ends_by_loops(rows, "removed", "one")


def defended(question, **more):
    names = "planted poison poison_removed benign benign_removed golden golden_removed marked"
    counts = dict.fromkeys(
        [*names.split(), "right", "attacked", "calls", "read", "written", "ms"], 0
    )
    return {**asked(question), **counts, **more}


def test_every_figure_of_a_defence_is_over_questions():
    some = {"planted": 1, "poison": 1, "benign": 1, "golden": 1, "known": True}
    rows = [defended(one, **some) for one in "aabbb"]
    rates = [one for one in figures(rows).values() if hasattr(one, "parts")]
    assert len(rates) >= 12
    assert {len(one.parts) for one in rates} == {2}


def test_every_figure_of_attribution_is_over_questions():
    event = {"found": 1, "missed": 1, "wronged": 0, "spared": 3, "ms": 1.0, "calls": 0}
    count = attributed([{**asked(one), **event} for one in "aabbb"])
    assert {len(count[name].parts) for name in ("dacc", "fpr", "fnr")} == {2}
