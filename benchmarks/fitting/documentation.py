"""Passages of technical documentation: honest texts that the fit of manner reads.

Guides, references and release notes of five Python packages, in pieces of some 110 words, without
the marks of reStructuredText: `documentation.txt.xz` beside this file, under the licences that
`documentation.md` names. Made by `python -m benchmarks.fitting.documentation --source DIR`, where
DIR holds their unpacked source packages.
"""

import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from benchmarks.command import ERRORS, script

_SOURCES = {
    "django-5.2.19/docs": 600,
    "sqlalchemy-2.1.9/doc": 300,
    "setuptools-84.2.1/docs": 300,
    "aiohttp-3.14.5/docs": 200,
    "tornado-6.6.1/docs": 100,
}
"""Folders, and how many passages are drawn from each."""

_FILE = Path(__file__).with_suffix(".txt.xz")
_BORDER = "\n\f\n"
_WORDS, _FEWEST = 110, 40

_MARKS = (
    (r"(?m)^\.\. .*$", ""),  # directives, targets and comments
    (r"(?m)^\s*:\w[\w -]*:.*$", ""),  # fields
    (r"(?m)^([=\-~^\"'`*#+.])\1{2,}\s*$", ""),  # lines under titles
    (r":[\w:.-]+:`~?([^`<]*?)(\s*<[^>]*>)?`", r"\1"),  # roles
    (r"`+_?", ""),
    (r"[ \t]+", " "),
)


def documentation() -> list[str]:
    """Return the passages."""
    return lzma.decompress(_FILE.read_bytes()).decode().split(_BORDER)


def passages(text: str) -> Iterator[str]:
    """Yield the pieces of a file: whole paragraphs, and parts of those that are too long."""
    for pattern, instead in _MARKS:
        text = re.sub(pattern, instead, text)
    found: list[str] = []
    words = 0
    for paragraph in re.split(r"\n\s*\n", text):
        parts = paragraph.strip().split(" ")
        if words + len(parts) > _WORDS and words >= _FEWEST:
            yield "\n\n".join(found)
            found, words = [], 0
        if len(parts) > 2 * _WORDS:
            yield from (" ".join(parts[at : at + _WORDS]) for at in range(0, len(parts), _WORDS))
        elif parts != [""]:
            found.append(" ".join(parts))
            words += len(parts)
    if words >= _FEWEST:
        yield "\n\n".join(found)


@script
def main(
    source: Annotated[Path, typer.Option(help="folder of the unpacked source packages")],
) -> None:
    """Draw the passages, and write them."""
    drawn: list[str] = []
    for name, count in _SOURCES.items():
        found = {
            text: None
            for file in sorted((source / name).rglob("*"))
            if file.suffix in (".rst", ".txt", ".md")
            for text in passages(file.read_text("utf-8", "replace"))
        }
        drawn += Random(0).sample(list(found), count)
    _FILE.write_bytes(lzma.compress(_BORDER.join(drawn).encode(), preset=9))
    ERRORS.print(f"{len(drawn)} passages")


if __name__ == "__main__":
    main()
