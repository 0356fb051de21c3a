"""The README's snippets run in the order in which they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

README = Path(__file__).parents[1] / "README.md"


def test_the_snippets_run() -> None:
    snippets = re.findall(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.M | re.S)
    names: dict[str, Any] = {}
    for snippet in snippets:
        exec(compile(snippet, str(README), "exec"), names)
    assert names["event_id"]
    with names["retriever"].guard as guard:
        assert guard.health().threads
    assert not guard.health().threads
