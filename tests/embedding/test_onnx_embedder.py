"""The ONNX embedder, on graphs that the test builds: a table of word vectors, and their mean."""

import json
import os
import shutil
import sys
from contextlib import suppress
from itertools import chain

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="needs onnx to build a model")
pytest.importorskip("onnxruntime", reason="needs onnxruntime")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from ragguard import Guard  # noqa: E402
from ragguard.embedding import Embedder, OnnxEmbedder  # noqa: E402
from ragguard.embedding.onnx import length_buckets, load_runtime  # noqa: E402
from ragguard.errors import EmbeddingError, MissingExtraError  # noqa: E402

TABLE = np.array(
    [[1, 1, 1, 1], [1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 4], [-1, 0, 0, 1]],
    dtype=np.float32,
)


def save_graph(path, nodes, constants, inputs, outputs):
    """Save a graph of token ids; `outputs` has their shapes."""
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "tokens"]) for n in inputs],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, outputs[n]) for n in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    onnx.save(model, str(path))


def save_model(path, *, inputs=("input_ids", "attention_mask"), outputs=("last_hidden_state",)):
    """Save a graph that looks up TABLE; other outputs are constants, or the sum over the tokens."""
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    constants = {"table": TABLE, "noise": np.full((1, 4), 9, np.float32), "axes": np.array([1])}
    if "pooler_output" in outputs:
        nodes.append(helper.make_node("Identity", ["noise"], ["pooler_output"]))
    if "sentence_embedding" in outputs:
        summed = (["last_hidden_state", "axes"], ["sentence_embedding"])
        nodes.append(helper.make_node("ReduceSum", *summed, keepdims=0))
    shapes = {
        "last_hidden_state": ["batch", "tokens", 4],
        "pooler_output": [1, 4],
        "sentence_embedding": ["batch", 4],
    }
    save_graph(path, nodes, constants, inputs, {name: shapes[name] for name in outputs})


@pytest.fixture
def folder(tmp_path, tiny_tokenizer):
    path = tmp_path / "tiny-model"
    path.mkdir()
    tiny_tokenizer.save(str(path / "tokenizer.json"))
    save_model(path / "model.onnx")
    return path


def mean_of(*rows):
    mean = TABLE[list(rows)].mean(axis=0)
    return mean / np.linalg.norm(mean)


def test_a_text_is_the_mean_of_its_tokens(folder):
    embedder = OnnxEmbedder(folder)
    assert isinstance(embedder, Embedder)
    assert embedder.name == "onnx:tiny-model"
    rows = embedder.embed(["pier", "pier lamp tide", "gull gull ?", "unknown words"])
    assert rows.dtype == np.float32
    assert rows == pytest.approx(
        np.stack([mean_of(1), mean_of(1, 2, 3), mean_of(4, 4, 5), mean_of(0, 0)]), abs=1e-6
    )


@pytest.mark.parametrize("batch_size", [1, 2, 3, 100])
def test_the_order_of_the_texts_stays_whatever_the_batches(folder, batch_size):
    texts = ["pier lamp tide gull", "pier", "", "lamp tide", "gull", "tide tide tide", "?"]
    rows = OnnxEmbedder(folder, batch_size=batch_size).embed(texts)
    alone = [OnnxEmbedder(folder).embed([text])[0] for text in texts]
    assert rows == pytest.approx(np.stack(alone), abs=1e-6)
    assert not rows[2].any()


def test_no_texts_have_no_rows(folder):
    assert OnnxEmbedder(folder).embed([]).shape[0] == 0


def test_lone_surrogates_are_embedded(folder):
    embedder = OnnxEmbedder(folder)
    assert (embedder.embed(["pier \ud800"]) == embedder.embed(["pier ?"])).all()


def test_long_texts_are_cut(folder):
    long = " ".join(["pier"] * 3 + ["lamp"] * 1000)
    assert OnnxEmbedder(folder, max_length=3).embed([long])[0] == pytest.approx(mean_of(1))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 4}))
    assert OnnxEmbedder(folder).embed([long])[0] == pytest.approx(mean_of(1, 1, 1, 2))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": None}))
    assert OnnxEmbedder(folder).embed([long])[0] == pytest.approx(mean_of(*[1] * 3, *[2] * 253))


def test_a_models_own_sentence_vector_is_taken(folder):
    both = ("last_hidden_state", "sentence_embedding")
    for outputs in (both, both[::-1]):
        save_model(folder / "model.onnx", outputs=outputs)
        assert OnnxEmbedder(folder).embed(["pier lamp"])[0] == pytest.approx(mean_of(1, 2))


def test_the_pooled_output_of_a_bert_is_not(folder):
    save_model(folder / "model.onnx", outputs=("last_hidden_state", "pooler_output"))
    assert OnnxEmbedder(folder).embed(["pier lamp"])[0] == pytest.approx(mean_of(1, 2))


@pytest.mark.parametrize(
    "inputs",
    [
        ("input_ids",),
        ("input_ids", "attention_mask", "token_type_ids"),
        ("input_ids", "token_type_ids"),
    ],
)
def test_a_model_is_fed_what_it_takes(folder, inputs):
    save_model(folder / "model.onnx", inputs=inputs)
    assert OnnxEmbedder(folder).embed(["pier lamp"])[0] == pytest.approx(mean_of(1, 2))


def test_the_model_may_lie_in_a_folder_of_its_own(folder):
    (folder / "onnx").mkdir()
    shutil.move(folder / "model.onnx", folder / "onnx" / "model.onnx")
    embedder = OnnxEmbedder(str(folder), threads=1)
    assert embedder.embed(["pier"])[0] == pytest.approx(mean_of(1))


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_that_lacks_a_file_is_named(folder, missing):
    (folder / missing).unlink()
    with pytest.raises(EmbeddingError, match=r"must hold tokenizer\.json and model\.onnx"):
        OnnxEmbedder(folder)
    with pytest.raises(EmbeddingError):
        OnnxEmbedder(folder / "nowhere")


@pytest.mark.parametrize("damaged", ["model.onnx", "tokenizer.json", "sentence_bert_config.json"])
def test_a_damaged_file_is_an_embedding_error(folder, damaged):
    (folder / damaged).write_bytes(b"{ no model")
    with pytest.raises(EmbeddingError, match="cannot load "):
        OnnxEmbedder(folder)


def test_a_provider_that_is_not_there_is_named(folder):
    with pytest.raises(EmbeddingError, match="provider NoSuchProvider is not available"):
        OnnxEmbedder(folder, providers=["NoSuchProvider", "CPUExecutionProvider"])


def save_normalising_model(path):
    """Save the table of words, added to itself and normalised: what ONNX Runtime would fuse."""
    constants = {
        "table": TABLE,
        "square": np.tri(4, dtype=np.float32),
        "scale": np.ones(4, np.float32),
        "bias": np.zeros(4, np.float32),
    }
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["words"]),
        helper.make_node("MatMul", ["words", "square"], ["turned"]),
        helper.make_node("Add", ["turned", "words"], ["sum"]),
        helper.make_node("LayerNormalization", ["sum", "scale", "bias"], ["last_hidden_state"]),
    ]
    shape = {"last_hidden_state": ["batch", "tokens", 4]}
    save_graph(path, nodes, constants, ["input_ids"], shape)


def test_what_is_not_fused_gives_the_same_vectors(folder):
    save_normalising_model(folder / "model.onnx")
    summed = TABLE @ np.tri(4, dtype=np.float32) + TABLE
    centred = summed - summed.mean(axis=1, keepdims=True)
    states = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    mean = states[[1, 2, 3]].mean(axis=0)
    row = OnnxEmbedder(folder).embed(["pier lamp tide"])[0]
    assert row == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


@pytest.mark.parametrize(
    ("providers", "left_out"),
    [
        (None, ["SkipLayerNormFusion"]),
        (["CPUExecutionProvider"], ["SkipLayerNormFusion"]),
        (["CUDAExecutionProvider", "CPUExecutionProvider"], None),
    ],
)
def test_the_slow_fusion_is_left_out_on_the_cpu_only(folder, monkeypatch, providers, left_out):
    import onnxruntime

    asked = []
    load = onnxruntime.InferenceSession

    def session(path, options, *, providers, disabled_optimizers):
        asked.append((providers, disabled_optimizers))
        return load(path, options, providers=["CPUExecutionProvider"])

    offered = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: offered)
    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    with suppress(EmbeddingError):  # the session that is handed out has no other provider
        OnnxEmbedder(folder, providers=providers)
    assert asked == [(providers or ["CPUExecutionProvider"], left_out)]


def test_without_its_packages_it_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match="onnx"):
        OnnxEmbedder(folder)


def test_it_serves_a_guard(folder):
    question = "When was the old pier of the town built?"
    texts = [f"{question} pier lamp {word}" for word in ("tide", "gull", "tide tide")]
    with Guard(embedder=OnnxEmbedder(folder), on_error="raise") as guard:
        verdict = guard.filter(question, texts)
    assert verdict.attacked


def little_padding(tokens):
    return 1.15 * tokens


@given(st.lists(st.integers(1, 300), max_size=40), st.integers(1, 8))
def test_batches_hold_every_text_once_and_little_padding(lengths, size):
    batches = list(length_buckets(lengths, size, little_padding))
    assert sorted(chain.from_iterable(batches)) == list(range(len(lengths)))
    for batch in batches:
        inside = [lengths[position] for position in batch]
        assert 1 <= len(batch) <= size
        assert max(inside) * len(inside) <= 1.15 * sum(inside)


@given(st.lists(st.integers(1, 100), max_size=40), st.integers(1, 300), st.integers(1, 12))
def test_batches_hold_no_more_tokens_than_may_be(lengths, tokens, rows):
    batches = list(length_buckets(lengths, rows, lambda _: tokens))
    flat = list(chain.from_iterable(batches))
    assert sorted(flat) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) <= rows
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= tokens
    assert [lengths[i] for i in flat] == sorted(lengths)


def test_texts_of_like_length_share_a_batch():
    assert list(length_buckets([20, 300, 21, 20, 290], 8, little_padding)) == [[0, 3, 2], [4, 1]]
    assert list(length_buckets([5, 5, 5], 2, little_padding)) == [[0, 1], [2]]


@pytest.mark.parametrize(("set_to", "kept"), [(None, "1"), ("0", "0")])
def test_the_runtime_tells_nobody_of_its_use_unless_told_to(monkeypatch, set_to, kept):
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY", raising=False)
    if set_to is not None:
        monkeypatch.setenv("ORT_DISABLE_TELEMETRY", set_to)
    assert load_runtime().__name__ == "onnxruntime"
    assert os.environ["ORT_DISABLE_TELEMETRY"] == kept
