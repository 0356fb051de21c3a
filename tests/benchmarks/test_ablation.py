"""Candidates by hand, changes to the detectors, and their tables."""

import doctest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import ablation, candidates
from benchmarks.ablation import Change, Refits, changes, main, soup
from benchmarks.ablation_tables import tables
from benchmarks.candidates import (
    CANDIDATES,
    candidate_matrix,
    closeness,
    concentration,
    window_share,
)
from benchmarks.datasets import Record
from benchmarks.fitting.plans import PLANS, Plan
from benchmarks.fitting.samples import FOLDS, Sample, Samples
from benchmarks.report import result as results
from benchmarks.tables import README
from ragguard.errors import CalibrationError
from ragguard.inline.features import SIGNALS
from ragguard.inline.scoring import BY_HAND, Detector
from ragguard.inline.tokens import tokenize_passage, tokenize_query

QUERY = tokenize_query("Who built the old pier?")


def read(*texts):
    return [tokenize_passage(text) for text in texts]


WHOLE = "Who built the old pier, Ann said."
NONE = "Herring was landed here."


class TestCandidates:
    def test_the_examples_in_the_docstrings_hold(self):
        result = doctest.testmod(candidates)
        assert result.attempted >= 1
        assert result.failed == 0

    def test_closeness_is_the_distance_to_the_best_of_those_below(self):
        assert closeness(QUERY, read(WHOLE, NONE, NONE), 1).tolist() == [1.0]
        assert closeness(QUERY, read(WHOLE, NONE, WHOLE), 2).tolist() == [0.0, 0.0]

    def test_closeness_without_any_below_is_the_distance_to_the_median(self):
        assert closeness(QUERY, read(WHOLE, NONE, NONE), 3).tolist() == [1.0, 0.0, 0.0]
        assert closeness(QUERY, read(WHOLE, WHOLE, NONE), 3).tolist() == [0.0, 0.0, 0.0]

    def test_concentration_counts_the_others_that_share_a_term(self):
        texts = read("Ann Crake", "Ann did the pier", "the pier", "gulls")
        # Ann: one of the three others; "pier" and "the" are the question's or say nothing.
        assert concentration(QUERY, texts, 4).tolist() == [1 / 3, 1 / 3, 0.0, 0.0]

    def test_concentration_takes_off_what_those_below_share(self):
        texts = read("Ann", "Ann", "Ann", "gulls")
        assert concentration(QUERY, texts, 2).tolist() == [0.5, 0.5]
        assert concentration(QUERY, read("Ann", "Ann", "Ann"), 2).tolist() == [0.0, 0.0]

    def test_the_window_by_hand(self):
        query = tokenize_query("who built the pier")
        for text, share in {
            "pier, the? built! who": 1.0,
            "who x x built": 0.5,
            "who x x x built": 0.25,
            "who who who": 0.25,
            "": 0.0,
        }.items():
            assert window_share(query, tokenize_passage(text)) == share
        assert window_share(tokenize_query(""), tokenize_passage("who")) == 0.0

    @given(*[st.lists(st.sampled_from("who built the pier x".split()), max_size=30)] * 2)
    def test_the_window_equals_that_of_trying_all(self, asked, said):
        shares = [
            len(set(asked) & set(said[at : at + len(asked)])) / len(set(asked))
            for at in range(len(said) if asked else 0)
        ]
        seen = window_share(tokenize_query(" ".join(asked)), tokenize_passage(" ".join(said)))
        assert seen == max(shares, default=0.0)

    def test_the_stemmed_window_sees_through_endings(self):
        columns = dict(
            zip(CANDIDATES, candidate_matrix(QUERY, read("builts piers old"), 1)[0], strict=True)
        )
        # "Who built the old pier": old of five as it stands; pier as well without its ending.
        assert columns["window"] == 1 / 5
        assert columns["stemmed_window"] == 3 / 5

    def test_the_misspelt_window_by_hand(self):
        # Neither numbers nor other scripts count as misspelt; a short text counts as twenty words.
        texts = read("Who built old pire thw 1874 3rd \u6771\u4eac", f"Who built {'thw ' * 48}")
        found = candidate_matrix(QUERY, texts, 2)[:, CANDIDATES.index("misspelt_window")]
        assert found.tolist() == pytest.approx([3 / 5 * 2 / 20, 2 / 5 * 48 / 50])

    @pytest.mark.slow
    @given(
        st.lists(st.sampled_from([WHOLE, NONE, "teh piir wsa bulit", "", "Ann"]), min_size=1),
        st.sampled_from(["Who built the old pier?", "", "the"]),
        st.data(),
    )
    def test_shares_of_every_passage(self, texts, question, data):
        k = data.draw(st.integers(1, len(texts)))
        matrix = candidate_matrix(tokenize_query(question), read(*texts), k)
        assert matrix.shape == (k, len(CANDIDATES))
        assert ((matrix >= 0) & (matrix <= 1)).all()


class TestChanges:
    def test_every_signal_and_detector_is_left_out_once_and_every_candidate_added(self):
        found = list(changes())
        assert found[0] == Change("none", "", PLANS, BY_HAND)
        names = {(change.kind, change.name) for change in found[1:]}
        assert names == (
            {("without signal", name) for name in SIGNALS}
            | {("without detector", name) for name in (*PLANS, *BY_HAND)}
            | {("with candidate", name) for name in CANDIDATES}
        )
        assert len(found) == 1 + len(names)

    @pytest.mark.parametrize("change", list(changes()), ids=lambda change: change.name)
    def test_what_is_left_out_is_nowhere_and_the_rest_stays(self, change):
        used = {name for plan in change.plans.values() for name in plan.signals}
        used |= {name for one in change.by_hand.values() for name in one.weights}
        if change.kind == "without signal":
            assert used == set(SIGNALS) - {change.name}
        elif change.kind == "without detector":
            assert {*change.plans, *change.by_hand} == {*PLANS, *BY_HAND} - {change.name}
        elif change.kind == "with candidate":
            assert all(plan.signals[-1] == change.name for plan in change.plans.values())
            assert used == {*SIGNALS, change.name}


def half(seed, telling):
    """200 clean sets, and 50 attacked ones that `telling` of (a, b) marks."""
    draw = np.random.default_rng(seed)
    for number in range(250):
        signals = draw.random((5, 2)) * 0.2
        poisoned = np.zeros(5, dtype=bool)
        attacked = number >= 200
        if attacked:
            poisoned[0] = True
            signals[0, "ab".index(telling)] = 0.9
        form = "prepend" if attacked else "clean"
        yield Sample(signals, poisoned, form, int(attacked), (5, False), number % FOLDS)


def samples_of(telling):
    return [Samples(list(half(seed, telling)), ("a", "b")) for seed in (0, 1)]


def shares(rows):
    return {(row["form"], row["planted"]): row["detected"] / row["sets"] for row in rows}


class TestRefits:
    def test_without_the_signal_that_tells_nothing_is_detected(self):
        refits = Refits(*samples_of("a"))
        both = shares(refits.rows(Change("none", "", {"x": Plan(("a", "b"), ("prepend",))}, {})))
        one = shares(refits.rows(Change("", "", {"x": Plan(("b",), ("prepend",))}, {})))
        assert both["prepend", 1] == 1.0
        assert one["prepend", 1] < 0.2
        assert max(both["clean", 0], one["clean", 0]) <= 0.05

    def test_a_detector_set_by_hand_counts_as_well(self):
        plans = {"x": Plan(("b",), ("prepend",))}
        by_hand = {"hand": Detector(-100.0, {"a": 1000.0})}
        without = shares(Refits(*samples_of("a")).rows(Change("", "", plans, {})))
        rows = Refits(*samples_of("a")).rows(Change("", "", plans, by_hand))
        assert shares(rows)["prepend", 1] == 1.0 > without["prepend", 1]
        assert {row["sets"] for row in rows} == {200, 50}

    def test_the_threshold_is_that_of_the_choosing_half(self):
        choosing, report = samples_of("a")
        # A hundred times louder: not one clean set of the report half would pass for clean.
        louder = [
            Sample(s.signals * 100, s.poisoned, s.form, s.count, s.setting, s.fold)
            for s in report.found
        ]
        plans = {"x": Plan(("a",), ("prepend",))}
        rows = Refits(choosing, Samples(louder, ("a", "b"))).rows(Change("", "", plans, {}))
        assert shares(rows)["clean", 0] == 1.0
        # By their own threshold one clean set of 200 is touched, and all of the poison.
        assert [row["detected_own"] for row in rows] == [1, 50]

    def test_a_plan_is_fitted_once(self, monkeypatch):
        fitted = []
        original = ablation.fit_detector
        monkeypatch.setattr(
            ablation, "fit_detector", lambda *args: fitted.append(args) or original(*args)
        )
        refits = Refits(*samples_of("a"))
        change = Change("", "", {"x": Plan(("a",), ("prepend",))}, {})
        assert refits.rows(change) == refits.rows(change)
        assert len(fitted) == 1 + FOLDS

    def test_too_few_clean_sets_have_no_threshold(self):
        few = Samples(list(half(0, "a"))[150:], ("a", "b"))
        with pytest.raises(CalibrationError, match="at least 99"):
            Refits(few, few).rows(Change("", "", {"x": Plan(("a",), ("prepend",))}, {}))


def test_soup_is_words_of_the_hits_in_front_of_the_text():
    hits = tuple(f"alpha{chr(97 + i)} beta{chr(97 + i)} 17" for i in range(20))
    record = Record("Who?", hits, frozenset(), {})
    out = soup(record, "Ann did.", 20)
    words = out.removesuffix(" Ann did.").split()
    assert len(words) == len(set(words)) == 20
    assert set(words) <= {word for hit in hits for word in hit.split() if word.isalpha()}
    assert soup(record, "Ann did.", 20) == out
    assert len(soup(record, "Ann did.", 50).split()) == 40 + 2


def row(change, name, form, planted, detected, sets=100):
    counts = {"sets": sets, "detected": detected, "detected_own": detected // 2}
    return {"change": change, "name": name, "form": form, "planted": planted, **counts}


ROWS = [
    row("none", "", "clean", 0, 1, 200),
    row("none", "", "prepend", 1, 90),
    row("none", "", "middle", 1, 40),
    row("none", "", "spread", 1, 60),
    row("without signal", "boundary_overlap", "clean", 0, 3, 200),
    row("without signal", "boundary_overlap", "prepend", 1, 90),
    row("without signal", "boundary_overlap", "middle", 1, 41),
    row("without signal", "boundary_overlap", "spread", 1, 30),
]


def test_tables_give_differences_in_points_of_means_over_forms():
    found = {table.title: table for table in tables(ROWS)}
    every, line = found["Ablation: one signal left out"].rows
    assert every[:4] == ("all", "0.50 %", "90.0 / - %", "50.0 / - %")
    assert line[:4] == ("boundary_overlap", "+1.00", "0 / -", "-14.5 / -")
    assert line[-1] == "spread, M = 1: -30.0"
    by_form = found["Ablation: detected with all signals"].rows
    assert by_form[1] == ("prepend", "100", "90.0%", "0", "-")
    own = found["Ablation: one signal left out, as many clean sets touched"].rows[0]
    assert own[2] == "45.0 / - %"
    changed = ("one signal left out", "one detector left out", "one candidate added")
    assert [table.title for table in found.values()] == [
        "Ablation: detected with all signals",
        *(f"Ablation: {change}" for change in changed),
        *(f"Ablation: {change}, as many clean sets touched" for change in changed),
    ]


@pytest.mark.slow
def test_a_folder_with_too_little_data_is_refused(tmp_path, capsys):
    (tmp_path / "nq.jsonl").write_text(
        '{"question": "Who?", "hits": [{"text": "Ann."}], "poison": {"blind": ["Who? Bob."]}}\n'
        * 2
        * FOLDS,
        encoding="utf-8",
    )
    assert main(["--data", str(tmp_path)]) == 2
    assert "at least 99" in " ".join(capsys.readouterr().err.split())


def test_the_page_has_a_section_and_a_line_for_every_signal():
    page = (README.parent.parent / "docs" / "signals.md").read_text(encoding="utf-8")
    sections = [part.splitlines()[0] for part in page.split("\n### ")[1:]]
    assert sections == list(SIGNALS)
    result = results.read(README.parent / "results" / "ablation.json")
    measured = {
        row["name"] for row in result["sections"]["ablation"] if row["change"] == "without signal"
    }
    assert measured
    for signal in measured:
        assert page.count(f"\n| {signal} | ") >= 2
    for candidate in CANDIDATES:
        assert f"\n- `{candidate}`: " in page
