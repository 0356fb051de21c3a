"""The forms in which a scoring graph is written: as it is, or with its matrices in eight bits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ragguard.export.graph import keep_scored_rows, transpose_weights, with_division
from ragguard.proxy.manifest import Precision, Quantization

__all__ = ["write_blocks", "write_dynamic", "write_float", "write_half_weights", "writers"]

_BLOCK = 32  # weights in a row that share a scale
_SMALL = 1024  # values below which a tensor is not worth a cast


def writers(precision: Precision) -> list[tuple[Quantization, Callable[[Path, Path], None]]]:
    """Return the ways to reach a precision, the preferred one first."""
    if precision == "int8":
        return [("dynamic", write_dynamic), ("blocks", write_blocks)]
    return [("none", write_half_weights if precision == "fp16-weights" else write_float)]


def write_float(source: Path, out: Path) -> None:
    """Write the graph as it is, rewritten for speed."""
    _save(*_faster(source), out)


def write_dynamic(source: Path, out: Path) -> None:
    """Write the graph in eight bits: a scale for a channel of weights, a tensor of activations."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model, external = _with_plain_products(source)
    quantize_dynamic(
        model,
        str(out),
        per_channel=True,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=["MatMul"],
        use_external_data_format=external,
    )


def write_blocks(source: Path, out: Path) -> None:
    """Write the graph in eight bits: a scale for 32 weights, or activations, in a row.

    The small products, which make queries, keys, values and outputs of attention, keep their
    activations in float: they are a tenth of the work and half of the error.
    """
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    model, external = _with_plain_products(source)
    # Accuracy level 4 multiplies in int8, block by block: without it the weights are expanded to
    # float first, which is no faster than the float graph.
    quantizer = MatMulNBitsQuantizer(
        model, bits=8, block_size=_BLOCK, is_symmetric=True, accuracy_level=4
    )
    quantizer.process()
    _keep_small_in_float(quantizer.model.model.graph)
    _save(quantizer.model.model, external, out)


def _keep_small_in_float(graph: Any) -> None:
    """Multiply in float where no side of the weights is over twice the width of the model."""
    products = [
        {attribute.name: attribute for attribute in node.attribute}
        for node in graph.node
        if node.op_type == "MatMulNBits"
    ]
    longest = [max(found["K"].i, found["N"].i) for found in products]
    for length, found in zip(longest, products, strict=True):
        if length <= 2 * min(longest):
            found["accuracy_level"].i = 0


def write_half_weights(source: Path, out: Path) -> None:
    """Write the graph with all large weights in fp16; they become fp32 when it is loaded."""
    import numpy as np
    import onnx

    model, external = _faster(source)
    casts = []
    for weight in model.graph.initializer:
        values = onnx.numpy_helper.to_array(weight)
        if values.dtype != np.float32 or values.size < _SMALL:
            continue
        name = weight.name
        half = onnx.numpy_helper.from_array(values.astype(np.float16), f"{name}.half")
        weight.CopyFrom(half)
        casts.append(onnx.helper.make_node("Cast", [half.name], [name], to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    _save(model, external, out)


def _with_plain_products(source: Path) -> tuple[Any, bool]:
    """Return the graph with every weight in a MatMul of its own: all that the quantisers read."""
    from onnxruntime.quantization.onnx_model import ONNXModel

    model, external = _faster(source)
    transpose_weights(model.graph)
    wrapped = ONNXModel(model)
    wrapped.replace_gemm_with_matmul()
    return wrapped.model, external


def _faster(source: Path) -> tuple[Any, bool]:
    """Return the model, its graph rewritten for speed, and whether its weights lie beside it."""
    import onnx

    model = onnx.load(str(source))
    # The recorded shapes would contradict what takes the place of the tensors.
    del model.graph.value_info[:]
    with_division(model.graph)
    keep_scored_rows(model.graph)
    return model, Path(f"{source}.data").exists()


def _save(model: Any, external: bool, out: Path) -> None:
    import onnx

    onnx.save_model(model, str(out), save_as_external_data=external, location=f"{out.name}.data")
