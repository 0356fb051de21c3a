"""The form in which an exported ONNX graph is written: rewritten for speed, its weights halved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ragguard.proxy.manifest import Precision

_SMALL = 1024  # values below which a tensor is not worth a cast
# Ops that make of each position what they make of it alone.
_OF_ONE_ROW = frozenset(
    "Add Sub Mul Div Sqrt Reciprocal Neg Sigmoid Tanh Erf Relu Gelu Cast".split()
)
_BY_FIRST = frozenset(("LayerNormalization", "MatMul", "Pow", "ReduceMean"))
"""The same of their first input, if the others are weights."""


def write_weights(source: Path, out: Path, precision: Precision) -> None:
    """Write the graph rewritten for speed; for "fp16-weights" large weights until it is loaded."""
    import onnx

    model = onnx.load(str(source))
    # The recorded shapes would contradict what takes the place of the tensors.
    del model.graph.value_info[:]
    with_division(model.graph)
    keep_scored_rows(model.graph)
    if precision == "fp16-weights":
        _halve(model.graph)
    external = Path(f"{source}.data").exists()
    onnx.save_model(model, str(out), save_as_external_data=external, location=f"{out.name}.data")


def _halve(graph: Any) -> None:
    import onnx

    casts = []
    for weight in graph.initializer:
        values, name = onnx.numpy_helper.to_array(weight), weight.name
        if values.dtype != np.float32 or values.size < _SMALL:
            continue
        half = onnx.numpy_helper.from_array(values.astype(np.float16), f"{name}.half")
        weight.CopyFrom(half)
        casts.append(onnx.helper.make_node("Cast", [half.name], [name], to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def with_division(graph: Any) -> None:
    """Replace products with a reciprocal by a division, by which ONNX Runtime knows an RMS norm."""
    used = Counter(name for node in graph.node for name in node.input)
    reciprocals = {
        node.output[0]: node
        for node in graph.node
        if node.op_type == "Reciprocal" and used[node.output[0]] == 1
    }
    for node in [node for node in graph.node if node.op_type == "Mul"]:
        for numerator, factor in (node.input, reversed(node.input)):
            if (reciprocal := reciprocals.get(factor)) is not None:
                node.op_type = "Div"
                node.input[:] = [numerator, reciprocal.input[0]]
                graph.node.remove(reciprocal)
                break


def keep_scored_rows(graph: Any) -> None:
    """Let what follows the last attention, which reads every position, see the scored ones alone.

    The graph gathers the scored rows once, by a GatherElements along axis 1, whose index is the
    Expand of what Unsqueeze made of the positions. It is moved up as far as it commutes.
    """
    from onnx import helper

    nodes = list(graph.node)
    weights = {weight.name for weight in graph.initializer}
    for node in nodes:
        if node.op_type in ("Constant", "Transpose") and weights.issuperset(node.input):
            weights.update(node.output)
    found = _row_gather(nodes)
    if found is None:
        return
    at, index = found
    inside = _all_read_by(nodes, at, weights)
    if not inside:
        return
    own = {name for place in inside for name in nodes[place].output}
    short: dict[str, str] = {}
    for node in (nodes[place] for place in inside):
        rows = node.input[:1] if node.op_type in _BY_FIRST else node.input
        for place, name in enumerate(rows):
            if name not in own and name not in weights:
                node.input[place] = short.setdefault(name, f"{name}_scored")
    gathers = [
        helper.make_node("GatherND", [name, index], [scored], batch_dims=1)
        for name, scored in short.items()
    ]
    gather = nodes.pop(at)
    for node in nodes:
        node.input[:] = [gather.input[0] if n == gather.output[0] else n for n in node.input]
    del graph.node[:]
    graph.node.extend(_ordered(nodes, own, gathers))


def _row_gather(nodes: Sequence[Any]) -> tuple[int, str] | None:
    """Return where the hidden states' rows are gathered, and the name of the index."""
    producers = {name: node for node in nodes for name in node.output}
    for at, node in enumerate(nodes):
        axis = next((int(a.i) for a in node.attribute if a.name == "axis"), None)
        if node.op_type == "GatherElements" and axis == 1:
            expand = producers.get(node.input[1])
            if expand is not None and expand.op_type == "Expand":
                return at, expand.input[0]
    return None


def _all_read_by(nodes: Sequence[Any], at: int, weights: set[str]) -> set[int]:
    """Return the nodes of one row each whose every reader leads to `nodes[at]`."""
    readers: dict[str, set[int]] = {}
    for place, node in enumerate(nodes):
        for name in node.input:
            readers.setdefault(name, set()).add(place)
    found = {at}
    for place in range(at - 1, -1, -1):
        node = nodes[place]
        by = {reader for name in node.output for reader in readers.get(name, ())}
        if by and by <= found and _of_one_row(node, weights):
            found.add(place)
    return found - {at}


def _of_one_row(node: Any, weights: set[str]) -> bool:
    if node.op_type in _BY_FIRST:
        # ReduceMean and LayerNormalization: over the last axis, in every model that is exported.
        return weights.issuperset(name for name in node.input[1:] if name)
    return node.op_type in _OF_ONE_ROW


def _ordered(nodes: Sequence[Any], late: set[str], gathers: Sequence[Any]) -> list[Any]:
    """Return the nodes with the gathers before those that make what is `late`."""
    waiting = set(late)
    before, after = [], []
    for node in nodes:
        if waiting.isdisjoint(node.output) and waiting.isdisjoint(node.input):
            before.append(node)
        else:
            waiting.update(node.output)
            after.append(node)
    return [*before, *gathers, *after]
