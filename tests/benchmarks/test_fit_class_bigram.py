"""The fit of the class bigram, on the project's own data."""

import numpy as np
import pytest

from benchmarks.datasets import Dataset, Record, load_folder, skerrin
from benchmarks.fit_class_bigram import _oddness, fit, plain_texts, write
from ragguard.inline import class_bigram as model_of_pairs
from ragguard.inline.class_bigram import OTHER_SCRIPT, SHAPES, class_bigram
from ragguard.inline.features.gibberish import gibberish
from ragguard.text import tokens


@pytest.fixture(scope="module")
def pages():
    return [tokens(text) for text in skerrin().records[0].hits]


@pytest.fixture(scope="module")
def model(pages):
    return fit(pages, pages)


@pytest.mark.slow
def test_the_project_s_own_pages(pages, model):
    # The most frequent word has the first class after the shapes, alone.
    assert [word for word, number in model.classes.items() if number == SHAPES] == ["the"]
    found = [gibberish(page, model) for page in pages]
    backwards = [gibberish(page[::-1], model) for page in pages]
    assert np.mean(found) < np.mean(backwards) / 2


def test_oddness_by_hand():
    pairs = np.zeros((256, 256))
    pairs[10, 11] = pairs[11, 10] = 8.0
    choice = np.zeros(256)
    choice[11] = 4.0
    oddness = _oddness(pairs, choice)
    # Seen 8 times where chance has 4, with 2 more added to both: ln(10 / 6) above chance.
    assert oddness[10, 11] == pytest.approx(np.log(2) - np.log(10 / 6) + 4.0 / 4)
    assert oddness[11, 10] == pytest.approx(np.log(2) - np.log(10 / 6))
    # Never seen where chance has 4.
    assert oddness[10, 10] == pytest.approx(np.log(2) - np.log(2 / 6))


@pytest.mark.slow
def test_what_is_written_is_read(model, tmp_path, monkeypatch):
    write(tmp_path / "word_classes.npz", model)
    monkeypatch.setattr(model_of_pairs.resources, "files", lambda package: tmp_path)
    read = class_bigram.__wrapped__()
    assert read.classes == model.classes
    assert (read.oddness == model.oddness).all()
    assert not read.oddness.reshape(256, 256)[OTHER_SCRIPT].any()


def test_nothing_that_was_retrieved_is_learnt_from(tmp_path):
    (tmp_path / "nq.jsonl").write_text('{"question": "q", "hits": [{"text": "kept back"}]}\n')
    (tmp_path / "wikipedia_passages.jsonl").write_text(
        '{"id": "1", "text": "kept back"}\n{"id": "2", "text": "learnt"}\n'
    )
    assert plain_texts(tmp_path, load_folder(tmp_path)) == ["learnt"]
    reported = Dataset("nq", (Record("q", (), frozenset(), {}),) * 2, split=True)
    assert plain_texts(tmp_path, [reported]) == ["kept back", "learnt"]
