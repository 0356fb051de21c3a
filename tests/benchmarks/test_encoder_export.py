"""The exported encoder, on a BERT with random weights: the vectors are those of torch."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="exporting needs torch")
transformers = pytest.importorskip("transformers", reason="exporting needs transformers")
tokenizers = pytest.importorskip("tokenizers", reason="exporting needs tokenizers")
pytest.importorskip("onnxscript", reason="exporting needs onnxscript")
pytest.importorskip("onnxruntime", reason="running a graph needs onnxruntime")

from benchmarks.encoder_export import export, quantise  # noqa: E402
from ragguard.embedding import OnnxEmbedder  # noqa: E402

WORDS = ["[PAD]", "[UNK]", *"the old pier lamp tide gull was built in town".split()]
# Two of one length, which a graph that overlooks the words could not tell apart, and a long one.
TEXTS = ["the old pier", "gull in town", "the lamp was built in the old town " * 4, "tide"]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny-bert")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        initializer_range=0.3,
    )
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: n for n, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 48}))
    return folder


@pytest.fixture(scope="module")
def exported(source, tmp_path_factory):
    return export(source, tmp_path_factory.mktemp("exported") / "whole")


@pytest.fixture(scope="module")
def expected(source):
    """Each text on its own through torch, its mean over the tokens at length 1."""
    model = transformers.BertModel.from_pretrained(source).eval()
    rows = []
    for text in TEXTS:
        ids = torch.tensor([[WORDS.index(word) for word in text.split()]])
        with torch.no_grad():
            mean = model(input_ids=ids).last_hidden_state[0].mean(dim=0).numpy()
        rows.append(mean / np.linalg.norm(mean))
    return np.stack(rows)


@pytest.mark.slow
def test_the_graph_gives_the_vectors_of_torch(exported, expected):
    embedder = OnnxEmbedder(exported)
    assert embedder.embed(TEXTS) == pytest.approx(expected, abs=1e-5)
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    assert alone == pytest.approx(expected, abs=1e-5)


def test_padding_changes_nothing(exported, expected):
    from onnxruntime import InferenceSession

    session = InferenceSession(str(exported / "model.onnx"))
    ids = [WORDS.index(word) for word in TEXTS[0].split()]
    (states,) = session.run(
        None,
        {
            "input_ids": np.array([ids + [0] * 5, ids + [4] * 5]),
            "attention_mask": np.array([[1] * 3 + [0] * 5] * 2),
        },
    )
    mean = states[:, :3].mean(axis=1)
    mean /= np.linalg.norm(mean, axis=1, keepdims=True)
    assert mean == pytest.approx(np.stack([expected[0]] * 2), abs=1e-5)


def test_eight_bits_are_near_and_smaller(exported, expected, tmp_path):
    small = quantise(exported, tmp_path / "small")
    cosines = (OnnxEmbedder(small).embed(TEXTS) * expected).sum(axis=1)
    assert 0.98 < cosines.min() < 1 - 1e-7
    sizes = [(folder / "model.onnx").stat().st_size for folder in (small, exported)]
    assert sizes[0] < sizes[1]
    assert sorted(path.name for path in small.iterdir()) == [
        *("model.onnx", "sentence_bert_config.json", "tokenizer.json")
    ]


@pytest.mark.parametrize("write", [export, quantise])
def test_what_is_there_stays(write, tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"mine")
    assert write(tmp_path / "nowhere", tmp_path) == tmp_path
    assert (tmp_path / "model.onnx").read_bytes() == b"mine"
