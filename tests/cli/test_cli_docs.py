"""docs/cli.md describes the command as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.main import get_command

from ragguard.cli.app import app

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"


def _options(command, path=()):
    for parameter in command.params:
        for name in parameter.opts:
            if name.startswith("--") and name != "--help":
                yield path, name
    for name, inner in getattr(command, "commands", {}).items():
        yield (*path, name), None
        yield from _options(inner, (*path, name))


@pytest.mark.parametrize(
    ("path", "option"),
    [pair for pair in _options(get_command(app)) if pair[1] != "--show-completion"],
)
def test_every_command_and_option_is_described(path, option):
    text = DOCS.read_text(encoding="utf-8")
    if not path:
        assert f"ragguard {option}" in text or option == "--version"
        return
    heading = next(line for line in text.splitlines() if line.startswith("## ") and path[0] in line)
    section = text.partition(heading)[2].partition("\n## ")[0]
    assert path[-1] in section
    assert option is None or option in section


def test_the_exit_codes_are_those_of_the_help():
    rows = [line.split("|")[1].strip() for line in DOCS.read_text().splitlines() if "| " in line]
    codes = {row for row in rows if row.isdigit()}
    assert codes == {"0", "1", "2", "3", "130", "141"}
    described = app.info.epilog
    assert all(f" {code} " in described for code in codes)
