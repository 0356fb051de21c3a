"""What is rounded, and how an export with rounded weights is compared with itself."""

from __future__ import annotations

import numpy as np
import pytest
from rich.progress import Progress

from benchmarks import rounded_weights
from tests.tiny_models import tiny_model, tiny_tokenizer

__all__ = ["tiny_model", "tiny_tokenizer"]


def test_eight_bits_in_blocks_by_hand():
    weight = np.zeros((64, 1), dtype=np.float32)
    weight[0], weight[1], weight[2] = 1.27, -0.5, 0.004
    codes, scales = rounded_weights.in_blocks(weight)
    assert codes.shape == (1, 2, 32)
    assert codes[0, 0, :4].tolist() == [255, 78, 128, 128]
    # A block of zeros has a scale all the same.
    assert scales.ravel().tolist() == pytest.approx([0.01, 1.0])
    assert set(codes[0, 1].tolist()) == {128}
    kept = rounded_weights.to_eight_bits(weight)
    assert kept.shape == weight.shape
    assert kept[:3, 0].tolist() == pytest.approx([1.27, -0.5, 0.0])


def test_bfloat16_by_hand():
    weight = np.array([1.0, 1.0 + 2**-7, 1.0 + 2**-8, 1.0 + 3 * 2**-8], dtype=np.float32)
    assert rounded_weights.to_bfloat16(weight).tolist() == [1.0, 1.0 + 2**-7, 1.0, 1.0 + 2**-6]


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.timeout(600)
def test_every_form_is_compared_with_the_export_itself(tiny_model, tiny_tokenizer, tmp_path):
    for needed in ("onnxruntime", "onnxscript", "transformers"):
        pytest.importorskip(needed, reason="exporting needs it")
    from ragguard.export import export_proxy
    from ragguard.export.parity import demo_scopes

    scopes = demo_scopes(4)
    model = tiny_model("llama")
    export_proxy(
        model, tmp_path / "model", tokenizer=tiny_tokenizer, max_length=200, scopes=scopes[:1]
    )
    written = rounded_weights.rewritten(
        tmp_path / "model" / "model.onnx", tmp_path / "one.onnx", rounded_weights.to_bfloat16
    )
    # Seven matrices a layer, and the head.
    assert written == 7 * model.config.num_hidden_layers + 1
    with Progress(disable=True) as progress:
        rows = rounded_weights.run(tmp_path / "model", scopes[:1], progress)
    assert [row["form"] for row in rows] == ["as exported", *rounded_weights.FORMS]
    errors = [row["relative_error"] for row in rows]
    assert errors[0] == 0.0
    assert all(0.0 < error < 1.0 for error in errors[1:])
