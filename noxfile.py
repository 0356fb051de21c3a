"""Runs each integration against the oldest and the newest framework release that it supports.

`nox` runs all four sessions; `nox -s langchain` both ends of one.
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.options.default_venv_backend = "venv"

ROOT = Path(__file__).parent
NO_TORCH = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is not None)"
# Old releases warn of what has become deprecated below them since.
WARNINGS_PASS = ("-W", "default")


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
