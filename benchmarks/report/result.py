"""The result of a run as JSON, with what is needed to run it again."""

import importlib.metadata
import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.datasets import Dataset
from ragguard import __version__
from ragguard.inline.scoring import SCORER

FORMAT = 1
_PACKAGES = (
    *("numpy", "scipy", "scikit-learn", "torch", "sentence-transformers", "transformers"),
    *("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "ragdefender"),
)


def describe_run(
    command: Sequence[str], datasets: Sequence[Dataset], *, seed: int, limit: int | None
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "ragguard": __version__,
        "scorer": SCORER,
        "date": datetime.now(UTC).date().isoformat(),
        "command": " ".join(command),
        "seed": seed,
        "limit": limit,
        "machine": {
            "cpu": _cpu(),
            "cores": os.cpu_count(),
            "threads": os.environ.get("OMP_NUM_THREADS", "default"),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "versions": {"python": platform.python_version(), **{n: version_of(n) for n in _PACKAGES}},
        "records": {dataset.name: len(dataset.report) for dataset in datasets},
    }


def write(path: Path, run: Mapping[str, Any], sections: Mapping[str, Any]) -> None:
    """Write a result: lists of rows as column names and one row a line, so that two compare."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_text({**run, "sections": sections}) + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """Read what `write` wrote; rows are mappings again."""
    result: dict[str, Any] = json.loads(path.read_text("utf-8"), object_hook=_unpacked)
    return result


def _text(value: Any, indent: str = "") -> str:
    deeper = indent + " "
    if isinstance(value, Mapping):
        parts = [f"{deeper}{json.dumps(key)}: {_text(part, deeper)}" for key, part in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}" if parts else "{}"
    if isinstance(value, list) and value and all(_alike(value[0], row) for row in value):
        columns = list(value[0])
        rows = (json.dumps([row[name] for name in columns], separators=(",", ":")) for row in value)
        lines = ",\n".join(f"{deeper} {row}" for row in rows)
        head = f'{{\n{deeper}"columns": {json.dumps(columns)},\n{deeper}"rows": [\n'
        return f"{head}{lines}\n{deeper}]\n{indent}}}"
    return json.dumps(value)


def _alike(first: Any, row: Any) -> bool:
    return isinstance(row, Mapping) and row.keys() == first.keys()


def _unpacked(value: dict[str, Any]) -> Any:
    if value.keys() != {"columns", "rows"}:
        return value
    return [dict(zip(value["columns"], row, strict=True)) for row in value["rows"]]


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def version_of(package: str) -> str:
    """Return the version of a package, or that it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
