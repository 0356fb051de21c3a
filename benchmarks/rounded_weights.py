"""What an exported proxy loses, and how much faster it is, with weights of eight or sixteen bits.

Runnable alone: `python -m benchmarks.rounded_weights --model smollm2 --json FILE`. Needs the extras
`export` and `onnx`. None of these forms is offered; the gate of `ragguard proxy export` says why.

The export's own graph is rewritten and compared with itself, on the events and by the measures of
the gate (`ragguard.export.parity`). Forms: each weight matrix in blocks of 32 along its inputs,
every block of eight bits with one scale; the same with activations of eight bits in such blocks,
which is the finest that ONNX Runtime computes with (MatMulNBits, accuracy level 4); and bfloat16.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.report.result import describe_run, write
from ragguard.export.parity import (
    GATES,
    Blame,
    BlameScope,
    blame,
    demo_scopes,
    relative_error,
    same_blame,
)
from ragguard.proxy import OnnxProxy
from ragguard.proxy.manifest import Manifest, sha256_of
from ragguard.proxy.named import export_folder

__all__ = ["FORMS", "in_blocks", "main", "rewritten", "run", "to_bfloat16"]

BLOCK = 32
AS_EXPORTED = "as exported"
COMPUTED = "8-bit weights, 8-bit activations"
_MIDDLE = 128  # what zero is written as


def in_blocks(weight: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return a weight of shape (inputs, outputs) in eight bits: codes and scales.

    Returns:
        uint8 array of shape (outputs, blocks, 32), and float32 array of shape (outputs, blocks).
    """
    blocks = weight.T.reshape(weight.shape[1], -1, BLOCK)
    scales = np.abs(blocks).max(axis=2) / 127.0
    scales[scales == 0.0] = 1.0
    return (np.rint(blocks / scales[..., None]) + _MIDDLE).astype(np.uint8), scales


def to_eight_bits(weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the weight, shape (inputs, outputs), as `in_blocks` keeps it."""
    codes, scales = in_blocks(weight)
    blocks = (codes.astype(np.float32) - _MIDDLE) * scales[..., None]
    return np.ascontiguousarray(blocks.reshape(weight.shape[::-1]).T)


def to_bfloat16(weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the weight with eight bits of mantissa, rounded to nearest, ties to even."""
    bits = weight.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)


FORMS: dict[str, Callable[[NDArray[np.float32]], NDArray[np.float32]] | None] = {
    "bfloat16 weights": to_bfloat16,
    "8-bit weights": to_eight_bits,
    COMPUTED: None,
}
"""Forms by name; None: ONNX Runtime computes with eight bits."""


def rewritten(
    source: Path, out: Path, rounded: Callable[[NDArray[np.float32]], NDArray[np.float32]] | None
) -> int:
    """Write the graph with all its weight matrices rounded, and return how many they are.

    Args:
        source: The export's `model.onnx`.
        out: Where to write.
        rounded: What becomes of a weight, float32 array of shape (inputs, outputs); None:
            MatMulNBits takes it in eight bits, and rounds what it is multiplied with as well.
    """
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load(str(source))
    graph, found = model.graph, 0
    new: dict[str, NDArray[Any]] = {}
    makers = {name: made for made in graph.node for name in made.output}
    weights = {weight.name: weight for weight in graph.initializer}
    for node in graph.node:
        weight = _weight_of(node, makers, weights)
        if weight is None:
            continue
        found += 1
        name = node.input[1]
        if rounded is not None:
            node.input[1] = f"{name}.rounded"
            new[node.input[1]] = rounded(weight)
            continue
        codes, scales = f"{name}.codes", f"{name}.scales"
        new[codes], new[scales] = in_blocks(weight)
        node.op_type, node.domain = "MatMulNBits", "com.microsoft"
        node.input[:] = [node.input[0], codes, scales]
        sizes = {"K": weight.shape[0], "N": weight.shape[1], "bits": 8, "block_size": BLOCK}
        node.attribute.extend(
            helper.make_attribute(key, value)
            for key, value in {**sizes, "accuracy_level": 4}.items()
        )
    graph.initializer.extend(numpy_helper.from_array(value, key) for key, value in new.items())
    if all(known.domain != "com.microsoft" for known in model.opset_import):
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, str(out))
    return found


def _weight_of(
    node: Any, makers: Mapping[str, Any], weights: Mapping[str, Any]
) -> NDArray[np.float32] | None:
    """Return the constant matrix that a node multiplies by, or None."""
    from onnx import numpy_helper

    if node.op_type != "MatMul":
        return None
    name, turned = node.input[1], False
    while name in makers and makers[name].op_type in ("Cast", "Transpose"):
        turned ^= makers[name].op_type == "Transpose"
        name = makers[name].input[0]
    if name not in weights:
        return None
    values: NDArray[np.float32] = numpy_helper.to_array(weights[name]).astype(np.float32)
    return np.ascontiguousarray(values.T) if turned else values


def run(folder: Path, scopes: Sequence[BlameScope], progress: Progress) -> list[dict[str, Any]]:
    """Return one row for each form: its errors by the measures of the gate, and its speed.

    Args:
        folder: An export.
        scopes: The events.
        progress: Told about every scope.
    """
    with tempfile.TemporaryDirectory() as work:
        proxies = {AS_EXPORTED: OnnxProxy(folder, threads=1)}
        for number, (name, rounded) in enumerate(FORMS.items()):
            proxies[name] = OnnxProxy(_copy(folder, Path(work) / str(number), rounded), threads=1)
        found: dict[str, list[Blame]] = {name: [] for name in proxies}
        took: dict[str, list[float]] = {name: [] for name in proxies}
        for scope in progress.track(scopes, description="events"):
            for name, proxy in proxies.items():
                began = time.process_time()
                found[name].append(blame(proxy, scope))
                took[name].append(time.process_time() - began)
    return [*_rows(found, took)]


def _copy(
    folder: Path, out: Path, rounded: Callable[[NDArray[np.float32]], NDArray[np.float32]] | None
) -> Path:
    """Return a folder that holds the export with other weights, and a manifest that says so."""
    out.mkdir()
    manifest = Manifest.read(folder)
    copyfile(folder / "tokenizer.json", out / "tokenizer.json")
    rewritten(folder / "model.onnx", out / "model.onnx", rounded)
    files = {file.name: sha256_of(file) for file in sorted(out.iterdir())}
    Manifest(**{**vars(manifest), "files": files, "chat": None}).write(out)
    return out


def _rows(found: dict[str, list[Blame]], took: dict[str, list[float]]) -> Iterator[dict[str, Any]]:
    reference = found[AS_EXPORTED]
    limit = GATES["fp16-weights"].relative_error
    for name, blames in found.items():
        error = relative_error(blames, reference)
        yield {
            "form": name,
            "events": len(blames),
            "same_blame": round(same_blame(blames, reference), 4),
            "relative_error": float(f"{error:.3g}"),
            "limit": limit,
            "processor_s": round(float(np.median(took[name])), 3),
        }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rounded_weights", description=__doc__
    )
    parser.add_argument("--model", default="smollm2", help="a model's name, or an exported folder")
    parser.add_argument("--events", type=int, default=16, help="of the demo's knowledge base")
    parser.add_argument("--json", type=Path, help="write the result here")
    arguments = parser.parse_args(argv)
    with Progress(console=Console(stderr=True)) as progress:
        rows = run(export_folder(arguments.model), demo_scopes(arguments.events), progress)
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    Console().print(table)
    if arguments.json is not None:
        command = ["python", "-m", "benchmarks.rounded_weights"]
        command += ["--model", Path(arguments.model).name, "--events", str(arguments.events)]
        about = describe_run(command, (), seed=0, limit=arguments.events)
        write(arguments.json, about, {"rounded_weights": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
