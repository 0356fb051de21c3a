"""Which proxy `default` returns."""

from __future__ import annotations

import shutil

import pytest

from ragguard.errors import ProxyError
from ragguard.proxy import VARIABLE, LexicalProxy, default, default_folder


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture(scope="module")
def exported(tiny_model, tiny_tokenizer, tmp_path_factory):
    pytest.importorskip("onnxscript", reason="exporting needs onnxscript")
    pytest.importorskip("onnxruntime", reason="exporting needs onnxruntime")
    from ragguard.export import export_proxy

    folder = tmp_path_factory.mktemp("default") / "proxy"
    export_proxy(tiny_model("llama"), folder, tokenizer=tiny_tokenizer)
    return folder


def test_without_a_model_it_is_the_lexical_one():
    assert isinstance(default(), LexicalProxy)
    assert default_folder() is None


@pytest.mark.slow
@pytest.mark.torch
def test_a_folder_comes_from_the_argument_before_the_environment(exported, monkeypatch, tmp_path):
    from ragguard.proxy import OnnxProxy

    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing"))
    proxy = default(exported)
    assert isinstance(proxy, OnnxProxy)
    monkeypatch.setenv(VARIABLE, str(exported))
    assert default() is proxy
    monkeypatch.setenv(VARIABLE, "")
    assert isinstance(default(), LexicalProxy)


@pytest.mark.torch
def test_a_folder_that_changed_is_loaded_again(exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "proxy")
    before = default(folder)
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text() + "\n")
    assert default(folder) is not before
    (folder / "model.onnx").write_bytes(b"other")
    manifest.write_text(manifest.read_text() + "\n")
    with pytest.raises(ProxyError, match=r"model\.onnx"):
        default(folder)


def test_a_proxy_that_was_asked_for_is_not_replaced(monkeypatch, tmp_path):
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    pytest.importorskip("tokenizers", reason="needs tokenizers")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "missing"))
    with pytest.raises(ProxyError, match=r"RAGGUARD_PROXY names .*manifest\.json"):
        default()
    with pytest.raises(ProxyError, match=r"^[^R]*manifest\.json"):
        default(tmp_path / "nowhere")


def test_a_bundled_model_is_used_only_with_its_runtime(monkeypatch, tmp_path):
    import sys

    module = sys.modules["ragguard.proxy"]
    monkeypatch.setattr(module, "_BUNDLED", tmp_path)
    monkeypatch.setattr(module, "find_spec", lambda name: object())
    assert default_folder() is None
    (tmp_path / "manifest.json").write_text("{}")
    assert default_folder() == tmp_path
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert default_folder() is None
