from __future__ import annotations

import json
import shutil

import pytest

from ragguard.errors import ProxyError
from ragguard.export.parity import GATES, demo_scopes
from ragguard.export.verify import verify_proxy
from ragguard.proxy.manifest import sha256_of

pytestmark = pytest.mark.torch

FEW = demo_scopes()[:1]


@pytest.mark.slow
def test_an_export_is_verified_against_its_original(exported, original, tiny_tokenizer, tmp_path):
    assert verify_proxy(exported) is None
    parity = verify_proxy(exported, model=original, scopes=FEW)
    assert GATES["fp32"].failures(parity) == []
    original.save_pretrained(tmp_path / "hf")
    import transformers

    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=tiny_tokenizer)
    wrapped.save_pretrained(tmp_path / "hf")
    assert verify_proxy(exported, model=str(tmp_path / "hf"), scopes=FEW) == parity


def test_another_model_is_not_its_original(exported, tiny_model):
    import torch

    other = tiny_model("qwen3")
    with torch.no_grad():
        other.get_input_embeddings().weight.mul_(1.5)
    with pytest.raises(ProxyError, match="does not score as the model"):
        verify_proxy(exported, model=other, scopes=FEW)


def test_a_folder_that_is_no_model_is_named(exported, tmp_path):
    with pytest.raises(ProxyError, match="transformers cannot read"):
        verify_proxy(exported, model=str(tmp_path))


def test_a_changed_file_is_found(exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "proxy")
    with (folder / "model.onnx").open("ab") as stream:
        stream.write(b"x")
    with pytest.raises(ProxyError, match=r"model\.onnx is missing or is not the file"):
        verify_proxy(folder)


def test_a_graph_that_does_not_run_is_found_where_the_hashes_match(exported, tmp_path):
    folder = shutil.copytree(exported, tmp_path / "proxy")
    (folder / "model.onnx").write_bytes(b"no graph")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["model.onnx"] = sha256_of(folder / "model.onnx")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ProxyError, match="cannot load"):
        verify_proxy(folder)
