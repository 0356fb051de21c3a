"""The web application: who comes in, what for, and headers under which nothing can run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any
from urllib.parse import urlsplit

try:
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, RedirectResponse, Response
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ragguard.review.rendering import rendered, visible
except ImportError as error:
    from ragguard.errors import MissingExtraError

    raise MissingExtraError("the review page", "review") from error

from ragguard._version import __version__
from ragguard.arguments import require_tenant
from ragguard.audit import AuditStore
from ragguard.errors import InvalidInputError, RagguardError, StoreError
from ragguard.review import pages, plots
from ragguard.review.access import SESSION_S, Access, Person, named
from ragguard.review.buttons import decide
from ragguard.review.request import Fields, Settings, Visit, address_of, first, parsed

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
COOKIE = "ragguard_review"
_DEFECT = "This is a defect of ragguard; please report it with what the command has printed."
_Answering = Callable[[Request, Person], Awaitable[Response]]
# By path: the title, and what the template of that name shows.
_MENU: dict[str, tuple[str, Callable[[Visit], Mapping[str, Any]]]] = {
    "/": ("Proposals", pages.proposals),
    "/events": ("Events", pages.events),
    "/verdicts": ("Verdicts", pages.verdicts),
    "/quarantine": ("Quarantine", pages.quarantine),
    "/allowed": ("Allow-list", pages.allowed),
    "/reporters": ("Reporters", pages.reporters),
    "/history": ("History", pages.history),
    "/charts": ("Charts", plots.charts),
}
_PAGES = _MENU | {
    "/event": ("Event", pages.event),
    "/verdict": ("Verdict", pages.verdict),
    "/entry": ("Passage", pages.entry),
}


def review_app(
    store: AuditStore,
    access: Access,
    *,
    settings: Settings | None = None,
    hosts: Collection[str] | None = None,
    owner: str = "owner",
    tenant: str | None = None,
) -> Starlette:
    """Return the review page as an ASGI application.

    Args:
        store: What there is to see and to decide about.
        access: Who may.
        settings: What guards on the store use.
        hosts: The names under which it is served; a request for another one is refused, so that no
            other site can pose as it by its name. None: any.
        owner: Whom the link that opens the page a single time lets in.
        tenant: The only one to see; None: each, one at a time.

    Raises:
        InvalidInputError: `tenant` is no name of a tenant.
    """
    only = None if tenant is None else require_tenant(tenant)
    site = _Site(store, access, settings or Settings(), owner, only)
    return Starlette(
        routes=[
            *(Route(path, site.known(partial(site.page, path))) for path in _PAGES),
            Route("/text", site.known(site.text)),
            Route("/decide", site.known(site.decide), methods=["POST"]),
            Route("/login", site.login, methods=["GET", "POST"]),
            Route("/logout", site.known(site.logout), methods=["POST"]),
            Mount("/static", StaticFiles(packages=[("ragguard.review", "static")])),
        ],
        middleware=[Middleware(_Door, hosts=hosts)],
        exception_handlers={
            404: lambda *_: _error("Not found", "There is no such page.", 404),
            RagguardError: _failed,
            # Starlette raises the error again, so that the server logs it.
            Exception: lambda *_: _error("Not done", _DEFECT, 500),
        },
    )


@dataclass(frozen=True)
class _Site:
    _store: AuditStore
    _access: Access
    _settings: Settings
    _owner: str
    _tenant: str | None

    def known(self, answer: _Answering) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint that answers somebody who may see the page."""

        async def endpoint(request: Request) -> Response:
            session, headers = request.cookies.get(COOKIE, ""), request.headers
            person = self._access.person(session, _address(request), headers.getlist)
            return self._closed() if person is None else await answer(request, person)

        return endpoint

    def _visit(self, request: Request, person: Person, form: Fields | None = None) -> Visit:
        """Return a visit to the tenant that is asked for, which is the form's if there is one."""
        asked = _asked(request) if form is None else {}
        name = first(form or asked, "tenant")
        if self._tenant is not None and name not in ("", self._tenant):
            raise InvalidInputError("this page shows one tenant, and not that one")
        store = self._store.of_tenant(self._tenant or name or None)
        others = () if self._tenant is not None else self._store.tenants()
        return Visit(store, person, asked, form or {}, self._settings, others)

    async def page(self, path: str, request: Request, person: Person) -> Response:
        return await run_in_threadpool(self._shown, path, self._visit(request, person))

    async def text(self, request: Request, person: Person) -> Response:
        visit = self._visit(request, person)
        return PlainTextResponse(visible(await run_in_threadpool(pages.text, visit)))

    async def decide(self, request: Request, person: Person) -> Response:
        visit = self._visit(request, person, await _form_of(request))
        if not self._access.form_holds(person, visit.filled("form")):
            return _refused()
        done = await run_in_threadpool(decide, visit)
        back = visit.filled("back")
        back = back if back.partition("?")[0] in _PAGES else "/"
        said = address_of("", **done)
        return RedirectResponse(back + (said.replace("?", "&", 1) if "?" in back else said), 303)

    async def login(self, request: Request) -> Response:
        # First, or attempts whose forms come slowly would not have to wait for each other.
        form = await _form_of(request) if request.method == "POST" else {}
        address = _address(request)
        if wait := self._access.wait(address):
            return self._closed(f"Too many attempts. Wait {ceil(wait)} seconds.", 429, wait)
        if request.method == "GET":
            code = first(_asked(request), "once")
            if not code:
                return self._closed(status=200)
            if not _is_own(request):  # or a site could use up the attempts of whoever visits it
                return self._closed("Another site sent you here. Paste the link instead.", 403)
            session = self._access.enter_once(code, self._owner, address)
            refusal = "This link has been used, or was never right."
        else:
            name = named(first(form, "name"))
            if not name:
                return self._closed("Say who you are: decisions are kept with a name.")
            session = self._access.enter(first(form, "token").strip(), name, address)
            refusal = "This is not the token."
        if session is None:
            return self._closed(refusal)
        response = RedirectResponse("/", 303)
        response.set_cookie(
            COOKIE,
            session,
            max_age=int(SESSION_S),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    async def logout(self, request: Request, person: Person) -> Response:
        form = await _form_of(request)
        if not self._access.form_holds(person, first(form, "form")):
            return _refused()
        self._access.leave(person)
        response = RedirectResponse("/login", 303)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return response

    def _shown(self, path: str, visit: Visit) -> Response:
        (title, page), person, tenant = _PAGES[path], visit.person, visit.store.tenant
        body = rendered(
            f"{path.strip('/') or 'proposals'}.html",
            **page(visit),
            title=title,
            menu={address: called for address, (called, _) in _MENU.items()},
            path=path,
            here=address_of(path, **visit.here),
            link=partial(address_of, tenant=tenant),
            tenant=tenant,
            tenants=visit.others,
            person=person,
            form_token=self._access.form_token(person),
            began=visit.began.isoformat(),
            waiting=pages.waiting(visit.store),
            done=visit.get("done"),
            count=visit.number("count", 0),
            stays=visit.number("stays", 0),
            passing=visit.passing,
            version=__version__,
        )
        return Response(body, media_type="text/html")

    def _closed(self, words: str = "", status: int = 401, wait: float = 0.0) -> Response:
        body = rendered("login.html", title="Log in", words=words, owner=self._owner)
        headers = {"retry-after": str(ceil(wait))} if wait else None
        return Response(body, status, headers, media_type="text/html")


def _failed(request: Request, error: Exception) -> Response:  # noqa: ARG001
    status = 404 if isinstance(error, LookupError) else 400
    return _error("Not done", str(error), 503 if isinstance(error, StoreError) else status)


def _refused() -> Response:
    words = "The form is not of your session, and nothing was changed. Load the page again."
    return _error("Refused", words, 403)


def _error(title: str, words: str, status: int) -> Response:
    body = rendered("failed.html", title=title, words=words)
    # What is answered outside of `_Door`, as a defect is, needs the headers as well.
    return Response(body, status, HEADERS, media_type="text/html")


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _asked(request: Request) -> Fields:
    return parsed(request.scope["query_string"])


def _is_own(request: Request) -> bool:
    """Return whether no other site caused a request, as far as the browser says."""
    return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


async def _form_of(request: Request) -> Fields:
    """Return the fields of a form that a page of ours sent, and that is not too large."""
    if not _is_own(request):
        raise InvalidInputError("another site sent this form; use the one on this page")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            raise InvalidInputError("the form is too large; decide about fewer passages at once")
    return parsed(body)


class _Door:
    """Refuses other hosts' requests, and adds the security headers to every response."""

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None) -> None:
        self._app = app
        self._hosts = None if hosts is None else {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def started(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        app, host = self._app, None
        with suppress(ValueError):
            host = urlsplit(f"//{Headers(scope=scope).get('host', '')}").hostname
        if self._hosts is not None and host not in self._hosts:
            app = PlainTextResponse("This page is not served under that name: --served-as.", 400)
        await app(scope, receive, started)
