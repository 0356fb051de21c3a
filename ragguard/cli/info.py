"""`ragguard info`: what is installed, what would be used, and whether the store answers."""

from __future__ import annotations

import platform
import re
import time
from datetime import UTC, datetime
from importlib import metadata
from typing import Annotated, Any

import typer

from ragguard._version import __version__
from ragguard.cli.exits import OPERATIONAL
from ragguard.cli.options import JsonOption, opened_store, optional_store
from ragguard.cli.output import printable, write_json
from ragguard.errors import RagguardError

__all__ = ["info"]

_DISTRIBUTION = "ragguard-middleware"
_NO_PROXY = "none: "
_EXTRA = re.compile(r"""^(?P<name>[\w.-]+).*\bextra\s*==\s*["'](?P<extra>[\w.-]+)["']""")


def info(
    store: Annotated[
        str | None,
        optional_store("An audit store to try."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show versions, installed extras, the embedder and proxy in use, and try the store.

    Of the store it tells how long it took to answer, and how long ago a guard last wrote a verdict
    to it: a guard that is cut off from the store cannot. What one guard knows, `Guard.health` says.

    Exits with 3 if the store cannot be reached, or RAGGUARD_PROXY names no usable proxy.
    """
    facts: dict[str, Any] = {
        "ragguard": __version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _requirements("")},
        "extras": _extras(),
        "embedder": _embedder(),
        "proxy": _proxy(),
        "store": None if store is None else _try_store(store),
    }
    if as_json:
        write_json(facts)
    else:
        _show(facts)
    fails = facts["store"] is not None and not facts["store"]["reachable"]
    if fails or facts["proxy"].startswith(_NO_PROXY):
        raise typer.Exit(OPERATIONAL)


def _requirements(extra: str) -> list[str]:
    """Return the names of the packages that an extra needs, or with "" the core."""
    try:
        lines = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []  # run from a source tree: what would be installed is not on record
    marked = [(line, _EXTRA.match(line)) for line in lines]
    if not extra:
        return [re.split(r"[^\w.-]", line)[0] for line, found in marked if found is None]
    return [found["name"] for _, found in marked if found is not None and found["extra"] == extra]


def _extras() -> dict[str, dict[str, str | None]]:
    """Return for every extra its packages, with their versions where they are installed."""
    try:
        names = metadata.metadata(_DISTRIBUTION).get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        return {}
    # An extra that only refers to other extras says nothing of its own.
    return {
        name: {package: _version(package) for package in packages}
        for name in names
        if _DISTRIBUTION not in (packages := _requirements(name))
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _embedder() -> str:
    from ragguard.embedding import as_embedder

    return as_embedder(None).name


def _proxy() -> str:
    from ragguard.proxy import default

    try:
        proxy = default()
    except RagguardError as error:
        return f"{_NO_PROXY}{error}"
    return type(proxy).__name__


def _try_store(url: str) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        with opened_store(url) as store:
            counts = store.counts()
            keys = len(store.quarantine_keys())
            answered_s = time.perf_counter() - began
            recorded = store.scores()[-1:]
    except RagguardError as error:
        return {"reachable": False, "error": str(error)}
    return {
        "reachable": True,
        "answered_s": round(answered_s, 3),
        "quarantined": keys,
        "counts": counts,
        "last_verdict_s": round(_seconds_since(recorded[0].recorded_at), 1) if recorded else None,
    }


def _seconds_since(moment: datetime) -> float:
    return max(0.0, (datetime.now(UTC) - moment).total_seconds())


def _show(facts: dict[str, Any]) -> None:
    packages = ", ".join(f"{name} {version or '?'}" for name, version in facts["packages"].items())
    typer.echo(f"ragguard  {facts['ragguard']} on Python {facts['python']}")
    typer.echo(f"packages  {packages or 'not on record: run from a source tree'}")
    typer.echo(f"embedder  {facts['embedder']}")
    typer.echo(f"proxy     {facts['proxy']}")
    for name, needed in facts["extras"].items():
        missing = [package for package, version in needed.items() if version is None]
        state = "installed" if not missing else f"missing {', '.join(missing)}"
        typer.echo(f"extra     {name}: {state}")
    store = facts["store"]
    if store is None:
        typer.echo("store     none given; try one with --store URL")
    elif store["reachable"]:
        counts = ", ".join(f"{name} {value}" for name, value in sorted(store["counts"].items()))
        typer.echo(
            f"store     reachable, {store['quarantined']} quarantined; {counts or 'empty'}; "
            f"answered in {store['answered_s']:.2f} s"
        )
        last_s = store["last_verdict_s"]
        heard = (
            "no guard has recorded" if last_s is None else f"{last_s:.0f} s ago a guard recorded"
        )
        typer.echo(f"guards    {heard} a verdict here")
    else:
        typer.echo(f"store     unreachable: {printable(store['error'])}")
