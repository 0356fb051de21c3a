"""One signal left out: what is fitted then, what the gate detects, and the table, by hand."""

import numpy as np
import pytest

from benchmarks.fit_manner import FOLDS
from benchmarks.samples import PLANS, Plan, Sample, Samples
from benchmarks.signal_worth import detected, left_out, main, tables
from benchmarks.tables import README
from ragguard.errors import CalibrationError
from ragguard.inline.features import SIGNALS
from ragguard.inline.scoring import BY_HAND, Detector


@pytest.mark.parametrize(("signal", "detectors"), list(left_out()), ids=["all", *SIGNALS])
def test_what_is_left_out_is_nowhere_and_the_rest_stays(signal, detectors):
    plans, by_hand = detectors
    used = {name for plan in plans.values() for name in plan.signals}
    used |= {name for one in by_hand.values() for name in one.weights}
    assert used == set(SIGNALS) - {signal}
    if not signal:
        assert (plans, by_hand) == (PLANS, BY_HAND)


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


def counted(choosing, report, signals, by_hand=()):
    change = ({"x": Plan(signals, ("prepend",))}, dict(by_hand))
    return shares(detected(choosing, report, iter([("", change)])))


@pytest.mark.slow
def test_without_the_signal_that_tells_nothing_is_detected():
    both, one = (counted(*samples_of("a"), names) for names in (("a", "b"), ("b",)))
    assert both["prepend", 1] == 1.0
    assert one["prepend", 1] < 0.2
    assert max(both["clean", 0], one["clean", 0]) <= 0.05


def test_a_detector_set_by_hand_counts_as_well():
    by_hand = {"hand": Detector(-100.0, {"a": 1000.0})}
    assert counted(*samples_of("a"), ("b",), by_hand)["prepend", 1] == 1.0


@pytest.mark.slow
def test_the_threshold_is_that_of_the_choosing_half():
    choosing, report = samples_of("a")
    # A hundred times louder: not one clean set of the report half would pass for clean.
    louder = [
        Sample(s.signals * 100, s.poisoned, s.form, s.count, s.setting, s.fold)
        for s in report.found
    ]
    assert counted(choosing, Samples(louder, ("a", "b")), ("a",))["clean", 0] == 1.0


def test_too_few_clean_sets_have_no_threshold():
    few = Samples(list(half(0, "a"))[150:], ("a", "b"))
    with pytest.raises(CalibrationError, match="at least 99"):
        counted(few, few, ("a",))


def row(without, form, planted, found, sets=100):
    counts = {"sets": sets, "detected": found}
    return {"without": without, "form": form, "planted": planted, **counts}


def test_the_table_gives_differences_in_points_of_means_over_forms():
    rows = [
        *(row("", "clean", 0, 1, 200), row("", "prepend", 1, 90)),
        *(row("", "middle", 1, 40), row("", "spread", 1, 60)),
        *(row("boundary_overlap", "clean", 0, 3, 200), row("boundary_overlap", "prepend", 1, 90)),
        *(row("boundary_overlap", "middle", 1, 41), row("boundary_overlap", "spread", 1, 30)),
    ]
    (table,) = tables({"signal_worth": rows})
    every, line = table.rows
    assert every == ("all", "0.50", "90.0 / -", "50.0 / -", "- / -", "- / -")
    assert line == ("boundary_overlap", "1.50", "+0.0 / -", "-14.5 / -", "- / -", "- / -")


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


def test_the_page_has_a_section_for_every_signal():
    page = (README.parent.parent / "docs" / "signals.md").read_text(encoding="utf-8")
    assert [part.splitlines()[0] for part in page.split("\n### ")[1:]] == list(SIGNALS)
