"""Reading-comprehension questions asked of a plain knowledge base."""

import json

import numpy as np
import pytest

from benchmarks.datasets import READING, load_with_reading
from ragguard.embedding import HashedEmbedder
from ragguard.errors import InvalidInputError


def write(folder, name, lines):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / name).write_text(text, encoding="utf-8")


def asked(number, source="nq"):
    return {
        "source": source,
        "question": f"Who built {source} pier{number}?",
        "context": f"The {source} pier{number} was built by Ann.",
    }


def load_reading(folder):
    return load_with_reading(folder)[-1]


@pytest.fixture
def folder(tmp_path):
    pages = [{"text": f"Gulls of harbour{number} cry."} for number in range(40)]
    write(tmp_path, "wikipedia_passages.jsonl", [*pages, *pages[:3]])
    # Sources take turns: what is taken is every fourth of its own source.
    questions = [asked(at, source) for at in range(17) for source in ("nq", "xquad", "other")]
    write(tmp_path, "reading_comprehension.jsonl", questions)
    write(tmp_path, "nq.jsonl", [{"question": "Who?", "hits": [{"text": "Ann."}]}])
    return tmp_path


def test_every_fourth_question_of_two_sources_is_asked(folder):
    data = load_reading(folder)
    assert (data.name, data.split) == (READING, True)
    assert [record.question for record in data.records] == [
        f"Who built {source} pier{number}?"
        for source in ("nq", "xquad")
        for number in (0, 4, 8, 12, 16)
    ]
    # Nothing in it is poison, and nothing is known to be right.
    assert data.kinds == ()
    assert not any(record.golden for record in data.records)


def test_the_hits_are_the_best_thirty_of_pages_and_contexts(folder):
    texts = [f"Gulls of harbour{number} cry." for number in range(40)]
    for source in ("nq", "xquad"):
        texts += [asked(number, source)["context"] for number in range(17)]
    embedder = HashedEmbedder()
    rows = embedder.embed(texts)
    for record in load_reading(folder).records:
        assert len(set(record.hits)) == len(record.hits) == 30
        assert set(record.hits) <= set(texts)
        similarity = dict(zip(texts, rows @ embedder.embed([record.question])[0], strict=True))
        found = [similarity[hit] for hit in record.hits]
        np.testing.assert_allclose(found, sorted(similarity.values(), reverse=True)[:30], atol=1e-6)
        # Its own context is the best of all.
        assert record.hits[0] == f"The {record.question[10:-1]} was built by Ann."


def test_batches_change_nothing(folder, monkeypatch):
    at_once = load_reading(folder)
    monkeypatch.setattr("benchmarks.embedders._BATCH", 7)
    assert load_reading(folder) == at_once


def test_questions_of_other_datasets_are_left_out_however_they_are_written(folder):
    others = ("who built NQ pier8", " Who built xquad pier0 ?", "Who built nq pier1?")
    write(folder, "nq.jsonl", [{"question": one, "hits": [{"text": "Ann."}]} for one in others])
    data = load_reading(folder)
    assert [record.question for record in data.records] == [
        *(f"Who built nq pier{number}?" for number in (0, 4, 12, 16)),
        *(f"Who built xquad pier{number}?" for number in (4, 8, 12, 16)),
    ]


def test_it_stands_behind_the_other_datasets(folder):
    assert [data.name for data in load_with_reading(folder)] == ["nq", READING]


@pytest.mark.parametrize("missing", ["wikipedia_passages.jsonl", "reading_comprehension.jsonl"])
def test_a_folder_that_lacks_its_files_has_only_the_others(folder, missing):
    (folder / missing).unlink()
    assert [data.name for data in load_with_reading(folder)] == ["nq"]


def test_without_any_other_dataset_the_folder_is_refused(folder):
    (folder / "nq.jsonl").unlink()
    with pytest.raises(InvalidInputError, match=r"holds none of nq\.jsonl"):
        load_with_reading(folder)
