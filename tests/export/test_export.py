from __future__ import annotations

import copy
import json
import logging
import shutil
import sys
import warnings

import numpy as np
import pytest

from ragguard.errors import InvalidInputError, ProxyError
from ragguard.export.parity import GATES, Gate, Parity
from ragguard.proxy.manifest import Manifest, PromptFormat, sha256_of

torch = pytest.importorskip("torch", reason="exporting needs torch")
pytest.importorskip("transformers", reason="exporting needs transformers")
pytest.importorskip("onnxscript", reason="exporting needs onnxscript")
onnx = pytest.importorskip("onnx", reason="exporting needs onnx")
pytest.importorskip("onnxruntime", reason="exporting needs onnxruntime")

from ragguard.export import export_proxy, torch_graphs  # noqa: E402
from ragguard.export.parity import BlameScope, demo_scopes  # noqa: E402
from ragguard.export.verify import measure  # noqa: E402
from ragguard.proxy.onnx import OnnxProxy  # noqa: E402

pytestmark = pytest.mark.torch

FEW = demo_scopes()[:1]
FAMILIES = ("llama", "qwen2", "qwen3", "gpt2", "gpt-neox", "opt")
QUERY = "In which year was the Oskar Bridge opened?"
RESPONSE = "It was opened in 1911."
CONTEXTS = [
    "The Oskar Bridge was opened in 1911, the year of the flood.",
    "",
    "The moss of Pell grows on roofs.",
    "Bridge. " * 12,
    "A switch resets the pump.",
]


@pytest.fixture
def export(tiny_model, tiny_tokenizer, tmp_path):
    """Exports a tiny model, one that is given or one of a family, into `tmp_path / "out"`."""

    def made(model="llama", **options):
        model = tiny_model(model) if isinstance(model, str) else model
        how = {"tokenizer": tiny_tokenizer, "max_length": 200, "scopes": FEW, **options}
        return export_proxy(model, tmp_path / "out", **how)

    return made


@pytest.fixture
def export_again(export, original, exported, tokenizer_with_begin, monkeypatch):
    """Exports the model of `exported`, but takes its graph: torch needs seconds to write one."""

    def take(_model, path, _precision):
        shutil.copy(exported / "model.onnx", path)

    monkeypatch.setattr(torch_graphs, "write_scorer", take)
    return lambda **options: export(original, tokenizer=tokenizer_with_begin, **options)


def slow_token_scores(model, tokenizer, context, query, response):
    """Log-probabilities from the model's full logits, for one passage."""
    tail = f"\n\nQuestion: {query}\nAnswer: {response}"
    encoding = tokenizer.encode(tail, add_special_tokens=False)
    ids = [
        *tokenizer.encode("Passage: ", add_special_tokens=False).ids,
        *tokenizer.encode(context, add_special_tokens=False).ids,
    ]
    start = len(ids)
    ids += encoding.ids
    with torch.no_grad():
        log_probs = model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    of_query, of_response = [], []
    query_at, answer_at = tail.index(query), tail.rindex(response)
    for offset, (begin, end) in enumerate(encoding.offsets):
        value = log_probs[start + offset - 1, encoding.ids[offset]].item()
        if begin < query_at + len(query) and end > query_at:
            of_query.append(value)
        elif end > answer_at:
            of_response.append(value)
    return of_query, of_response


def test_the_exporter_says_nothing_of_its_own(tiny_model, tmp_path, monkeypatch, capsys):
    heard = []

    def export(*_, **__):
        sys.stdout.write("Obtain the graph")
        warnings.warn("an old call", DeprecationWarning, stacklevel=2)
        heard.append(logging.getLogger("torch.onnx._internal.any").isEnabledFor(logging.WARNING))

    monkeypatch.setattr(torch.onnx, "export", export)
    before = logging.getLogger("torch.onnx").level
    torch_graphs.write_scorer(tiny_model("llama"), tmp_path / "model.onnx", "fp32")
    assert heard == [False]
    assert logging.getLogger("torch.onnx").level == before
    assert capsys.readouterr().out == ""


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_scores_as_torch_does(family, export, tiny_model, tiny_tokenizer, tmp_path):
    model = tiny_model(family, layers=2 if family == "llama" else 1).train()
    attention = model.config._attn_implementation
    manifest = export(model)
    assert model.training
    assert model.config._attn_implementation == attention
    assert manifest.architecture == type(model).__name__
    proxy = OnnxProxy(tmp_path / "out", threads=1)
    of_query, of_response = proxy.token_log_probabilities(CONTEXTS, QUERY, RESPONSE)
    scores = proxy.score(CONTEXTS, QUERY, RESPONSE)
    model.eval()
    for row, context in enumerate(CONTEXTS):
        expected = slow_token_scores(model, tiny_tokenizer, context, QUERY, RESPONSE)
        np.testing.assert_allclose(of_query[row], expected[0], atol=2e-5)
        np.testing.assert_allclose(of_response[row], expected[1], atol=2e-5)
        assert scores.semantic_correlation[row] == pytest.approx(np.mean(expected[0]), abs=2e-5)
        assert scores.generation_influence[row] == pytest.approx(np.mean(expected[1]), abs=2e-5)


class TestGraph:
    def test_takes_tokens_mask_and_positions_and_returns_one_number_a_position(self, exported):
        graph = onnx.load(exported / "model.onnx").graph
        assert [node.name for node in graph.input] == ["input_ids", "attention_mask", "positions"]
        assert [node.name for node in graph.output] == ["log_probabilities"]
        assert len(graph.output[0].type.tensor_type.shape.dim) == 2

    def test_the_vocabulary_meets_the_scored_positions_only(self, exported, tiny_tokenizer):
        model = onnx.shape_inference.infer_shapes(onnx.load(exported / "model.onnx"))
        vocabulary = tiny_tokenizer.get_vocab_size()
        scored = model.graph.input[2].type.tensor_type.shape.dim[1].dim_param
        weights = {node.name for node in model.graph.initializer}
        wide = [
            [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim]
            for info in model.graph.value_info
            if info.name not in weights and len(info.type.tensor_type.shape.dim) == 3
        ]
        logits = [shape for shape in wide if shape[-1] == vocabulary]
        assert logits
        assert all(shape[1] == scored for shape in logits)


class TestManifest:
    def test_says_how_the_graph_was_made(self, exported, tiny_tokenizer):
        manifest = Manifest.read(exported)
        assert manifest.precision == "fp32"
        assert manifest.source == "a model in memory"
        assert manifest.opset == 18
        assert manifest.max_length == 200
        assert manifest.vocabulary_size == tiny_tokenizer.get_vocab_size()
        assert manifest.prompt == PromptFormat()
        assert {"torch", "transformers", "onnx", "onnxruntime"} <= set(manifest.versions)
        assert manifest.files == {
            name: sha256_of(exported / name) for name in ("model.onnx", "tokenizer.json")
        }
        assert GATES["fp32"].failures(Parity(**manifest.parity)) == []


class TestPrecisions:
    @pytest.mark.slow
    def test_fp16_of_a_model_that_is_left_as_it_was(self, export, tiny_model, tmp_path):
        model = tiny_model("qwen2").to(torch.bfloat16)
        before = copy.deepcopy(model.state_dict())
        manifest = export(model, precision="fp16")
        assert manifest.parity["mean_token_error"] < 0.02
        weights = onnx.load(tmp_path / "out/model.onnx").graph.initializer
        assert any(weight.data_type == onnx.TensorProto.FLOAT16 for weight in weights)
        assert model.dtype == torch.bfloat16
        assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())

    @pytest.mark.slow
    @pytest.mark.parametrize("precision", ["fp32", "fp16-weights"])
    def test_weights_too_large_for_one_file(self, export, tmp_path, monkeypatch, precision):
        monkeypatch.setattr(torch_graphs, "_ONE_FILE_BYTES", 1)
        manifest = export(precision=precision)
        assert set(manifest.files) == {"model.onnx", "model.onnx.data", "tokenizer.json"}
        OnnxProxy(tmp_path / "out").score(CONTEXTS, QUERY, RESPONSE)

    @pytest.mark.slow
    def test_a_failed_gate_leaves_nothing_behind(self, export_again, tmp_path, monkeypatch):
        monkeypatch.setitem(GATES, "fp16-weights", Gate(1e-9, 1e-9, 1.0, 1.0, 1e-9))
        with pytest.raises(ProxyError, match="does not score as the original") as caught:
            export_again(precision="fp16-weights")
        assert "fp16-weights export of Qwen3ForCausalLM" in str(caught.value)
        assert "max_token_error" in str(caught.value)
        assert "export with precision fp32" in str(caught.value)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.slow
    def test_fp16_weights_are_half_as_large_and_blame_the_same(
        self, export_again, exported, tmp_path, monkeypatch
    ):
        # Random weights tell nothing apart; here their verdicts are to be compared all the same.
        monkeypatch.setattr("ragguard.export.verify.tells_apart", lambda *_: True)
        manifest = export_again(precision="fp16-weights", scopes=None)
        assert manifest.precision == "fp16-weights"
        assert manifest.parity["same_blame"] == 1.0
        assert 1e-6 < manifest.parity["relative_error"] < 7e-3
        # The graph itself, without weights, is a third of these tiny files.
        small, whole = ((one / "model.onnx").stat().st_size for one in (tmp_path / "out", exported))
        assert small < 0.75 * whole
        exact = OnnxProxy(exported, threads=1).score(CONTEXTS, QUERY, RESPONSE)
        ours = OnnxProxy(tmp_path / "out", threads=1).score(CONTEXTS, QUERY, RESPONSE)
        np.testing.assert_allclose(ours.generation_influence, exact.generation_influence, atol=2e-2)


class TestTheGateOfVerdicts:
    @pytest.mark.slow
    def test_a_model_that_cannot_tell_is_not_asked_for_the_same_verdicts(
        self, export_again, monkeypatch
    ):
        said = []
        # Not by caplog: a command that ran before may have taken the log to stderr.
        monkeypatch.setattr("ragguard.export.verify.logger.warning", said.append)
        manifest = export_again(precision="fp16-weights", scopes=None)
        assert "no verdicts are compared" in " ".join(said)
        assert manifest.parity["same_blame"] is None
        assert manifest.parity["relative_error"] is None

    @pytest.mark.slow
    def test_an_export_is_refused_where_others_are_blamed_though_every_token_is_close(
        self, export_again, monkeypatch
    ):
        monkeypatch.setattr("ragguard.export.verify.tells_apart", lambda *_: True)
        monkeypatch.setattr("ragguard.export.verify.same_blame", lambda *_: 0.5)
        told = []
        with pytest.raises(ProxyError, match=r"same_blame 0.5000 < 1.0\); export with precision"):
            export_again(precision="fp16-weights", scopes=demo_scopes()[:2], on_stage=told.append)
        assert [text.partition(" of ")[0] for text in told[-2:]] == [
            "comparing verdicts: event 1",
            "comparing verdicts: event 2",
        ]

    @pytest.mark.slow
    def test_in_float32_four_events_tell(self, exported, original):
        told = []
        how = {"scopes": demo_scopes()[:5], "gate": GATES["fp32"], "on_stage": told.append}
        measure(OnnxProxy(exported, threads=1), original, **how)
        assert told[-1].startswith("comparing verdicts: event 4 of 4, ")


@pytest.mark.slow
def test_exports_by_the_path_of_a_model(tiny_model, tiny_tokenizer, tmp_path):
    transformers = pytest.importorskip("transformers")
    tiny_model("gpt2").save_pretrained(tmp_path / "model")
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=tiny_tokenizer)
    wrapped.save_pretrained(tmp_path / "model")
    (tmp_path / "out").mkdir()
    export_proxy(tmp_path / "model", tmp_path / "out", max_length=4096, scopes=FEW)
    assert Manifest.read(tmp_path / "out").max_length == 256
    assert json.loads((tmp_path / "out/tokenizer.json").read_text())["truncation"] is None


class TestBadInput:
    def test_a_folder_with_files_in_it(self, export, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out/precious").write_text("x")
        with pytest.raises(ProxyError, match="not an empty folder"):
            export("gpt2")

    def test_an_unknown_precision(self, export):
        with pytest.raises(InvalidInputError, match="fp32, fp16, fp16-weights"):
            export(None, precision="int8")

    @pytest.mark.parametrize("scopes", [(), (BlameScope(("same", "same"), "q", "r"),)])
    def test_scopes_that_compare_nothing(self, export, scopes):
        with pytest.raises(InvalidInputError, match="scopes"):
            export(None, scopes=scopes)

    def test_a_tokenizer_that_is_none(self, export):
        with pytest.raises(ProxyError, match="fast tokenizer"):
            export("gpt2", tokenizer=str.split)
