"""`ragguard review`: the page where a person confirms or releases."""

from __future__ import annotations

import os
import secrets
import socket
from typing import Annotated

import typer

from ragguard.arguments import require_share
from ragguard.cli import options
from ragguard.errors import InvalidInputError, MissingExtraError

_TOKEN = "RAGGUARD_REVIEW_TOKEN"  # noqa: S105 - the name of it
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def review(
    store: options.Store,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 takes one that is free.")
    ] = 8787,
    served_as: Annotated[
        list[str] | None,
        typer.Option(help="A name that a proxy serves it under; may be given again."),
    ] = None,
    user_header: Annotated[
        str | None,
        typer.Option(help="Take who asks from this header, which a trusted proxy sets."),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(help="An address or network of that proxy; may be given again."),
    ] = None,
    alpha: options.Alpha = 0.01,
    calibration: options.Calibration = None,
    tenant: options.EveryTenant = None,
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
    from ragguard.inline.calibration_file import load_calibration
    from ragguard.review.access import Access, TrustedProxy
    from ragguard.review.app import review_app
    from ragguard.review.request import Settings

    require_share("--alpha", alpha)
    if trusted_proxy and user_header is None:
        raise InvalidInputError("--trusted-proxy needs --user-header, the header that it sets")
    proxy = None if user_header is None else TrustedProxy.of(user_header, trusted_proxy or ())
    token = os.environ.get(_TOKEN) or secrets.token_urlsafe(24)
    access = Access(token, proxy=proxy)
    settings = Settings(alpha, None if calibration is None else load_calibration(calibration))
    owner = options.login_name()
    hosts = (*_LOOPBACK, host, *(served_as or ()))
    with options.opened_store(store) as opened, _listening(host, port) as listening:
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
            typer.echo(
                "ragguard: anybody who reaches this address can read along: serve it through a "
                "proxy with TLS",
                err=True,
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
