"""An encoder of transformers form, exported so that `ragguard.embedding.OnnxEmbedder` reads it.

`quantise` makes a second folder of an exported one, its weights in eight bits.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

__all__ = ["export", "quantise"]

_BESIDE = ("tokenizer.json", "sentence_bert_config.json")
_OPSET = 20  # the first with GELU as one operator, of which 18 makes five


def export(model: Path, folder: Path) -> Path:
    """Export a BERT-like encoder so that `OnnxEmbedder` reads it; what is there already stays.

    Args:
        model: A folder of transformers form.
        folder: Where the graph and the tokenizer go.
    """
    if (folder / "model.onnx").is_file():
        return folder
    import torch
    from transformers import AutoModel

    encoder = AutoModel.from_pretrained(
        model, attn_implementation="eager", dtype=torch.float32, local_files_only=True
    ).eval()
    # A batch of several: what has length 1 in the example would be fixed in the graph. And a mask
    # of its own: one tensor given twice is one input to torch.export, and the ids are then unused.
    example = torch.ones(3, 17, dtype=torch.int64)
    axes = {0: torch.export.Dim("batch", min=1, max=1024), 1: torch.export.Dim("tokens", min=2)}
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _hidden_states(encoder),
            (example, torch.ones_like(example)),
            f"{work}/model.onnx",
            dynamo=True,
            verbose=False,
            opset_version=_OPSET,
            external_data=False,
            input_names=["input_ids", "attention_mask"],
            output_names=["last_hidden_state"],
            dynamic_shapes={"tokens": axes, "mask": axes},
        )
        for name in _BESIDE:
            shutil.copy(model / name, folder / name)
        Path(work, "model.onnx").replace(folder / "model.onnx")
    return folder


def quantise(source: Path, folder: Path) -> Path:
    """Write an exported encoder with weights in int8; what is there already stays.

    Products with weights are computed in eight bits: a scale for a channel of the weights, and one
    for a tensor of activations, found anew in every pass. Embeddings stay in float32: looking them
    up takes no time to speak of, and rounding them costs accuracy. The weights have no sign: of
    products with signed ones, processors without VNNI cut off the sums of two.

    Args:
        source: A folder that `export` wrote.
        folder: Where the graph and the tokenizer go.
    """
    if (folder / "model.onnx").is_file():
        return folder
    from onnxruntime.quantization import QuantType, quantize_dynamic

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        quantize_dynamic(
            str(source / "model.onnx"),
            f"{work}/model.onnx",
            per_channel=True,
            weight_type=QuantType.QUInt8,
            op_types_to_quantize=["MatMul"],
        )
        for name in _BESIDE:
            shutil.copy(source / name, folder / name)
        Path(work, "model.onnx").replace(folder / "model.onnx")
    return folder


def _hidden_states(encoder: Any) -> Any:
    """Return the encoder as a module with one output: its own answers a mapping."""
    import torch

    class HiddenStates(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder

        def forward(self, tokens: Any, mask: Any) -> Any:
            return self.encoder(input_ids=tokens, attention_mask=mask).last_hidden_state

    return HiddenStates()
