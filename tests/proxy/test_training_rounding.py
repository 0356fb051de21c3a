"""Weights on the grid of the int8 export."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="training needs torch")
onnx = pytest.importorskip("onnx", reason="exporting needs onnx")
ort = pytest.importorskip("onnxruntime", reason="exporting needs onnxruntime")

from ragguard.proxy.quantise import BLOCK  # noqa: E402
from ragguard.proxy.training.rounding import round_weights, rounded  # noqa: E402

pytestmark = pytest.mark.torch


def test_values_are_multiples_of_the_largest_over_minus_128():
    weight = torch.tensor([[1.28, -0.994, 0.0149, 0.0]])  # the scale is -0.01
    assert rounded(weight)[0].tolist() == pytest.approx([1.28, -0.99, 0.01, 0.0])
    weight = torch.tensor([[-1.28, 1.279, 0.0151]])  # it is 0.01, of which int8 holds 127
    assert rounded(weight)[0].tolist() == pytest.approx([-1.28, 1.27, 0.02])


def test_every_block_has_a_scale_of_its_own():
    weight = torch.zeros(1, BLOCK + 1)
    weight[0, 0], weight[0, 1], weight[0, BLOCK] = 128.0, 0.4, 0.4
    found = rounded(weight)[0]
    assert found[0] == 128.0
    assert found[1] == 0.0
    assert found[BLOCK] == pytest.approx(0.4)


def slowly(row):
    """Return a rounded row, from the definition."""
    out = []
    for start in range(0, len(row), BLOCK):
        block = row[start : start + BLOCK]
        scale = max(block, key=abs) / np.float32(-128)
        for value in block:
            step = float(np.clip(np.rint(value / scale), -128, 127)) if scale else 0.0
            out.append(np.float32(step) * scale)
    return out


matrices = st.integers(1, 4).flatmap(
    lambda rows: st.integers(1, 2 * BLOCK + 3).map(
        lambda columns: torch.randn(rows, columns, generator=torch.Generator().manual_seed(columns))
    )
)


@given(matrices)
@settings(deadline=None)
def test_as_the_definition_says_and_once_for_all(weight):
    found = rounded(weight)
    assert found.shape == weight.shape
    for row, expected in zip(found.numpy(), weight.numpy(), strict=True):
        assert row == pytest.approx(slowly(expected), abs=1e-6)
    assert torch.equal(rounded(found), found)
    assert torch.equal(rounded(torch.zeros_like(weight)), torch.zeros_like(weight))


def test_only_matrices_are_rounded():
    model = torch.nn.Linear(3, 2)
    before = model.bias.clone(), model.weight.clone()
    round_weights(model)
    assert torch.equal(model.bias, before[0])
    assert torch.equal(model.weight, rounded(before[1]))


def test_the_eight_bit_graph_holds_rounded_weights_exactly():
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(48, 80, generator=generator)
    inputs = torch.randn(7, 80, generator=generator)
    errors = []
    for held in (weight, rounded(weight)):
        columns = np.ascontiguousarray(held.numpy().T)
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
            "one product",
            [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [7, 80])],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [7, 48])],
            [onnx.numpy_helper.from_array(columns, "w")],
        )
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])
        model.ir_version = 10
        quantizer = MatMulNBitsQuantizer(model, bits=8, block_size=BLOCK, is_symmetric=True)
        quantizer.process()
        session = ort.InferenceSession(quantizer.model.model.SerializeToString())
        (found,) = session.run(None, {"x": inputs.numpy()})
        errors.append(np.abs(found - inputs.numpy() @ columns).max())
    assert errors[0] > 1e-2
    assert errors[1] < 1e-4
