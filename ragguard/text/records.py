"""Records: what one field says of a text that is JSON, or a dictionary as Python prints it."""

from __future__ import annotations

import json
from ast import literal_eval
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

_LONGEST = 20_000  # characters of a record that is read
_PEOPLE = ("human", "user")
_DEEPEST = 5  # records within records, a text that is one among them


def field_of(text: str, fields: Sequence[str]) -> str:
    """Return what a record says in the first of these fields that it has; any other text as it is.

    A field of the record goes before one of a record within it, and of messages the last one does,
    if no model said it.

    >>> field_of('{"lang": "en", "query": "who lit it"}', ("question", "query"))
    'who lit it'
    >>> field_of("{'result': {'answer': 'Ann', 'page': 4}}", ["answer"])
    'Ann'
    >>> field_of("{who} lit it", ["answer"])
    '{who} lit it'
    """
    found = _said(_record(text), fields, _DEEPEST)
    return text if found is None else found


def _record(text: str) -> Any:
    record = text.strip()
    if record[:1] == "{" and record[-1:] == "}" and len(record) <= _LONGEST:
        for read in (json.loads, literal_eval):
            with suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                return read(record)
    return None


def _said(record: Any, fields: Sequence[str], deep: int) -> str | None:
    if isinstance(record, list):
        record = dict(enumerate(reversed(record)))
    if not isinstance(record, dict) or not deep or record.get("role", "user") not in _PEOPLE:
        return None
    for field in fields:
        said = record.get(field)
        if isinstance(said, str | int | float) and said != "":
            within = _record(said) if isinstance(said, str) else None
            return _said(within, fields, deep - 1) or str(said)
    for value in record.values():
        within = _record(value) if isinstance(value, str) else value
        if (found := _said(within, fields, deep - 1)) is not None:
            return found
    return None
