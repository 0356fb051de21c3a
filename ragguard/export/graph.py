"""An exported ONNX graph with its weights in half the space."""

from __future__ import annotations

from pathlib import Path

import numpy as np

_SMALL = 1024  # values below which a tensor is not worth a cast


def halve_weights(path: Path) -> None:
    """Write the large weights of a graph in float16, to be cast to float32 when it is loaded."""
    import onnx

    model = onnx.load(str(path))
    # The recorded shapes would contradict what takes the place of the tensors.
    del model.graph.value_info[:]
    casts = []
    for weight in model.graph.initializer:
        values, name = onnx.numpy_helper.to_array(weight), weight.name
        if values.dtype != np.float32 or values.size < _SMALL:
            continue
        half = onnx.numpy_helper.from_array(values.astype(np.float16), f"{name}.half")
        weight.CopyFrom(half)
        casts.append(onnx.helper.make_node("Cast", [half.name], [name], to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    data = path.with_name(f"{path.name}.data")
    external = data.exists()
    data.unlink(missing_ok=True)  # or what is saved would stand behind it
    onnx.save_model(model, str(path), save_as_external_data=external, location=data.name)
