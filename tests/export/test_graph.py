from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="graphs are rewritten with onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="graphs are run by ONNX Runtime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from ragguard.export.graph import halve_weights  # noqa: E402

WIDE = 100


@pytest.mark.parametrize("external", [False, True])
def test_large_weights_take_half_the_space_and_answer_alike(tmp_path, external):
    draw = np.random.default_rng(0)
    weights = {
        "large": draw.standard_normal((WIDE, WIDE), dtype=np.float32),
        "small": draw.standard_normal(WIDE, dtype=np.float32),
    }
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "large"], ["product"]),
            helper.make_node("Add", ["product", "small"], ["y"]),
        ],
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", WIDE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", WIDE])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    path = tmp_path / "model.onnx"
    onnx.save_model(model, str(path), save_as_external_data=external, location=f"{path.name}.data")

    halve_weights(path)

    files = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
    assert files.keys() == ({"model.onnx", "model.onnx.data"} if external else {"model.onnx"})
    assert 2 * WIDE**2 < sum(files.values()) < 3 * WIDE**2
    x = draw.standard_normal((3, WIDE), dtype=np.float32)
    (found,) = onnxruntime.InferenceSession(str(path)).run(["y"], {"x": x})
    exact = weights["large"].astype(np.float16).astype(np.float32)
    np.testing.assert_allclose(found, x @ exact + weights["small"], rtol=1e-4, atol=1e-4)
