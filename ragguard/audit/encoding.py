r"""How texts and JSON are written so that every database gives back exactly what it was given.

PostgreSQL refuses NUL in a text and, as SQLite's driver does, lone surrogates. Those characters
are stored behind ASCII's own "data link escape" (U+0010), which never occurs in ordinary text or
in JSON: all other texts, backslashes included, stay as they are and can be read in any SQL shell.
"""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["escape", "from_json", "to_json", "unescape"]

_REFUSED = re.compile("[\x00\x10\ud800-\udfff]")
_ESCAPED = re.compile("\x10([0-9a-f]{4})")
_MAX_DEPTH = 100


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


def to_json(value: object) -> str:
    """Return `value` as JSON; what JSON cannot hold becomes its `str()`.

    Mappings, lists, tuples, strings, booleans, None and numbers (numpy's too) are JSON; keys
    become strings. NaN and infinities are written as Python's `json` reads them.

    >>> to_json({"page": 3, "seen": {1}, 7: (True, None)})
    '{"page": 3, "seen": "{1}", "7": [true, null]}'
    """
    # Not ASCII: "\\ud83d\\ude00" would be read back as one character, not as two surrogates.
    return json.dumps(_plain(value, ()), ensure_ascii=False)


def from_json(stored: str) -> Any:
    """Return what `to_json` wrote."""
    return json.loads(stored)


def _plain(value: object, ancestors: tuple[int, ...]) -> object:
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if id(value) not in ancestors and len(ancestors) < _MAX_DEPTH:
        inside = (*ancestors, id(value))
        if isinstance(value, Mapping):
            return {_words(key): _plain(item, inside) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [_plain(item, inside) for item in value]
    return _words(value)


def _words(value: object) -> str:
    try:
        return str(value)
    except Exception:  # a caller's __str__ may raise anything; the record must still be kept
        return object.__repr__(value)
