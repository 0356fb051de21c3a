"""`ragguard info`: what is installed, what would be used, and whether the store answers."""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import typer

from ragguard._version import __version__
from ragguard.audit import AuditStore
from ragguard.audit.quarantine import HELD
from ragguard.cli import options
from ragguard.cli.output import OPERATIONAL, show_facts, write_json
from ragguard.embedding import as_embedder
from ragguard.errors import RagguardError

_DISTRIBUTION = "ragguard-middleware"
_NO_PROXY = "none: "
_SHOWN_TENANTS = 20
_REQUIREMENT = re.compile(r"""^([\w.-]+)(?:.*\bextra\s*==\s*["']([\w.-]+)["'])?""")


def info(
    store: str | None = options.store("An audit store to try."), as_json: bool = options.AS_JSON
) -> None:
    """Show versions, installed extras, the embedder and proxy in use, and try the store.

    Of the store it tells how long it took to answer, and how long ago a guard last wrote a verdict
    to it: a guard that is cut off from the store cannot. What one guard knows, `Guard.health` says.
    What it counts is of all tenants together; where there are named ones, the default one and each
    of them have lines below.

    Exits with 3 if the store cannot be reached, or RAGGUARD_PROXY names no usable proxy.
    """
    needed = _needed()
    facts: dict[str, Any] = {
        "ragguard": __version__,
        "python": platform.python_version(),
        "packages": needed.pop("", {}),
        "extras": needed,
        "embedder": as_embedder(None).name,
        "proxy": _proxy(),
        "store": None if store is None else _try_store(store),
    }
    if as_json:
        write_json(facts)
    else:
        show_facts(*_told(facts))
    fails = facts["store"] is not None and not facts["store"]["reachable"]
    if fails or facts["proxy"].startswith(_NO_PROXY):
        raise typer.Exit(OPERATIONAL)


def _needed() -> dict[str, dict[str, str | None]]:
    """Return the packages of each extra, of the core under "", and the versions that are installed.

    Run from a source tree there are none: what would be installed is not on record.
    """
    needed: dict[str, dict[str, str | None]] = {}
    with suppress(metadata.PackageNotFoundError):
        for line in metadata.requires(_DISTRIBUTION) or []:
            package, extra = _REQUIREMENT.search(line).groups()  # type: ignore[union-attr]
            # An extra that only refers to other extras says nothing of its own.
            if package != _DISTRIBUTION:
                versions = needed.setdefault(extra or "", {})
                versions[package] = None
                with suppress(metadata.PackageNotFoundError):
                    versions[package] = metadata.version(package)
    return needed


def _proxy() -> str:
    from ragguard.proxy import default

    try:
        proxy = default()
    except RagguardError as error:
        return f"{_NO_PROXY}{error}"
    return type(proxy).__name__


def _try_store(url: str) -> dict[str, Any]:
    try:
        with options.opened_store(url) as store:
            began = time.perf_counter()
            counts = store.counts()
            own = _entries(store)
            tenants = {name: _entries(store.of_tenant(name)) for name in store.tenants()}
            answered_s = time.perf_counter() - began
            recorded = store.scores()[-1:]
    except RagguardError as error:
        return {"reachable": False, "error": str(error)}
    ago = [(datetime.now(UTC) - record.recorded_at).total_seconds() for record in recorded]
    return {
        "reachable": True,
        "answered_s": round(answered_s, 3),
        "quarantined": sum(one["quarantined"] for one in (own, *tenants.values())),
        "default_tenant": own,
        "tenants": tenants,
        "counts": counts,
        "last_verdict_s": round(max(0.0, ago[0]), 1) if ago else None,
    }


def _entries(store: AuditStore) -> dict[str, int]:
    counts = store.quarantine_counts()
    quarantined = sum(counts.get(status, 0) for status in HELD)
    return {"quarantined": quarantined, "proposed": counts.get("proposed", 0)}


def _told(facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    packages = ", ".join(f"{name} {version or '?'}" for name, version in facts["packages"].items())
    yield "ragguard", f"{facts['ragguard']} on Python {facts['python']}"
    yield "packages", packages or "not on record: run from a source tree"
    yield "embedder", facts["embedder"]
    yield "proxy", facts["proxy"]
    for name, needed in facts["extras"].items():
        missing = ", ".join(package for package, version in needed.items() if version is None)
        yield "extra", f"{name}: {f'missing {missing}' if missing else 'installed'}"
    store = facts["store"]
    if store is None:
        yield "store", "none given; try one with --store URL"
    elif not store["reachable"]:
        yield "store", f"unreachable: {store['error']}"
    else:
        counts = ", ".join(f"{name} {value}" for name, value in sorted(store["counts"].items()))
        yield (
            "store",
            f"reachable, of all tenants: {store['quarantined']} quarantined; {counts or 'empty'}; "
            f"answered in {store['answered_s']:.2f} s",
        )
        last_s = store["last_verdict_s"]
        heard = "no guard has" if last_s is None else f"{last_s:.0f} s ago a guard"
        yield "guards", f"{heard} recorded a verdict here"
        if store["tenants"]:
            yield "default", _said(store["default_tenant"])
        tenants = sorted(store["tenants"].items(), key=lambda pair: -pair[1]["proposed"])
        for name, entries in tenants[:_SHOWN_TENANTS]:
            yield "tenant", f"{name}: {_said(entries)}"
        if len(tenants) > _SHOWN_TENANTS:
            yield "tenant", f"and {len(tenants) - _SHOWN_TENANTS} more; --json shows all"


def _said(entries: dict[str, int]) -> str:
    return f"{entries['quarantined']} quarantined, {entries['proposed']} proposed"
