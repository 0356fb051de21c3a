"""Finds what a page says in words: `<!-- claim: name -->` stands before the paragraph or item."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["ROOT", "claim", "claims"]

ROOT = Path(__file__).parents[2]
_MARK = re.compile(r"<!-- claim: ([a-z0-9 -]+) -->")


def claims(page: str) -> dict[str, str]:
    """Return the text after each mark of a page, up to a blank line or the next mark."""
    text = (ROOT / page).read_text(encoding="utf-8")
    marks = list(_MARK.finditer(text))
    found = {}
    for mark, end in zip(marks, [one.start() for one in marks[1:]] + [len(text)], strict=True):
        assert mark[1] not in found, f"{page} makes the claim {mark[1]!r} twice"
        found[mark[1]] = " ".join(text[mark.end() : end].lstrip().split("\n\n")[0].split())
    return found


def claim(page: str, name: str) -> str:
    """Return the words of a claim, whose figures a test then compares with a result."""
    found = claims(page)
    assert name in found, f"{page} has no <!-- claim: {name} -->; the test of it can go, too"
    assert found[name], f"nothing follows <!-- claim: {name} --> in {page}"
    return found[name]
