"""Which database a path or a URL names."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from ragguard.errors import InvalidInputError

__all__ = ["store_url"]


def store_url(url: str) -> URL:
    """Return what a path or a URL names, with an absolute path or the driver that is used.

    Raises:
        InvalidInputError: It names neither a SQLite file nor a PostgreSQL database.
    """
    if "://" not in url:
        url_object = URL.create("sqlite", database=str(Path(url).expanduser()))
    else:
        try:
            url_object = make_url(url)
        except ArgumentError as error:
            raise InvalidInputError(
                "the store's URL cannot be read; pass a path, sqlite:///path or "
                "postgresql://user@host/database"
            ) from error
    if url_object.drivername in ("postgres", "postgresql"):
        url_object = url_object.set(drivername="postgresql+psycopg")
    if url_object.drivername == "postgresql+psycopg":
        if "@" in (url_object.host or ""):
            # Not to be shown: the rest of a password would be.
            raise InvalidInputError(
                "the store's URL has more than one @; write one in the password as %40"
            )
        return url_object
    if url_object.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise InvalidInputError(
            f"no audit store speaks {url_object.drivername!r}; pass a path, sqlite:///path or "
            "postgresql://user@host/database"
        )
    database = url_object.database
    if not database or database == ":memory:":
        raise InvalidInputError(
            "a SQLite store needs a file; for a store in memory pass store=None"
        )
    if database.startswith("file:"):
        return url_object
    return url_object.set(database=str(Path(database).absolute()))
