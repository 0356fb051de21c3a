"""The audit store that a command works on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragguard.errors import StoreError

if TYPE_CHECKING:
    from ragguard.audit.records import AuditStore

__all__ = ["StoreOption", "opened_store"]

StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="RAGGUARD_STORE",
        metavar="URL",
        help="The audit store: a path, sqlite:///path or postgresql://user@host/database.",
    ),
]


@contextmanager
def opened_store(url: str, *, create: bool = False) -> Iterator[AuditStore]:
    """Open an audit store and close it again.

    Args:
        url: What `ragguard.audit.open_store` takes.
        create: Make a SQLite file that is not there. A command that only reads leaves this off:
            a mistyped path would otherwise look like a store without events.

    Raises:
        InvalidInputError: The URL names no store.
        StoreError: The store cannot be reached, or is not there.
    """
    from ragguard.audit import open_store

    path = _sqlite_path(url)
    if path is not None and not create and not path.exists():
        raise StoreError(
            f"there is no audit store at {path}; check the path, or file a first event with "
            "`ragguard report`"
        )
    store = open_store(url)
    try:
        yield store
    finally:
        store.close()


def _sqlite_path(url: str) -> Path | None:
    if "://" not in url:
        return Path(url).expanduser()
    scheme, _, rest = url.partition("://")
    path = rest.removeprefix("/").partition("?")[0]
    if not scheme.startswith("sqlite") or not path or path.startswith((":memory:", "file:")):
        return None
    return Path(path)
