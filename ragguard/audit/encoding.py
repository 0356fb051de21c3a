r"""How values are written so that every database gives back exactly what it was given.

PostgreSQL refuses NUL in a text and, as SQLite's driver does, lone surrogates. Those characters
are stored behind ASCII's own "data link escape" (U+0010), which never occurs in ordinary text or
in JSON: all other texts, backslashes included, stay as they are and can be read in any SQL shell.
"""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Iterator, Mapping
from itertools import count

import numpy as np

_REFUSED = re.compile("[\x00\x10\ud800-\udfff]")
_ESCAPED = re.compile("\x10(0000|0010|d[89a-f][0-9a-f]{2})")  # of those alone
_MAX_DEPTH = 100
_MAX_PARTS = 100_000
_MAX_BITS = 2_000  # fewer than the 640 digits that Python reads under any setting
_REST = "..."


def escape(text: str) -> str:
    r"""Return `text` without NUL and surrogates; `unescape` gives back the same code points.

    >>> escape("a\\b"), escape("\x00")
    ('a\\b', '\x100000')
    """
    return _REFUSED.sub(lambda match: f"\x10{ord(match[0]):04x}", text)


def unescape(stored: str) -> str:
    r"""Return what `escape` was given.

    >>> unescape(escape("nul \x00 lone \ud800")) == "nul \x00 lone \ud800"
    True
    """
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), stored)


def is_escaped(stored: str) -> bool:
    r"""Return whether `escape` writes a text so: what is written in another way is never found.

    >>> is_escaped("a\x100000"), is_escaped("\x100061")
    (True, False)
    """
    return escape(unescape(stored)) == stored


def to_json(value: object) -> str:
    """Return `value` as JSON; what JSON cannot hold becomes its `str()`. Never raises.

    Mappings, lists, tuples, strings, booleans, None and numbers (numpy's too) are JSON; keys become
    strings. NaN and infinities are written as Python's `json` reads them, whole numbers of more
    than 2,000 bits as texts in hexadecimal: Python refuses to read very long ones. "..." stands for
    what holds itself, is nested 100 deep, or is past the 100,000th part.

    >>> to_json({"page": 3, "seen": {1}, 7: (True, None)})
    '{"page": 3, "seen": "{1}", "7": [true, null]}'
    """
    # Not ASCII: "\\ud83d\\ude00" would be read back as one character, not as two surrogates.
    return json.dumps(_plain(value, (), count(1)), ensure_ascii=False)


from_json = json.loads  # returns what `to_json` wrote


def _plain(value: object, ancestors: tuple[int, ...], parts: Iterator[int]) -> object:
    """Return a value as `json` takes it; `parts` counts what it has."""
    part = next(parts)
    if value is None or isinstance(value, (str, bool, float)):
        return value
    try:
        if isinstance(value, np.bool_):
            return bool(value)
        if isinstance(value, numbers.Integral):
            number = int(value)
            return number if number.bit_length() <= _MAX_BITS else hex(number)
        if isinstance(value, numbers.Real):
            return float(value)
        if isinstance(value, (Mapping, list, tuple)):
            # Parts that are shared would else be written as often as there are ways to them.
            if id(value) in ancestors or len(ancestors) == _MAX_DEPTH or part > _MAX_PARTS:
                return _REST
            inside = (*ancestors, id(value))
            if isinstance(value, Mapping):
                return {_words(key): _plain(item, inside, parts) for key, item in value.items()}
            return [_plain(item, inside, parts) for item in value]
    except Exception:  # a caller's types may raise anything; the record must still be kept
        return _words(value)
    return _words(value)


def _words(value: object) -> str:
    try:
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            return hex(value)
        return str(value)
    except Exception:
        return object.__repr__(value)
