"""What a person typed, of a query that a chat's template, a record or a search engine wraps."""

from __future__ import annotations

import re

from ragguard.text.html import strip_markup
from ragguard.text.records import field_of

_ASKED_IN = "question query q input prompt message text content".split()  # fields of a record
_ELEMENT = re.compile(
    r"</?(?:\w{1,20}_)?(?:input|message|prompt|query|question|user)>", re.IGNORECASE
)
_OPERATOR = re.compile(r"(?<!\S)-?(?:filetype|intitle|inurl|site):\S*")
_BOOLEAN = frozenset("AND OR NOT".split())
_MARKED_TURN = re.compile(r"<\|(?:im_start|start_header_id)\|>(\w+)(?:<\|end_header_id\|>)?")
_OF_CHATS = re.compile(r"<\|[^<>|]{1,40}\|>|</?s>|\[/?INST\]|<</?SYS>>|<!\[CDATA\[|\]\]>")


def as_typed(text: str) -> str:
    r"""Return a query without markup, and without what it says to a search engine alone.

    Words such as AND are operators where nearly all others are parted by them.

    >>> as_typed("site:marrow.example lamp AND keeper"), as_typed("<query>who lit it?</query>")
    ('lamp keeper', '\nwho lit it?\n')
    """
    text = _OF_CHATS.sub("\n", _MARKED_TURN.sub(r"\n\1: ", field_of(text, _ASKED_IN)))
    shown = _OPERATOR.sub(" ", strip_markup(_ELEMENT.sub("\n", text)))
    words = shown.split()
    others = [word for word in words if word not in _BOOLEAN]
    few = 0 < len(others) <= 2 * (len(words) - len(others)) + 1
    return " ".join(others) if few and len(others) < len(words) else shown
