"""`ragguard review`: serves the page, and opens the knowledge base that the page may change."""

from __future__ import annotations

import os
import re
import secrets
import socket
import sys
from inspect import iscoroutine
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

import typer

from ragguard.cli import options
from ragguard.cli.options import option
from ragguard.cli.output import complain
from ragguard.errors import InvalidInputError, MissingExtraError
from ragguard.inline.calibration_file import as_calibration

if TYPE_CHECKING:
    from ragguard.repair import Removable

_TOKEN = "RAGGUARD_REVIEW_TOKEN"  # noqa: S105 - the name of it
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MODULE_NAME = re.compile(r"[^\W\d][\w.]*:[^\W\d]\w*")


def review(
    store: str = options.STORE,
    host: str = option("The address to listen on.", default="127.0.0.1"),
    port: int = option("The port; 0 takes one that is free.", min=0, max=65535, default=8787),
    served_as: list[str] | None = option(
        "A name that a proxy serves it under; may be given again."
    ),
    user_header: str | None = option("Take who asks from this header, which a trusted proxy sets."),
    trusted_proxy: list[str] | None = option(
        "An address or network of that proxy; may be given again."
    ),
    alpha: float = options.ALPHA,
    calibration: Path | None = options.CALIBRATION,
    knowledge_base: str | None = option(
        'The tenant\'s: JSON lines of {"id", "text"}, or what as_removable() takes as '
        "MODULE:NAME. Without it nothing can be removed from it on the page.",
        *("--knowledge-base", "-b"),
        metavar="FILE|MODULE:NAME",
    ),
    tenant: str | None = options.EVERY_TENANT,
) -> None:
    """Serve the page where a person looks at proposals, events and verdicts, and decides.

    Prints an address that works once, and a token that opens the page later; RAGGUARD_REVIEW_TOKEN
    sets that token. The page speaks plain HTTP: to reach it from elsewhere, put a proxy with TLS in
    front. Ctrl-C ends it.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtraError("the review page", "review") from error
    from ragguard.review.access import Access, TrustedProxy
    from ragguard.review.app import review_app
    from ragguard.review.knowledge import Knowledge
    from ragguard.review.request import Settings

    if trusted_proxy and user_header is None:
        raise InvalidInputError("--trusted-proxy needs --user-header, the header that it sets")
    proxy = None if user_header is None else TrustedProxy.of(user_header, trusted_proxy or ())
    token = os.environ.get(_TOKEN) or secrets.token_urlsafe(24)
    access = Access(token, proxy=proxy)
    measure = as_calibration(calibration)
    if measure is not None:
        measure.require(alpha)
    base = None if knowledge_base is None else _opened_knowledge(knowledge_base)
    knowledge = None if base is None else Knowledge(base, tenant or "")
    settings = Settings(alpha, measure, knowledge)
    owner = options.login_name()
    hosts = (*_LOOPBACK, host, *(served_as or ()))
    with options.opened_store(store, access="keep") as opened, _listening(host, port) as listening:
        here = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        app = review_app(opened, access, settings=settings, hosts=hosts, owner=owner, tenant=tenant)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # who asks is told by the connection, not by what it says
            ws="none",
            lifespan="off",
        )
        typer.echo(f"{here}/login?once={access.once}")
        if _TOKEN not in os.environ:
            typer.echo(f"opens the page once; later, log in at {here} with the token {token}")
        if host not in _LOOPBACK:
            complain(
                "anybody who reaches this address can read along: serve it through a proxy with TLS"
            )
        uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise InvalidInputError(
            f"cannot listen on {host} port {port}: {error.strerror}; pass another --port, or 0"
        ) from error


def _opened_knowledge(given: str) -> Removable:
    """Return a file of passages, or what MODULE:NAME is, which may be a function that returns it.

    Modules are looked for in the current folder as well.
    """
    from ragguard.knowledge.json_lines import JsonLinesFile
    from ragguard.repair import as_removable

    if Path(given).exists() or not _MODULE_NAME.fullmatch(given):
        file = JsonLinesFile(given)
        file.find([""])  # a bad line is better told now than when somebody decides
        return file
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as Python itself does it
    try:
        found = resolve_name(given)
        source = found() if callable(found) else found
        if iscoroutine(source):
            source.close()  # nobody waits for it
            raise TypeError("it is a coroutine function")
    except (Exception, SystemExit) as error:
        raise InvalidInputError(
            f"--knowledge-base {given} failed: {type(error).__name__}: {error}; pass a file, or "
            "MODULE:NAME of a vector store or of a function that returns one"
        ) from error
    return as_removable(source)
