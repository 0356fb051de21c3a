"""Data of others by format, data that is fetched by name, and what a result says of its data."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from benchmarks.cells import load_suite
from benchmarks.datasets import OWN
from benchmarks.datasets.sources import file_of, load, origin
from benchmarks.measuring import Place
from benchmarks.plugins import find
from benchmarks.report.result import read
from benchmarks.suite_command import finished, main, run
from ragguard import demo
from ragguard.errors import InvalidInputError

ROOT = Path(__file__).resolve().parents[2]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return path


def one(number, texts, wrong, right="Ann"):
    adversarial = [{"score": 1.5, "context": text} for text in texts]
    asked = {"id": f"test{number}", "question": f"Who built pier {number}?"}
    return {**asked, "adv_texts": adversarial, "incorrect_answer": wrong, "answer": right}


@pytest.fixture
def arena(tmp_path):
    """Two methods with two false answers each, and one that has no false answer to give."""
    folder = tmp_path / "attacker_data"
    write(folder / "gaslite" / "gaslite-ans2.json", [one(1, ["Bo did."], "Bo"), one(2, [], "Bo")])
    write(folder / "gaslite" / "gaslite-ans5.json", [one(1, ["Cy did."], "Cy")])
    write(folder / "corpus_poison" / "corpus-ans1.json", [one(1, ["qx Di", "zv Di"], "Di")])
    write(folder / "garag" / "GARAG5-ans.json", [one(1, ["Anm did."], None, ["Ann", "A. Lark"])])
    passage = {"_id": "p1", "title": "Pier", "text": "Pier 1 was built by Ann."}
    write(tmp_path / "corpus.jsonl", json.dumps(passage))
    return folder


def test_poisonarena_is_read(arena):
    first, second = load(f"poisonarena:{arena}", None).report
    assert (first.id, first.question) == ("test1", "Who built pier 1?")
    assert first.poison == {
        "corpus_poisoning": ("qx Di", "zv Di"),
        "garag": ("Anm did.",),
        "gaslite": ("Bo did.",),
    }
    assert (first.correct, first.incorrect) == (("Ann",), ("Di", "Bo"))
    assert first.hits == ("Pier Pier 1 was built by Ann.",)
    assert (second.id, second.poison) == ("test2", {"gaslite": ()})
    texts = find("attacks", "corpus_poisoning").plant(first, 1, None)
    assert list(texts) == ["qx Di"]


def test_a_folder_of_another_format_is_refused(tmp_path):
    write(tmp_path / "gaslite" / "a.json", {"test1": {}})
    with pytest.raises(InvalidInputError, match="not of the format poisonarena"):
        load(f"poisonarena:{tmp_path}", None)


@pytest.fixture
def fetched(monkeypatch):
    """A module in the place of `ir_datasets`, with one small set."""

    def doc(key, text, **more):  # some sets have no titles
        return SimpleNamespace(doc_id=key, text=text, **more)

    def judged(query, key, relevance):
        return SimpleNamespace(query_id=query, doc_id=key, relevance=relevance)

    docs = [doc("p1", "Ann built the pier.", title="Pier"), doc("p2", "Herring is sold.")]
    queries = [SimpleNamespace(query_id=key, text=f"Who built {key}?") for key in ("q1", "q2")]
    qrels = [judged("q1", "p1", 1), judged("q1", "p2", 0), judged("q2", "gone", 1)]
    small = SimpleNamespace(
        docs_iter=lambda: iter(docs),
        queries_iter=lambda: iter(queries),
        qrels_iter=lambda: iter(qrels),
    )
    module = ModuleType("ir_datasets")
    unjudged = SimpleNamespace(docs_iter=small.docs_iter, queries_iter=small.queries_iter)
    module.load = {"beir/small/test": small, "beir/small": unjudged}.__getitem__
    monkeypatch.setitem(sys.modules, "ir_datasets", module)
    load.cache_clear()
    yield
    load.cache_clear()


def test_beir_is_fetched_by_name_where_there_is_no_folder(fetched):
    assert file_of("beir:small/test", None) is None
    (record,) = load("beir:small/test", None).report
    assert (record.id, record.question) == ("q1", "Who built q1?")
    assert record.golden == {"Pier Ann built the pier."}
    assert set(record.hits) == {"Pier Ann built the pier.", "Herring is sold."}
    expected = {"records": 1, "split": "all records", "sha256": None, "licence": None}
    assert origin("beir:small/test", None) == expected
    with pytest.raises(InvalidInputError, match="beir/unknown"):
        load("beir:unknown", None)
    with pytest.raises(InvalidInputError, match="qrels_iter"):
        load("beir:small", None)


def test_a_folder_comes_before_a_name(fetched, tmp_path, monkeypatch):
    folder = tmp_path / "small" / "test"
    write(folder / "corpus.jsonl", json.dumps({"_id": "p1", "text": "Bo built it."}))
    write(folder / "queries.jsonl", json.dumps({"_id": "q1", "text": "Who built it?"}))
    write(folder / "qrels" / "test.tsv", "query-id\tcorpus-id\tscore\nq1\tp1\t1\n")
    monkeypatch.chdir(tmp_path)
    assert [record.hits for record in load("beir:small/test", None).report] == [("Bo built it.",)]


def test_without_the_package_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(ImportError, match=r"nfcorpus/test is no folder; pip install ir_datasets"):
        load("beir:nfcorpus/test", None)
    told = origin("beir:nfcorpus/test", None)
    assert (told["records"], told["sha256"]) == (None, None)
    suite = write(
        tmp_path / "fetched.toml",
        'attacks = ["none"]\ndefences = ["none"]\nreaders = ["likelihood"]\n'
        'datasets = ["beir:nfcorpus/test"]\n',
    )
    (cell,) = load_suite(str(suite), None).cells
    place = Place(None, tmp_path / "run")
    list(run([cell], place))
    assert "pip install ir_datasets" in finished(cell, place)["reason"]


@pytest.mark.slow
def test_the_library_is_not_imported_before_it_is_needed():
    code = "import sys, benchmarks.suite_command; sys.exit('ir_datasets' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


# What a result says of its data


def test_the_origin_of_a_file_of_the_data_folder(tmp_path):
    lines = [json.dumps({"question": f"Who is {n}?", "hits": []}) for n in range(5)]
    file = write(tmp_path / "nq.jsonl", "\n".join(lines))
    told = origin("nq", tmp_path)
    assert (told["records"], told["split"]) == (2, "odd records")
    assert told["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert told["licence"].startswith("MIT (PoisonedRAG)")
    write(tmp_path / "mine.jsonl", lines[0])
    assert origin("mine", tmp_path)["licence"] is None


def test_the_origin_of_our_own_data_and_of_a_folder(arena):
    told = origin(OWN, None)
    data = Path(demo.__file__).with_name("data")
    content = b"".join(path.read_bytes() for path in sorted(data.iterdir()) if path.is_file())
    assert told["sha256"] == hashlib.sha256(content).hexdigest()
    assert (told["records"], told["split"], told["licence"]) == (64, "all records", "Apache-2.0")
    before = origin(f"poisonarena:{arena}", None)["sha256"]
    write(arena / "gaslite" / "gaslite-ans2.json", [])
    assert origin(f"poisonarena:{arena}", None)["sha256"] != before


def test_every_result_of_a_suite_says_which_data_it_is_of(tmp_path):
    suite = write(
        tmp_path / "tiny.toml",
        'attacks = ["none"]\ndefences = ["none"]\nreaders = ["likelihood"]\n'
        'datasets = ["skerrin"]\nquestions = 1\n',
    )
    out = ["--folder", str(tmp_path / "run"), "--rows", str(tmp_path / "rows.json")]
    assert main(["run", str(suite), *out]) == 0
    result = read(tmp_path / "rows.json")
    assert result["records"] == {"skerrin": 64}
    assert result["data"] == {"skerrin": origin("skerrin", None)}
    # A result from before they had this is read all the same.
    old = {name: value for name, value in result.items() if name != "data"}
    path = write(tmp_path / "old.json", {**old, "records": {}})
    assert main(["compare", str(path), str(tmp_path / "rows.json")]) == 0


def test_results_from_before_are_read():
    for path in sorted((ROOT / "benchmarks" / "results").glob("suite_*.json")):
        assert read(path)["sections"]["suite_cells"], path.name
