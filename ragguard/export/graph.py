"""The form in which an exported ONNX graph is written: its norms for speed, its weights halved."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ragguard.proxy.manifest import Precision

_SMALL = 1024  # values below which a tensor is not worth a cast


def write_weights(source: Path, out: Path, precision: Precision) -> None:
    """Write the graph; for "fp16-weights" its large weights are cast when it is loaded."""
    import onnx

    model = onnx.load(str(source))
    # The recorded shapes would contradict what takes the place of the tensors.
    del model.graph.value_info[:]
    with_division(model.graph)
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
