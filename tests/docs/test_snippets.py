"""The Python snippets of the documents run as they stand."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SKIP = re.compile(r"<!-- not run: .+ -->\s*$")
FENCE = re.compile(
    r"^```python\n(.*?)^```(?:\n\nIt prints\n\n```\n(.*?)^```)?", re.MULTILINE | re.DOTALL
)


def snippets() -> list[pytest.param]:
    found = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            line = text[: match.start()].count("\n") + 1
            marks = ()
            if SKIP.search(text[: match.start()]):
                marks = (pytest.mark.skip(reason="marked as not runnable on its own"),)
            name = f"{path.relative_to(ROOT)}:{line}"
            found.append(pytest.param(*match.groups(), name, id=name, marks=marks))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("code", "printed", "name"), snippets())
def test_snippet_runs_and_runs_again(
    code: str,
    printed: str | None,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
        found = capsys.readouterr().out
        if printed is not None:
            checker = doctest.OutputChecker()
            assert checker.check_output(printed, found, doctest.ELLIPSIS), found


def test_the_documents_have_snippets() -> None:
    [printed] = [parameter.values[1] for parameter in snippets() if parameter.values[1]]
    assert printed.startswith("True 0.0")  # what the README's first program prints
