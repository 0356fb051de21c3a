"""Every example runs to its end on its own, as its reader would run it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))


# Of a whole distribution, in a namespace or not; that a part of one is gone is a failure.
MISSING = re.compile(r"ModuleNotFoundError: No module named '(\w+|llama_index\.postprocessor.*)'")


def run(program: Path, folder: Path) -> str:
    """Run a program to its end in an empty folder, and return what it printed."""
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=folder,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=150,
        check=False,
    )
    if done.returncode and (missing := MISSING.search(done.stderr)):
        pytest.skip(f"needs {missing[1]}")
    assert done.returncode == 0, done.stderr
    return done.stdout


CLOSED = ("guard: It was built in 1790", "complaint: poisoning", "guard:    It was built in 1874")
SHOWN = {
    "feedback_to_quarantine": ("answer: Leander Pike", "answer now: Joss Marwood"),
    "fastapi_service": ("answer: Leander Pike", "answer now: Joss Marwood"),
    "plain_python": ("dropped  web-7", "kept     doc-1"),
    "langchain_chain": CLOSED,
    "llamaindex_query_engine": CLOSED,
}


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_example(program, tmp_path):
    out = run(program, tmp_path)
    assert out.strip()
    assert all(shown in out for shown in SHOWN.get(program.stem, ()))
    assert list(tmp_path.iterdir()) == [], "an example leaves files behind"


def test_the_examples_are_there():
    assert SHOWN.keys() <= {program.stem for program in PROGRAMS}


@pytest.mark.parametrize(
    ("module", "is_skipped"), [("surely_not_installed.part", True), ("ragguard.no_part", False)]
)
def test_a_missing_module_is_noticed(module, is_skipped, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(f"import os\nfrom {module} import thing\n", "utf-8")
    with pytest.raises(pytest.skip.Exception if is_skipped else AssertionError, match=module[:8]):
        run(program, tmp_path)
