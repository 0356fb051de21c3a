"""Files at random, and what every reader of files promises of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

from ragguard.cli.traffic import read_traffic
from ragguard.errors import RagguardError
from ragguard.files import passage_from_json, read_json, read_lines
from ragguard.inline.calibration_file import load_calibration
from ragguard.inline.scoring import SCORER
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.proxy.manifest import FORMAT, Manifest
from tests.hostile.findings import cause_of
from tests.hostile.honest import one_case
from tests.hostile.sets import hostile_text

__all__ = ["check_file"]

_MOST = 2_000
_MODEL = ("model.onnx", "tokenizer.json")
_ODD: tuple[Any, ...] = (None, True, -1, 0.5, 10**30, 1e308, "", "x", [], [[]], {}, {"a": 1})
_DAMAGE = (b"\x00", b"\xff", b"\xc3", b'"', b"\\", b"\\ud800", b"NaN", b"1e999", b"{", b"]", b"\r")


def _lines(folder: Path, data: bytes) -> None:
    del folder
    for line in read_lines(BytesIO(data), "lines"):
        passage_from_json(line.value, line.place)


def _traffic(folder: Path, data: bytes) -> None:
    del folder
    list(read_traffic(BytesIO(data), "-", progress=False))


def _base(folder: Path, data: bytes) -> None:
    file = folder / "base.jsonl"
    file.write_bytes(data)
    KnowledgeBase.from_jsonl(file)


def _calibration(folder: Path, data: bytes) -> None:
    file = folder / "calibration.json"
    file.write_bytes(data)
    load_calibration(file)


def _value(folder: Path, data: bytes) -> None:
    file = folder / "event.json"
    file.write_bytes(data)
    read_json(file)


def _manifest(folder: Path, data: bytes) -> None:
    for name in _MODEL:
        (folder / name).write_bytes(b"")
    (folder / "manifest.json").write_bytes(data)
    Manifest.read(folder)


_READERS: Mapping[str, Callable[[Path, bytes], None]] = {
    "passages": _lines,
    "traffic": _traffic,
    "knowledge base": _base,
    "calibration": _calibration,
    "event": _value,
    "manifest": _manifest,
}


def check_file(draw: Random, folder: Path) -> Iterator[str]:
    """Read a damaged file by one of the readers, and yield what it breaks.

    Args:
        draw: Where the randomness comes from.
        folder: Where files may be written.
    """
    name = draw.choice(tuple(_READERS))
    data = b"\n".join(_encoded(draw, _written(draw, name)) for _ in range(draw.randint(1, 3)))
    for _ in range(draw.choice((0, 0, 1, 1, 2, 8))):
        data = _damaged(draw, data)
    try:
        _READERS[name](folder, data)
    except RagguardError:
        return
    except Exception as error:
        yield f"{name}: {cause_of(error)}"


def _written(draw: Random, name: str) -> Any:
    """Return what the reader expects, with odd values in some places."""
    case = one_case(draw, 2)
    passage = {
        "text": hostile_text(draw, case.question, _MOST),
        "id": draw.choice(["a", 7]),
        "score": draw.random(),
        "embedding": [draw.gauss(0, 1) for _ in range(3)],
        "metadata": {"source": case.honest[0]},
    }
    value: dict[str, Any]
    match name:
        case "passages" | "knowledge base":
            value = passage
        case "traffic":
            passages = [_odd(draw, passage), case.poison, *case.honest]
            value = {"query": case.question, "passages": passages}
        case "event":
            value = {"query": case.question, "response": case.poison}
        case "calibration":
            value = {
                "format": 1,
                "scores": [draw.random() for _ in range(5)],
                "passage_scores": [draw.random() for _ in range(9)],
                "size": 3,
                "with_reference": False,
                "scorer": SCORER,
                "source": "fuzz",
            }
        case _:
            value = {
                "format": FORMAT,
                "architecture": "LlamaForCausalLM",
                "source": "weights of fuzz",
                "precision": "fp32",
                "opset": 18,
                "max_length": 512,
                "vocabulary_size": 100,
                "prompt": {},
                "files": dict.fromkeys(_MODEL, sha256(b"").hexdigest()),
                "versions": {"onnx": "1"},
                "parity": {},
            }
    return _odd(draw, value) if draw.random() < 0.6 else value


def _odd(draw: Random, value: dict[str, Any]) -> dict[str, Any]:
    changed = dict(value)
    key = draw.choice(list(value))
    if draw.random() < 0.2:
        del changed[key]
    elif isinstance(value[key], dict) and value[key] and draw.random() < 0.5:
        changed[key] = _odd(draw, value[key])
    else:
        changed[key] = draw.choice(_ODD)
    return changed


def _encoded(draw: Random, value: Any) -> bytes:
    ascii_alone = draw.random() < 0.5
    return json.dumps(value, ensure_ascii=ascii_alone).encode("utf-8", "surrogatepass")


def _damaged(draw: Random, data: bytes) -> bytes:
    at = draw.randint(0, len(data))
    match draw.randrange(6):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + data[at + draw.randint(1, 9) :]
        case 2:
            return data[:at] + draw.choice(_DAMAGE) + data[at:]
        case 3:
            return data[:at] + b"1" * draw.choice((20, 400, 5000)) + data[at:]
        case 4:
            return data[:at] + draw.choice((b"[", b'{"a":')) * draw.choice((5, 100_000)) + data[at:]
        case _:
            return data[:at] + bytes([draw.randrange(256)]) + data[at + 1 :]
