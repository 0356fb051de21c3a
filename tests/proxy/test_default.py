"""Which proxy `default` returns."""

from __future__ import annotations

import shutil

import pytest

from ragguard import Guard
from ragguard.attribution import RAGOrigin
from ragguard.errors import InvalidInputError, ProxyError
from ragguard.proxy import SHARE, VARIABLE, LexicalProxy, MixedProxy, default, default_folder
from ragguard.proxy.manifest import CACHE, cache_folder


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


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


class TestNames:
    @pytest.fixture
    def smollm2(self, monkeypatch, tmp_path):
        monkeypatch.setenv(CACHE, str(tmp_path))
        return tmp_path / "smollm2"

    def test_a_model_that_is_not_exported_yet(self, smollm2):
        with pytest.raises(ProxyError, match="run: ragguard proxy get smollm2"):
            default("smollm2")
        with pytest.raises(ProxyError, match="run: ragguard proxy get smollm2"):
            Guard(proxy="smollm2")
        assert default_folder() is None

    def test_an_export_is_used_by_default_where_its_runtime_is(self, smollm2, monkeypatch):
        import sys

        module = sys.modules["ragguard.proxy"]
        smollm2.mkdir()
        (smollm2 / "manifest.json").write_text("{}")
        assert default_folder("smollm2") == smollm2
        monkeypatch.setattr(module, "find_spec", lambda name: object())
        assert default_folder() == smollm2
        monkeypatch.setattr(module, "find_spec", lambda name: None)
        assert default_folder() is None

    @pytest.mark.torch
    def test_an_export_that_nobody_names_is_mixed_with_the_lexical_one(
        self, smollm2, exported, monkeypatch
    ):
        shutil.copytree(exported, smollm2)
        texts = ["The Oskar Bridge was opened in 1911.", "Moss grows in Pell."]
        found = default()
        assert isinstance(found, MixedProxy)
        model = default("smollm2")
        expected = MixedProxy(LexicalProxy(), model, SHARE).score(texts, "When?", "1911")
        ours = found.score(texts, "When?", "1911")
        assert ours.generation_influence.tolist() == expected.generation_influence.tolist()
        monkeypatch.setenv(VARIABLE, "smollm2")
        assert default() is model

    def test_lexical_overrules_an_export(self, smollm2, monkeypatch):
        smollm2.mkdir()
        (smollm2 / "manifest.json").write_text("{}")
        monkeypatch.setenv(VARIABLE, "lexical")
        assert isinstance(default(), LexicalProxy)

    def test_where_exports_lie(self, monkeypatch, tmp_path):
        monkeypatch.delenv(CACHE)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert cache_folder("smollm2") == tmp_path / "ragguard" / "smollm2"
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert cache_folder("smollm2") == tmp_path / ".cache" / "ragguard" / "smollm2"


class TestGuard:
    def test_attributes_with_the_proxy_that_it_is_given(self):
        class Asked(LexicalProxy):
            def score(self, contexts, query, response):
                asked.append(query)
                return super().score(contexts, query, response)

        asked: list[str] = []
        with Guard(proxy=Asked()) as guard:
            event = guard.report("Who built it?", "Orla Venn", passages=["Orla Venn built it."])
            guard.attribution(event, timeout=60)
        assert set(asked) == {"Who built it?"}

    @pytest.mark.parametrize("proxy", [5, LexicalProxy])
    def test_what_scores_nothing(self, proxy):
        with pytest.raises(InvalidInputError, match="proxy"):
            Guard(proxy=proxy)

    def test_a_folder_without_an_export(self, tmp_path):
        for make in (default, lambda folder: RAGOrigin(proxy=folder), lambda f: Guard(proxy=f)):
            with pytest.raises(ProxyError, match=r"holds no manifest\.json; pass .*: smollm2, lex"):
                make(tmp_path)

    @pytest.mark.parametrize("proxy", ["a\0b", "\ud800", "x" * 300, "~nobody-here/x"], ids=range(4))
    def test_a_name_that_no_folder_has(self, proxy):
        for make in (default, lambda name: Guard(proxy=name)):
            with pytest.raises(ProxyError, match=r"cannot be looked up .* or a name: smollm2"):
                make(proxy)

    def test_an_attributor_has_its_own(self):
        with pytest.raises(InvalidInputError, match=r"RAGOrigin\(proxy=\.\.\.\)"):
            Guard(proxy="lexical", attributor=RAGOrigin())


def test_a_proxy_that_is_no_path_is_refused():
    with pytest.raises(InvalidInputError, match="a proxy must be a path"):
        default(5)
