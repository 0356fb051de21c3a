"""The benchmark of admission on knowledge bases of its own."""

from __future__ import annotations

import json

import pytest

from benchmarks import admission, fit_admission
from benchmarks.fit_admission import KnowledgeBase, Texts, knowledge_bases
from benchmarks.report.result import read
from ragguard.admission.base import shipped_base, shipped_shares
from tests.docs.claims import ROOT

ASKED = "who mended the roof of the old lamp"


def base(count=300):
    clean = {
        f"Pier {n} lies {n % 7} km off; it was sold in {1700 + n} to the {n % 9} sons of Ann.": n
        % 5
        for n in range(count)
    }
    made = KnowledgeBase("piers", clean)
    for question in range(4):
        texts = [f"{ASKED} {question}? Fenton {at} mended it {question}." for at in range(5)]
        made.plant("own", "prepend", question % 5, texts)
    return made


def test_at_most_one_in_a_hundred_is_planted_at_once():
    rounds = list(base().rounds(("own", "prepend"), 5))
    assert [len(one) for one in rounds] == [5, 5, 5, 5]
    assert [len(one) for one in base().rounds(("own", "prepend"), 1)] == [3, 1]
    mixed = base().with_planted(rounds[0])
    assert (len(mixed), list(mixed)[-5:]) == (305, list(rounds[0]))


@pytest.mark.slow
def test_rows_count_what_is_refused():
    found = admission.run([base()], Texts())
    (clean,) = found["admission_clean"]
    assert clean["passages"] == 300
    assert 0 <= clean["below_line"] <= 1
    assert [(row["count"], row["texts"]) for row in found["admission_planted"]] == [(1, 4), (5, 20)]
    for row in (clean, *found["admission_planted"]):
        assert row["refused"] <= row["looked_at"]
    titles = [table.title for table in admission.tables(found)]
    assert titles == ["Clean passages", "Planted passages"]


def test_shares_are_chosen_for_the_signs_that_find():
    p = {"a": [0.0001] * 9 + [0.5], "b": [0.5] * 10}
    planted = {("kind", "plain", 1): {name: admission.np.array(one) for name, one in p.items()}}
    shares = fit_admission.chosen_shares(planted, ["a", "b"])
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["a"] >= 0.1  # 0.0001 / 0.1 is alpha


def test_the_halves_share_no_passage_and_released_texts_go_to_their_source(tmp_path):
    records = [
        {
            "id": str(n),
            "question": f"what is {n}",
            "hits": [{"text": f"page {n} {at}"} for at in range(30)] + [{"text": "on both"}],
            "poison": {"own": [f"It is {n}."] * 7},
        }
        for n in range(4)
    ]
    released = [
        {"id": f"arena-nq-{n}", "poison": {"other": [{"texts": ["one", "two"]}, {"texts": ["no"]}]}}
        for n in range(2)
    ]
    for name, lines in (("nq", records), ("released_attacks", released)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (choosing,), (report,) = (knowledge_bases(tmp_path, half) for half in (0, 1))
    assert "on both" in choosing.clean
    assert not choosing.clean.keys() & report.clean.keys()
    assert len(report.clean) == 60
    assert report.planted[("own", "prepend")] == [
        (0, ("what is 1 It is 1.",)),
        (1, ("what is 3 It is 3.",)),
    ]
    assert report.planted[("other (released)", "plain")] == [(0, ("one", "two"))]


def test_what_ships_is_what_the_page_says():
    page = (ROOT / "docs" / "admission.md").read_text()
    assert f"{shipped_base().count:,} clean" in " ".join(page.split())
    assert sum(shipped_shares().values()) == pytest.approx(1.0)
    result = read(ROOT / "benchmarks" / "results" / "admission.json")["sections"]
    refused = sum(row["refused"] for row in result["admission_clean"])
    assert f"of the {refused} refused passages" in page
    (cost,) = read(ROOT / "benchmarks" / "results" / "scan_time.json")["sections"]["admission_cost"]
    assert cost["passages"] == 100_000
    assert f"{cost['seconds']:.0f} s in one process" in page
    assert f"({cost['processor_seconds']:.0f} s of processor time)" in " ".join(page.split())
    assert json.dumps(result)
