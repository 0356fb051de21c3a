"""Who comes in at all: no other host's request, no other site's form; and the headers of all."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragguard.errors import InvalidInputError
from ragguard.review.request import Fields, parsed

HEADERS = {  # of every response
    # No script at all, and nothing from anywhere else: what a passage says stays text.
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_MOST_BYTES = 200_000  # of a form


def is_own(request: Request) -> bool:
    """Return whether no other site caused a request, as far as the browser says."""
    return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


async def form_of(request: Request) -> Fields:
    """Return the fields of a form that a page of ours sent, and that is not too large.

    Raises:
        InvalidInputError: Another site sent it, it is too large, or it cannot be read.
    """
    if not is_own(request):
        raise InvalidInputError("another site sent this form; use the one on this page")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            raise InvalidInputError("the form is too large; decide about fewer passages at once")
    return parsed(body)


class Door:
    """Refuses other hosts' requests, and adds the security headers to every response."""

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None) -> None:
        self._app = app
        self._hosts = None if hosts is None else {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request as ASGI has it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def started(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name for name, _ in message["headers"]}
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] += [pair for pair in added if pair[0] not in known]
            await send(message)

        app = self._app
        if self._hosts is not None and _host(scope) not in self._hosts:
            app = PlainTextResponse("This page is not served under that name: --served-as.", 400)
        await app(scope, receive, started)


def _host(scope: Scope) -> str | None:
    try:
        return urlsplit(f"//{Headers(scope=scope).get('host', '')}").hostname
    except ValueError:
        return None
