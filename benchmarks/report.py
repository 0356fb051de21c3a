"""The result of a run as JSON, with what is needed to run it again."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.data import Dataset
from ragguard import __version__
from ragguard.inline.suspicion import SCORER

__all__ = ["FORMAT", "describe_run", "read", "write"]

FORMAT = 1
_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "torch",
    "sentence-transformers",
    "transformers",
    "onnxruntime",
    "ragdefender",
)


def describe_run(
    command: Sequence[str], datasets: Sequence[Dataset], *, seed: int, limit: int | None
) -> dict[str, Any]:
    """Return versions, machine, data and command of a run."""
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
        "versions": {"python": platform.python_version(), **_versions()},
        "records": {dataset.name: len(dataset.report) for dataset in datasets},
    }


def write(path: Path, run: Mapping[str, Any], sections: Mapping[str, Any]) -> None:
    """Write a result: sections as column names and one row a line, so that two can be compared."""
    parts = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in run.items()]
    bodies = [f"  {json.dumps(name)}: {_body(value)}" for name, value in sections.items()]
    parts.append(' "sections": {\n' + ",\n".join(bodies) + "\n }")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """Read what `write` wrote; rows are mappings again."""
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    result["sections"] = {
        name: [dict(zip(body["columns"], row, strict=True)) for row in body["rows"]]
        if set(body) == {"columns", "rows"}
        else body
        for name, body in result["sections"].items()
    }
    return result


def _body(section: Any) -> str:
    if not isinstance(section, list):
        return json.dumps(section)
    columns = list(section[0]) if section else []
    rows = ",\n".join(f"    {json.dumps([row[name] for name in columns])}" for row in section)
    return f'{{\n   "columns": {json.dumps(columns)},\n   "rows": [\n{rows}\n   ]\n  }}'


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
