from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="graphs are rewritten with onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="graphs are run by ONNX Runtime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from ragguard.export.graph import with_division  # noqa: E402

WIDTH = 6


@pytest.fixture
def model():
    """An RMS norm as torch exports it."""
    node = helper.make_node
    nodes = [
        node("Pow", ["x", "two"], ["squares"]),
        node("ReduceMean", ["squares", "last"], ["mean"], keepdims=1),
        node("Sqrt", ["mean"], ["root"]),
        node("Reciprocal", ["root"], ["inverse"]),
        node("Mul", ["inverse", "x"], ["normed"]),
        node("Mul", ["normed", "gain"], ["scaled"]),
        node("Neg", ["scaled"], ["y"]),
    ]
    weights = {
        "last": np.array([-1]),
        "two": np.array(2.0, dtype=np.float32),
        "gain": np.random.default_rng(0).standard_normal(WIDTH).astype(np.float32),
    }
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["b", "l", WIDTH])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["b", "l", WIDTH])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    made.ir_version = 9
    return made


def answer(model):
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    x = np.random.default_rng(1).standard_normal((3, 7, WIDTH)).astype(np.float32)
    return session.run(["y"], {"x": x})[0]


def ops(model):
    return Counter(node.op_type for node in model.graph.node)


def test_a_product_with_a_reciprocal_becomes_a_division(model):
    before = answer(model)
    with_division(model.graph)
    assert "Reciprocal" not in ops(model)
    (division,) = (node for node in model.graph.node if node.op_type == "Div")
    assert list(division.input) == ["x", "root"]
    np.testing.assert_allclose(answer(model), before, rtol=1e-5, atol=1e-6)


def test_a_reciprocal_that_others_read_stays(model):
    next(node for node in model.graph.node if node.op_type == "Neg").input[0] = "inverse"
    with_division(model.graph)
    assert ops(model)["Reciprocal"] == 1
