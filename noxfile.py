"""Runs each integration against the oldest and the newest framework release that it supports.

`nox` runs all four sessions; `nox -s langchain` both ends of one.
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.needs_version = ">=2024.10"
nox.options.default_venv_backend = "virtualenv|venv"

ROOT = Path(__file__).parent
NO_TORCH = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is not None)"


def check(session: nox.Session, package: str, *requirements: str) -> None:
    """Install the core, the integration and its tests into a fresh environment and run them."""
    folder = ROOT / "integrations" / package
    pyproject = nox.project.load_toml(folder / "pyproject.toml")
    tests = nox.project.dependency_groups(pyproject, "test")
    session.install(str(ROOT), str(folder), *tests, *requirements)
    session.run("python", "-c", NO_TORCH)
    session.chdir(folder)
    session.run("python", "-m", "pytest", "-q", *session.posargs)


@nox.session
@nox.parametrize("version", ["0.3.15", "newest"])
def langchain(session: nox.Session, version: str) -> None:
    """Test langchain-ragguard."""
    if version == "newest":
        stores = ["langchain-community", "langchain-chroma", "langchain-classic"]
        check(session, "langchain-ragguard", "langchain-core>=1", "faiss-cpu", *stores)
    else:
        check(
            session,
            "langchain-ragguard",
            f"langchain-core=={version}",
            "langchain-community<0.4",
            "faiss-cpu",
        )


@nox.session
@nox.parametrize("version", ["0.12.50", "newest"])
def llama_index(session: nox.Session, version: str) -> None:
    """Test llama-index-postprocessor-ragguard."""
    pin = "llama-index-core>=0.14" if version == "newest" else f"llama-index-core=={version}"
    check(session, "llama-index-postprocessor-ragguard", pin)
