"""The picture of a verdict: what it holds, with any text, and that it is a picture."""

import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from ragguard import Guard, Passage
from ragguard.embedding import HashedEmbedder
from ragguard.errors import InvalidInputError, MissingExtraError
from ragguard.explain import _apart, draw, explain

QUESTION = "When was the lighthouse of Marrow Bay built?"
QUIET = [
    "Wool was sold on Mondays by the church.",
    "A mill stood by the ford until the flood.",
    "Gulls nest on the northern cliffs.",
]
POISON = [f"{QUESTION} It was built in 19{year} by the crown." for year in (11, 12)]
NASTY = [
    "",
    " ",
    "$x^{",
    "costs $5 or \\frac{1}",
    "nul \x00 bell \x07",
    "lone \ud800",
    "東京 Ж \u202e",
]


def explained(passages, query=QUESTION, k=None, **options):
    given = [
        p if isinstance(p, Passage) else Passage(p, id=f"p{n}") for n, p in enumerate(passages)
    ]
    with Guard(**options) as guard:
        return explain(query, given, guard.filter(query, given, k=k), HashedEmbedder())


def words(path):
    root = ElementTree.parse(path).getroot()
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_question_is_placed_unless_passages_carry_vectors():
    found = explained([*POISON, *QUIET])
    assert found.places.shape == (6, 2)
    assert 0.0 < found.shown <= 1.0
    gaps = np.linalg.norm(found.places[:5] - found.places[5], axis=1)
    assert gaps[:2].max() < gaps[2:].min()
    rng = np.random.default_rng(0)
    carried = [Passage(text, embedding=rng.normal(size=4)) for text in (*POISON, *QUIET)]
    assert explained(carried).places.shape == (5, 2)


def test_every_passage_its_fate_and_its_reason_stand_beside_the_plot(tmp_path):
    pytest.importorskip("matplotlib")
    found = explained([*POISON, *QUIET])
    draw(found, tmp_path / "x.svg")
    text = words(tmp_path / "x.svg")
    assert QUESTION in text
    assert sum(line.startswith("DROPPED ") for line in text) == 2
    assert sum(line.startswith("kept ") for line in text) == 3
    whole = " ".join(text)
    for evidence in found.verdict.evidence:
        assert evidence.reason in whole
        assert evidence.passage_id in whole
    for number in "12345":
        assert text.count(number) == 2
    assert any("2 of 5 passages dropped" in line for line in text)
    assert {"kept", "dropped", "question"} <= set(text)


def test_monitor_mode_says_what_would_be_dropped(tmp_path):
    pytest.importorskip("matplotlib")
    draw(explained([*POISON, *QUIET], mode="monitor"), tmp_path / "x.svg")
    text = words(tmp_path / "x.svg")
    assert sum(line.startswith("WOULD BE DROPPED ") for line in text) == 2
    assert any("would be dropped (monitor mode)" in line for line in text)
    assert not any(line.startswith("DROPPED") for line in text)


def test_the_same_verdict_is_the_same_file(tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg"):
        draw(explained([*POISON, *QUIET]), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize("name", ["x.png", "x.PNG", "x.svg"])
@pytest.mark.parametrize(
    ("query", "passages"),
    [
        (QUESTION, [QUIET[0]]),
        (QUESTION, [QUIET[0]] * 4),
        ("", QUIET),
        ("$", NASTY),
        ("long " * 500, ["x" * 100_000, *POISON]),
        (QUESTION, [f"{QUIET[n % 3]} {n}" for n in range(40)]),
    ],
    ids=["one", "equal", "no question", "nasty", "long", "many"],
)
def test_any_set_can_be_drawn(tmp_path, name, query, passages):
    pytest.importorskip("matplotlib")
    draw(explained(passages, query), tmp_path / name)
    content = (tmp_path / name).read_bytes()
    if name.lower().endswith("png"):
        assert content.startswith(b"\x89PNG")
    else:
        assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"


def test_a_verdict_that_could_not_be_judged_says_so(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    # Every attacked set is in doubt.
    monkeypatch.setattr("ragguard.inline.judge.may_join", lambda p, s, found: ~found)

    class Broken:
        name = "broken"

        def embed(self, texts):
            raise RuntimeError("no")

    draw(explained([*POISON, *QUIET], embedder=Broken()), tmp_path / "x.svg")
    assert any(
        line.startswith("Not judged, all passages kept") for line in words(tmp_path / "x.svg")
    )


def test_numbers_keep_apart_and_inside():
    rng = np.random.default_rng(1)
    for places in (np.full((6, 2), 0.5), rng.uniform(0.1, 0.9, (12, 2)), np.array([[0.5, 0.5]])):
        numbers = _apart(places)
        gaps = np.linalg.norm(numbers[:, None] - numbers[None], axis=2)
        np.fill_diagonal(gaps, 1.0)
        assert gaps.min() > 0.05
        assert ((numbers >= 0.04) & (numbers <= 0.96)).all()


def test_what_is_refused(tmp_path, monkeypatch):
    found = explained(QUIET)
    with pytest.raises(InvalidInputError, match="does not explain 2"):
        explain(QUESTION, list(found.passages[:2]), found.verdict, HashedEmbedder())
    with pytest.raises(InvalidInputError, match="at least one"):
        explained([])
    with pytest.raises(InvalidInputError, match=r"\.svg or \.png"):
        draw(found, tmp_path / "x.pdf")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"\[explain\]"):
        draw(found, tmp_path / "x.svg")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path):
    pytest.importorskip("matplotlib")
    with pytest.raises(InvalidInputError, match="cannot write"):
        draw(explained(QUIET), tmp_path / "nowhere" / "x.svg")
