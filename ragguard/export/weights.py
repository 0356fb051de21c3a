"""The forms in which a graph's weights are written: as they are, or in half as many bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ragguard.export.graph import keep_scored_rows, with_division
from ragguard.proxy.manifest import Precision

_SMALL = 1024  # values below which a tensor is not worth a cast


def write_weights(source: Path, out: Path, precision: Precision) -> None:
    """Write the graph rewritten for speed; with "fp16-weights" all large weights in fp16.

    Those become fp32 when the graph is loaded.
    """
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
    import numpy as np
    import onnx

    casts = []
    for weight in graph.initializer:
        values = onnx.numpy_helper.to_array(weight)
        if values.dtype != np.float32 or values.size < _SMALL:
            continue
        name = weight.name
        half = onnx.numpy_helper.from_array(values.astype(np.float16), f"{name}.half")
        weight.CopyFrom(half)
        casts.append(onnx.helper.make_node("Cast", [half.name], [name], to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
