"""What README.md and docs/attribution.md say in words about attribution holds in the results.

A claim is found by its mark, so that its words are free; the figures in it are compared.
"""

from __future__ import annotations

from statistics import mean

import pytest

from benchmarks.datasets import OWN
from benchmarks.misgeneration import MAIN_KINDS, PLANTED
from benchmarks.report.result import read
from ragguard.attribution.ragorigin.scope import MIN_SCOPE
from ragguard.demo.corpus import load_corpus
from tests.docs.claims import ROOT, claim

RESULTS = ROOT / "benchmarks" / "results"
PAGE = "docs/attribution.md"


def sections(name):
    return read(RESULTS / f"{name}.json")["sections"]


def rows(found, **values):
    return [row for row in found if all(row[name] == value for name, value in values.items())]


@pytest.fixture(scope="module")
def attribution():
    return sections("attribution")["attribution"]


@pytest.fixture(scope="module")
def part():
    variants = rows(sections("attribution_ablations")["variants"], data="public")
    return {(row["variant"], row["form"]): row for row in variants}


def test_the_readme(attribution):
    ours = rows(attribution["summary"], data="public", method="ragorigin")
    dacc = {row["form"]: row["dacc"] for row in ours}
    said = claim("README.md", "attribution")
    assert f"{dacc['prepend']:.3f}" in said
    assert f"{dacc['plain']:.3f}" in said
    assert f"{100 * ours[0]['clean_blamed']:.1f} %" in said
    took = attribution["ms_per_event"]
    assert f"{took['median']:.0f} ms" in said
    assert f"{took['p95']:.0f} ms" in said
    assert "One in fifty" in claim("README.md", "clean and misread")
    assert ours[0]["clean_blamed_pooled"] == pytest.approx(1 / 50, abs=0.004)
    assert "one in six" in claim("README.md", "clean and misread")
    misread = rows(sections("events")["events"], data="public", stratum="misreading")
    assert misread[0]["causes"]["poisoning"] / misread[0]["events"] == pytest.approx(
        1 / 6, abs=0.01
    )


def test_half_of_what_is_missed_ranks_below_the_scope(attribution):
    assert "alf" in claim(PAGE, "half below the scope")
    plain = rows(attribution["poisoned"], form="plain", method="ragorigin")
    found = [row for row in plain if row["dataset"] != OWN and row["kind"] in MAIN_KINDS]
    below, missed = (mean(row[name] for row in found) for name in ("missed_by_scope", "fnr"))
    assert below / missed == pytest.approx(0.5, abs=0.1)


def test_one_text_that_is_not_found_ends_as_unclear(attribution):
    assert "unclear" in claim(PAGE, "one text unclear")
    for row in attribution["single"]:
        assert row["causes"]["unclear"] == round((1 - row["recall"]) * row["events"])


def test_many_plain_texts():
    assert "two in five" in claim(PAGE, "many texts")
    events = rows(sections("events")["events"], data="public", stratum="many_texts", form="plain")
    found = {row["case"]: row for row in events}
    few = found.pop("5 texts")
    assert len(found) == 3
    for row in found.values():
        assert row["fnr"] > few["fnr"]
        assert row["missed_by_scope"] / row["fnr"] == pytest.approx(0.4, abs=0.07)


def test_what_each_part_was_worth(part):
    assert f"{MIN_SCOPE} passages" in claim(PAGE, "parts")
    ours, plain = part["as shipped", "prepend"], part["as shipped", "plain"]
    for variant in ("scope by Eq. 4 alone", "without GC"):
        assert part[variant, "plain"]["fnr"] > 1.3 * plain["fnr"]
    assert "three times" in claim(PAGE, "parts")
    assert part["no abstention", "plain"]["fpr"] / plain["fpr"] == pytest.approx(3, abs=0.3)
    unmarked = part["without the mark of carriers", "prepend"]
    assert ours["fnr"] / unmarked["fnr"] == pytest.approx(0.5, abs=0.1)
    assert part["without ES", "plain"]["clean_blamed"] > plain["clean_blamed"]
    unfocused = part["without asking for focus", "prepend"]
    assert ours["clean_blamed"] / unfocused["clean_blamed"] == pytest.approx(0.5, abs=0.1)
    assert ours["fpr"] / unfocused["fpr"] == pytest.approx(1 / 3, abs=0.05)
    alone, unfocused = (
        part[name, "one text, plain"]["fnr"] for name in ("as shipped", "without asking for focus")
    )
    assert 0.01 <= alone - unfocused <= 0.02
    unweighed = part["without weighing the standing", "plain"]
    assert plain["fnr"] < unweighed["fnr"]
    assert plain["clean_blamed"] - unweighed["clean_blamed"] == pytest.approx(0.01, abs=0.005)
    mean_of_three = part["plain mean (Eq. 8)", "plain"]
    assert mean_of_three["dacc"] == pytest.approx(plain["dacc"], abs=0.002)
    assert mean_of_three["clean_blamed"] < plain["clean_blamed"]


def test_pages_that_begin_with_the_question():
    corpus = load_corpus()
    own = [question.text.lower().rstrip("?") for question in corpus.questions]
    beginning = [any(p.text.lower().startswith(q) for p in corpus.passages) for q in own]
    variants = rows(sections("attribution_ablations")["variants"], data="own", form="prepend")
    shipped, unmarked = (
        rows(variants, variant=name)[0] for name in ("as shipped", "without the mark of carriers")
    )
    pages = (shipped["fpr"] - unmarked["fpr"]) * (shipped["scope"] - PLANTED) * shipped["events"]
    said = claim(PAGE, "pages that begin with the question")
    assert f"{sum(beginning)} of {len(own)} questions" in said
    assert f"{pages:.0f} of these" in said


def test_the_paper_with_our_scope(part):
    printed = f"the paper, scope of at least {MIN_SCOPE}"
    for form in ("prepend", "plain"):
        assert part[printed, form]["fnr"] < part["as shipped", form]["fnr"]
        assert part[printed, form]["clean_blamed"] == 1.0
    loss = part["as shipped", "plain"]["dacc"] - part[printed, "plain"]["dacc"]
    assert f"{loss:.2f}" in claim(PAGE, "the paper with our scope")


def test_to_rank_is_not_to_decide():
    ranks = rows(sections("influence")["ranks"], temperature=0.1)

    def found(method, generator, form):
        part = rows(ranks, method=method, generator=generator, form=form)
        part = [row for row in part if row["dataset"] != OWN]
        return sum(row["found"] * row["events"] for row in part) / sum(r["events"] for r in part)

    assert "a quarter" in claim(PAGE, "to rank is not to decide")
    for form in ("prepend", "plain"):
        assert found("influence", "two answers", form) > 0.9
        assert 0.3 < found("influence", "reader", form) < 0.55
    assert found("ragorigin", "two answers", "plain") == pytest.approx(0.75, abs=0.03)


def test_size():
    assert "median of 60" in claim(PAGE, "size")
    for row in sections("scale")["scale"]:
        assert row["events"] == 60
        # A flat index is read from end to end, which leaves cold caches behind.
        assert row["against_smallest"] < (1.2 if row["index"] == "flat" else 1.1)
