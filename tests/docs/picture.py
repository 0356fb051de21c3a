"""The picture of the README: `python -m tests.docs.picture`; an excerpt of what the demo prints."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from benchmarks.command import script

PICTURE = Path(__file__).parents[2] / "docs" / "demo.svg"

_COLUMNS = 88
_DURATION = re.compile(r" \(\d+\.\d s\)")
# From one line to the one before another: stages by number, and the last word.
_PARTS = (("2. ", "3. "), ("3. ", "4. "), ("The loop ", "Next: "))


def excerpt(printed: str) -> str:
    """Return what the picture shows of the demo's output; how long it took is left out."""
    lines = printed.splitlines()
    plain = [Text.from_ansi(line).plain for line in lines]
    shown: list[str] = []
    for first, last in _PARTS:
        begin = next((at for at, line in enumerate(plain) if line.startswith(first)), None)
        end = next((at for at, line in enumerate(plain) if line.startswith(last)), None)
        if begin is None or end is None:
            raise ValueError(f"the demo prints no {first!r} before {last!r}; change _PARTS")
        shown += [*lines[begin:end], ""] if lines[end - 1].strip() else lines[begin:end]
    return _DURATION.sub("", "\n".join(shown).rstrip())


@script
def main() -> None:
    """Run the demo and draw."""
    printed = subprocess.run(
        [sys.executable, "-m", "ragguard", "demo"],
        env={**os.environ, "COLUMNS": str(_COLUMNS), "FORCE_COLOR": "1"},
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout
    console = Console(record=True, width=_COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(excerpt(printed)))
    drawn = console.export_svg(title="ragguard demo (excerpt)", unique_id="ragguard")
    # Rich names fonts on somebody else's server; a picture loads nothing.
    PICTURE.write_text(re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.S), encoding="utf-8")
