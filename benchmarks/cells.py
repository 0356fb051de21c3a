"""Suites and their cells: what is measured, each under an identifier that knows its sources."""

import hashlib
import importlib.util
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.datasets import OWN
from benchmarks.datasets.sources import files_of
from benchmarks.plugins import attack_named, find, known
from benchmarks.report.result import version_of
from ragguard.errors import InvalidInputError

_ENGINE = Path(__file__).parent
_SUITES = _ENGINE / "suites"
_MEASURES = (
    "retrieval forms plugins measuring embedders datasets/__init__ datasets/sources"
    " metrics/matching metrics/outcomes"
).split()
_READ_BY_ALL = ("ragguard.embedding", "ragguard.stems", "ragguard.text")


@dataclass(frozen=True)
class Cell:
    """One entry of the table, and all that its figures depend on."""

    attack: str
    room: str  # "defences" or "attributors"
    method: str  # a name in the room
    dataset: str
    reader: str  # with what stands behind its name; empty for attributors
    k: int
    planted: int
    seed: int
    questions: int  # of the report half, drawn by the seed; 0 for all
    retriever: str
    versions: tuple[tuple[str, str], ...] = ()  # of the sources, by what they are of

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits; equal only for equal cells on equal sources."""
        return _digest(json.dumps(asdict(self), sort_keys=True).encode())

    @property
    def fields(self) -> dict[str, Any]:
        """The cell without its versions, by name."""
        return {name: value for name, value in asdict(self).items() if name != "versions"}

    @property
    def key(self) -> tuple[Any, ...]:
        """The cell's place in the table: the values of its fields."""
        return tuple(self.fields.values())

    def clean(self) -> tuple[Any, ...]:
        """Return the key of the same questions unattacked and undefended."""
        return replace(self, attack="none", planted=0, room="defences", method="none").key


@dataclass(frozen=True)
class Suite:
    """A list of cells, in the order in which they are run; its title says what it answers."""

    name: str
    title: str
    cells: tuple[Cell, ...]


_FIELDS: Mapping[str, Any] = {
    "title": "",
    **{name: [] for name in ("attacks", "defences", "attributors", "datasets", "readers")},
    **{"k": [5], "planted": [5], "seeds": [0], "questions": 0, "retriever": "built-in", "part": []},
}


def load_suite(name: str, folder: Path | None) -> Suite:
    """Read a suite: a TOML file of lists whose product is run, by its name or by a path.

    Each `[[part]]` adds a product; what it leaves out it takes from above. The files of the data
    folder take part in the identifiers.
    """
    path = Path(name) if name.endswith(".toml") else _SUITES / f"{name}.toml"
    if not path.is_file():
        there = ", ".join(sorted(one.stem for one in _SUITES.glob("*.toml")))
        raise InvalidInputError(f"no suite {name!r}; there are {there}, or pass a .toml file")
    given = tomllib.loads(path.read_text(encoding="utf-8"))
    cells: dict[Cell, None] = {}
    for part in ({}, *given.get("part", ())):
        merged = {**_FIELDS, **given, **part}
        if unknown := merged.keys() - _FIELDS.keys():
            raise InvalidInputError(
                f"{path}: no option {', '.join(sorted(unknown))}; there are {', '.join(_FIELDS)}"
            )
        cells |= dict.fromkeys(_product(merged, folder))
    return Suite(path.stem, str(given.get("title", path.stem)), tuple(cells))


def _product(given: Mapping[str, Any], folder: Path | None) -> Iterator[Cell]:
    methods = [("defences", *one) for one in product(given["defences"], given["readers"])]
    methods += [("attributors", name, "") for name in given["attributors"]]
    # Questions of one dataset stand together: a process then embeds its passages once.
    axes = product(*(given[axis] for axis in ("datasets", "seeds", "k", "planted", "attacks")))
    for (dataset, seed, k, planted, attack), (room, method, reader) in product(axes, methods):
        if room == "defences" or attack != "none":
            count = 0 if attack == "none" else planted
            place = (attack, room, method, dataset, reader, k, count)
            cell = Cell(*place, seed, given["questions"], given["retriever"])
            yield replace(cell, versions=_versions(cell, folder))


def _versions(cell: Cell, folder: Path | None) -> tuple[tuple[str, str], ...]:
    versions = {"benchmarks": source_digest(*(_ENGINE / f"{name}.py" for name in _MEASURES))}
    used = [("attacks", cell.attack.split()[0]), (cell.room, cell.method)]
    models = (cell.reader, attack_named(cell.attack)[1])
    used += [("readers", model.split()[0]) for model in models if model]
    for room, name in used:
        plugin = find(room, name)
        file = known(room)[name][1]
        beside = file.parent.glob("*.py") if file.parent == _ENGINE / room else ()
        shared = sorted(one for one in beside if one.stem not in known(room))
        versions[f"{room}/{name}"] = f"{plugin.about.version}.{source_digest(file, *shared)}"
        for measured in getattr(plugin, "measures", ()):
            versions[measured] = _measured(measured)
    everywhere = [*_READ_BY_ALL]
    everywhere += ["benchmarks.misgeneration"] if cell.room == "attributors" else []
    everywhere += ["ragguard.demo"] if cell.dataset == OWN else []
    versions |= {measured: _measured(measured) for measured in everywhere}
    if data := files_of(cell.dataset, folder):
        versions[f"data/{cell.dataset.split(':')[0]}"] = source_digest(*data)
    return tuple(sorted(versions.items()))


@cache
def _measured(name: str) -> str:
    if name.startswith("dist:"):
        return version_of(name.removeprefix("dist:"))
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise InvalidInputError(f"no module {name!r} to measure; correct the plug-in's measures")
    origin = Path(spec.origin)
    return source_digest(origin.parent if origin.name == "__init__.py" else origin)


@cache
def source_digest(*paths: Path) -> str:
    """Return one digest of files and of all sources and data in folders."""
    files: list[Path] = []
    for path in paths:
        kinds = {".py", ".json", ".jsonl", ".npz"}
        found = sorted(one for one in path.rglob("*") if one.suffix in kinds and one.is_file())
        files += found if path.is_dir() else [path]
    return _digest(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
