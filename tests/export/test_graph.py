from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="graphs are rewritten with onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="graphs are run by ONNX Runtime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from ragguard.export.graph import keep_scored_rows, with_division  # noqa: E402

WIDTH, INNER = 6, 10


@pytest.fixture
def model():
    """A last layer: what mixes positions, then norm, feed-forward and residual, then the gather."""
    draw = np.random.default_rng(0)
    node = helper.make_node
    nodes = [
        node("Softmax", ["x"], ["mixed"], axis=1),
        node("Sub", ["positions", "one"], ["before"]),
        node("Unsqueeze", ["before", "last"], ["index"]),
        node("Shape", ["positions"], ["shape"]),
        node("Concat", ["shape", "width"], ["wide"], axis=0),
        node("Expand", ["index", "wide"], ["expanded"]),
        node("Pow", ["mixed", "two"], ["squares"]),
        node("ReduceMean", ["squares", "last"], ["mean"], keepdims=1),
        node("Sqrt", ["mean"], ["root"]),
        node("Reciprocal", ["root"], ["inverse"]),
        node("Mul", ["inverse", "mixed"], ["normed"]),
        node("Mul", ["normed", "gain"], ["scaled"]),
        node("MatMul", ["scaled", "up"], ["inner"]),
        node("Sigmoid", ["inner"], ["gate"]),
        node("Mul", ["inner", "gate"], ["active"]),
        node("Transpose", ["down"], ["turned"], perm=[1, 0]),
        node("MatMul", ["active", "turned"], ["outer"]),
        node("Add", ["mixed", "outer"], ["hidden"]),
        node("GatherElements", ["hidden", "expanded"], ["rows"], axis=1),
        node("Neg", ["rows"], ["y"]),
    ]
    weights = {
        "one": np.array(1),
        "last": np.array([-1]),
        "width": np.array([WIDTH]),
        "two": np.array(2.0, dtype=np.float32),
        "gain": draw.standard_normal(WIDTH).astype(np.float32),
        "up": draw.standard_normal((WIDTH, INNER)).astype(np.float32),
        "down": draw.standard_normal((WIDTH, INNER)).astype(np.float32),
    }
    graph = helper.make_graph(
        nodes,
        "layer",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["b", "l", WIDTH]),
            helper.make_tensor_value_info("positions", TensorProto.INT64, ["b", "p"]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["b", "p", WIDTH])],
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
    positions = np.array([[1, 4], [6, 7], [2, 2]])
    return session.run(["y"], {"x": x, "positions": positions})[0]


def ops(model):
    return Counter(node.op_type for node in model.graph.node)


def test_a_product_with_a_reciprocal_becomes_a_division(model):
    before = answer(model)
    with_division(model.graph)
    assert "Reciprocal" not in ops(model)
    (division,) = (node for node in model.graph.node if node.op_type == "Div")
    assert list(division.input) == ["mixed", "root"]
    np.testing.assert_allclose(answer(model), before, rtol=1e-5, atol=1e-6)


def test_a_reciprocal_that_others_read_stays(model):
    next(node for node in model.graph.node if node.op_type == "Neg").input[0] = "inverse"
    with_division(model.graph)
    assert ops(model)["Reciprocal"] == 1


def test_only_scored_rows_go_on_after_positions_are_mixed(model):
    before = answer(model)
    keep_scored_rows(model.graph)
    assert "GatherElements" not in ops(model)
    (gather,) = (node for node in model.graph.node if node.op_type == "GatherND")
    assert gather.input[0] == "mixed"
    assert answer(model).shape == before.shape == (3, 2, WIDTH)
    np.testing.assert_array_equal(answer(model), before)


def test_what_others_read_of_all_rows_is_left_alone(model):
    """The inner product is read by a sum over positions as well, so it is computed for all."""
    tail = model.graph.node.pop()
    model.graph.node.extend(
        [
            helper.make_node("ReduceMax", ["inner"], ["peak"], keepdims=0),
            helper.make_node("Mul", ["rows", "peak"], ["weighted"]),
            helper.make_node("Neg", ["weighted"], list(tail.output)),
        ]
    )
    before = answer(model)
    keep_scored_rows(model.graph)
    gathered = {node.input[0] for node in model.graph.node if node.op_type == "GatherND"}
    assert gathered == {"mixed", "inner"}
    np.testing.assert_array_equal(answer(model), before)


def test_a_graph_without_the_gather_stays_as_it_is(model):
    next(n for n in model.graph.node if n.op_type == "Neg").input[0] = "hidden"
    del model.graph.node[-2]
    before = model.SerializeToString()
    keep_scored_rows(model.graph)
    assert model.SerializeToString() == before
