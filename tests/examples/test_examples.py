"""Every example runs to its end on its own, as its reader would run it."""

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.py"))


def missing_modules(program: Path) -> list[str]:
    """Return the modules that a program imports anywhere and that are not installed here."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(program.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return sorted(name for name in names if not installed(name))


def installed(name: str) -> bool:
    """Look for a module without importing it; only namespace parents are loaded."""
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        return False
    # Distributions share this namespace, so that its presence says nothing of the one meant.
    if name.startswith("llama_index.postprocessor"):
        try:
            return importlib.util.find_spec(".".join(name.split(".")[:3])) is not None
        except ModuleNotFoundError:
            return False
    return True


def run(program: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONUTF8": "1"}
    return subprocess.run(
        [sys.executable, str(program)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=150,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_example(program, tmp_path):
    missing = missing_modules(program)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    done = run(program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert list(tmp_path.iterdir()) == [], "an example leaves files behind"


def test_the_core_examples_are_there():
    assert {"plain_python", "feedback_to_quarantine", "fastapi_service"} <= {
        program.stem for program in PROGRAMS
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wrong", "right"),
    [
        ("feedback_to_quarantine", "answer: Leander Pike", "answer now: Joss Marwood"),
        ("fastapi_service", "answer: Leander Pike", "answer now: Joss Marwood"),
        ("plain_python", "dropped  web-7", "kept     doc-1"),
    ],
)
def test_the_core_examples_show_what_they_say(name, wrong, right, tmp_path):
    program = EXAMPLES / f"{name}.py"
    if missing := missing_modules(program):
        pytest.skip(f"needs {', '.join(missing)}")
    out = run(program, tmp_path).stdout
    assert wrong in out
    assert right in out


def test_a_missing_module_is_noticed(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import os\nfrom surely_not_installed.part import thing\n", "utf-8")
    assert missing_modules(program) == ["surely_not_installed.part"]
