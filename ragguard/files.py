"""Files that somebody names: JSON and JSON lines as they are read, and how files are written.

What cannot be read, and what holds something else, raises `InvalidInputError`; of a line the
message begins with "file:number", and it says what should be there. What holds what users asked is
private, and what others read is written whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from ragguard.errors import CalibrationError, InvalidInputError
from ragguard.passage import Passage

_BYTE_ORDER_MARK, _GZIP = b"\xef\xbb\xbf", b"\x1f\x8b"
_A_LINE, _A_FILE = "one JSON value on the line", "one JSON value"
_OTHER_NAMES = {"text": "page_content", "passages": "contexts", "query": "question"}
_KINDS = {  # what JSON calls the type of a parsed value
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a boolean",
    type(None): "null",
}


@dataclass(frozen=True)
class Line:
    """One line that holds a JSON value."""

    place: str  # where it is, as "file:number"
    value: Any


def open_input(path: str | Path) -> BinaryIO:
    """Open a file for reading bytes."""
    try:
        return Path(path).open("rb")
    except (OSError, TypeError, ValueError) as error:  # no file can have a name with NUL in it
        raise _unreadable(path, error) from error


def raw_lines(stream: BinaryIO, name: str | Path) -> Iterator[bytes]:
    """Yield every line of a file or stdin, called `name` where it cannot be read."""
    try:
        yield from stream
    except OSError as error:  # what can be opened need not be readable
        raise _unreadable(name, error) from error


def read_lines(stream: BinaryIO, name: str) -> Iterator[Line]:
    r"""Yield the JSON value of every line that is not blank, each as soon as it is complete.

    Lines end with LF or CRLF; a byte order mark before the first one is skipped. An escaped lone
    surrogate (`\ud800`) is read as it stands; bytes that are not UTF-8, NaN and Infinity are
    errors, because guessing what was meant would judge another text than the generator reads; they
    call the stream by its `name`.
    """
    for number, raw in enumerate(raw_lines(stream, name), start=1):
        line = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
        if line.strip():
            place = f"{name}:{number}"
            yield Line(place, _parsed(line, place, _A_LINE))


def read_json(path: str | Path) -> Any:
    """Return the one JSON value that a file holds, under the rules of `read_lines`."""
    with open_input(path) as stream:
        raw = b"".join(raw_lines(stream, path))
    return _parsed(raw.removeprefix(_BYTE_ORDER_MARK), str(path), _A_FILE)


def passage_from_json(value: Any, place: str) -> Passage:
    """Return the passage that a JSON value, found at that place, describes.

    That is a string, or an object with "text" and optionally "id" (string or integer), "score"
    (number), "embedding" (numbers) and "metadata" (object); other keys are left out, null counts as
    absent.
    """
    if isinstance(value, str):
        return Passage(value)
    if isinstance(value, dict) and value.keys() >= {"query", "passages"} and "text" not in value:
        raise InvalidInputError(
            f'{place}: expected "text", which is not there; this is traffic as `ragguard filter` '
            "reads it; pass one passage a line"
        )
    require_fields(value, place, "a string or an object", text=str)
    given = {name: value[name] for name in _FIELDS if value.get(name) is not None}
    for name, one in given.items():
        is_one, wanted = _FIELDS[name]
        if not is_one(one):
            _expected(place, f'"{name}" to be {wanted}', _held(name, one))
    if "id" in given:
        given["id"] = str(given["id"])
    if "embedding" in given:
        given["embedding"] = np.array(given["embedding"], dtype=np.float64)
    return Passage(value["text"], **given)


def read_passages(path: str | Path) -> list[Passage]:
    """Return the passages of a file, one a line, as `passage_from_json` reads them."""
    with open_input(path) as stream:
        lines = read_lines(stream, str(path))
        return [passage_from_json(line.value, line.place) for line in lines]


def require_fields(value: Any, place: str, what: str = "an object", **fields: type) -> None:
    """Check that a JSON value, of which messages say `what` it should be, has these fields."""
    named = " and ".join(f'"{name}" ({kind.__name__})' for name, kind in fields.items())
    wanted = f"{what} with {named}"
    if not isinstance(value, dict):
        _expected(place, wanted, _KINDS[type(value)])
    for name, kind in fields.items():
        if name not in value:
            hint = f'; rename "{other}"' if (other := _OTHER_NAMES.get(name)) in value else ""
            _expected(place, wanted, f'one without "{name}"{hint}')
        if not isinstance(value[name], kind):
            _expected(place, wanted, f'one whose "{name}" is {_KINDS[type(value[name])]}')


def _parsed(raw: bytes, place: str, wanted: str) -> Any:
    try:
        return json.loads(raw.rstrip(b" \t\r\n").decode("utf-8"), parse_constant=_reject_constant)
    except UnicodeDecodeError as error:
        if raw.startswith(_GZIP):
            raise InvalidInputError(
                f"{place}: this is gzip; run gunzip on the file first"
            ) from error
        raise InvalidInputError(
            f"{place}: byte {error.start + 1} (0x{raw[error.start]:02x}) is not UTF-8; "
            "convert the file to UTF-8"
        ) from error
    except json.JSONDecodeError as error:
        where = f"column {error.colno}" if wanted is _A_LINE else f"line {error.lineno}"
        why = f"at {where}: {error.msg}"
        if wanted is _A_LINE and error.doc.strip() in _PARTS:
            why = "it holds only a part of one: a file of JSON lines has one whole object a line"
    except RecursionError:
        why = "its brackets are nested too deep"
    except ValueError as error:
        why = str(error) if isinstance(error, InvalidInputError) else "a number is too long"
    raise InvalidInputError(f"{place}: expected {wanted}, but {why}")


def _reject_constant(constant: str) -> NoReturn:
    raise InvalidInputError(f"{constant} is no JSON; write null")


def _is_number(value: Any) -> bool:
    """Return whether a value is a number that a float can hold, and not NaN."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _is_vector(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_number, value))


_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "id": (lambda value: type(value) in (str, int), "a string or an integer"),
    "score": (_is_number, "a finite number"),
    "embedding": (_is_vector, "a list of finite numbers, one at least"),
    "metadata": (lambda value: isinstance(value, dict), "an object"),
}

_PARTS = frozenset({"[", "{", "[{", "]", "}", "},", "}]"})


def _held(name: str, value: Any) -> str:
    """Return what a field holds instead of what it should."""
    if name == "score" and type(value) in (int, float):
        return "one that is not finite"
    if name == "embedding" and isinstance(value, list):
        for number, one in enumerate(value, start=1):
            if not _is_number(one):
                wrong = "not finite" if type(one) in (int, float) else _KINDS[type(one)]
                return f"one whose number {number} is {wrong}"
    return _KINDS[type(value)]


def _expected(place: str, wanted: str, got: str) -> NoReturn:
    raise InvalidInputError(f"{place}: expected {wanted}, got {got}")


def make_private(path: Path) -> None:
    """Make an empty file that only its owner may read, unless there is a file already.

    Where that fails, whoever opens the file fails as well, and knows better what to say.
    """
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def write_whole(
    path: Path, lines: Iterable[bytes], check: Callable[[], object] = lambda: None
) -> None:
    """Write a file, or leave it as it was; owner, group and mode stay, where they may be set.

    `check` is called once all is written, just before the old file is replaced, and may raise.

    Raises:
        OSError: It cannot be written.
    """
    if path.exists() and not path.is_file():  # a pipe, say, which nothing can take the place of
        path.write_bytes(b"".join(lines))
        return
    target = path.resolve()
    made = target.with_name(f".ragguard-{secrets.token_hex(8)}")
    try:
        with made.open("xb") as file:
            if target.exists():
                found = target.stat()
                for owner, group in ((-1, found.st_gid), (found.st_uid, -1)):
                    with contextlib.suppress(OSError, AttributeError):  # Windows has no chown
                        os.chown(made, owner, group)  # each if the process may
                shutil.copymode(target, made)
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        check()
        made.replace(target)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def write_json(path: str | os.PathLike[str], what: str, value: Any) -> None:
    """Write a JSON value whole, with a newline behind it; `what` it is, for messages.

    Raises:
        CalibrationError: The file cannot be written.
    """
    try:
        write_whole(Path(path), [json.dumps(value).encode() + b"\n"])
    except (OSError, TypeError, ValueError) as error:
        raise CalibrationError(str(cannot_write(f"the {what} to {path}", error))) from error


def cannot_write(path: Path | str, error: Exception) -> InvalidInputError:
    """Return what to raise where a file that the caller names cannot be written."""
    why = getattr(error, "strerror", error)
    return InvalidInputError(f"cannot write {path}: {why}; pass a path that can be written")


def _unreadable(name: str | Path, error: Exception) -> InvalidInputError:
    why = getattr(error, "strerror", error)
    return InvalidInputError(f"cannot read {name}: {why}; pass a file that exists and is readable")
