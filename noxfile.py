"""Runs the tests on every Python and against the oldest and newest releases of what they build on.

`nox` runs all sessions, `nox -s tests` the core's on every Python that is found on the PATH,
`nox -s lowest-3.12` those with the lowest versions that pyproject.toml allows there, and
`nox -s langchain` both ends of one integration. What stands behind `--` goes to pytest.
"""

from __future__ import annotations

from pathlib import Path

import nox
from packaging.requirements import Requirement
from packaging.version import Version

nox.options.default_venv_backend = "venv"
# Nobody has every Python: a session without its own is skipped, and says so.
nox.options.error_on_missing_interpreters = False

ROOT = Path(__file__).parent
PYPROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
PYTHONS = nox.project.python_versions(PYPROJECT)  # the classifiers say which
EXTRAS = ["onnx", "postgres", "explain", "review"]  # those without torch, and without a GPU
NO_TORCH = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is not None)"
# Old releases warn of what has become deprecated below them since.
WARNINGS_PASS = ("-W", "default")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Test the core with the newest versions, as `make test` does."""
    check_core(session, str(ROOT))


@nox.session(python=PYTHONS)
def lowest(session: nox.Session) -> None:
    """Test the core and small extras with the lowest versions that pyproject.toml allows."""
    check_core(session, f"{ROOT}[{','.join(EXTRAS)}]", *lower_bounds(str(session.python)))


def check_core(session: nox.Session, *requirements: str) -> None:
    """Install the core and its tests into a fresh environment, editable, and run them."""
    group = nox.project.dependency_groups(PYPROJECT, "test")
    session.install(*group, "--editable", *requirements)
    session.run("python", "-m", "pip", "freeze", "--exclude-editable")
    session.run(
        *("python", "-m", "pytest", "--numprocesses", "auto", "--maxprocesses", "4"),
        *("--dist", "worksteal", *session.posargs),
    )
    parts = ("--ignore=ragguard/review", "ragguard")  # which cannot be imported without its extra
    session.run("python", "-m", "pytest", "-q", "--doctest-modules", *parts)


def lower_bounds(python: str) -> list[str]:
    """Return what the core and its small extras need, pinned to the lowest on, say, "3.12"."""
    project = PYPROJECT["project"]
    extras = [line for extra in EXTRAS for line in project["optional-dependencies"][extra]]
    lowest: dict[str, Version] = {}
    for line in (*project["dependencies"], *extras):
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"python_version": python}):
            bound = max(Version(s.version) for s in wanted.specifier if s.operator == ">=")
            lowest[wanted.name] = max(bound, lowest.get(wanted.name, bound))
    return [f"{name}=={version}" for name, version in lowest.items()]


def check(session: nox.Session, package: str, *requirements: str, oldest: bool) -> None:
    """Install the core, the integration and its tests into a fresh environment and run them."""
    folder = ROOT / "integrations" / package
    pyproject = nox.project.load_toml(folder / "pyproject.toml")
    tests = nox.project.dependency_groups(pyproject, "test")
    session.install(str(ROOT), str(folder), *tests, *requirements)
    session.run("python", "-c", NO_TORCH)
    session.chdir(folder)
    options = WARNINGS_PASS if oldest else ()
    # Without the folder itself on the path the tests import what the wheel holds.
    session.run("pytest", "-q", "-o", "pythonpath=tests", *options, *session.posargs)


@nox.session
@nox.parametrize("version", ["0.3.21", "newest"])
def langchain(session: nox.Session, version: str) -> None:
    """Test langchain-ragguard, with the vector stores that the release goes with."""
    if version == "newest":
        stores = ("langchain-community", "langchain-chroma", "langchain-classic")
        check(
            session, "langchain-ragguard", "langchain-core>=1", "faiss-cpu", *stores, oldest=False
        )
    else:
        stores = ("langchain-community<0.4", "faiss-cpu")
        check(session, "langchain-ragguard", f"langchain-core=={version}", *stores, oldest=True)


@nox.session
@nox.parametrize("version", ["0.12.50", "newest"])
def llama_index(session: nox.Session, version: str) -> None:
    """Test llama-index-postprocessor-ragguard."""
    newest = version == "newest"
    pin = "llama-index-core>=0.14" if newest else f"llama-index-core=={version}"
    check(session, "llama-index-postprocessor-ragguard", pin, oldest=not newest)
