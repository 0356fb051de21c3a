"""`ragguard worker` and `review`, which run until they are stopped."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragguard.cli import options
from ragguard.cli.left_alone import LeftAlone
from ragguard.cli.options import flag, option
from ragguard.cli.output import OPERATIONAL, complain, log_to_stderr, write_json
from ragguard.errors import InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    from ragguard.attribution import Attribution
    from ragguard.audit import Event
    from ragguard.background.attribute_event import EventAttributor

logger = logging.getLogger("ragguard.worker")

_TOKEN = "RAGGUARD_REVIEW_TOKEN"  # noqa: S105 - the name of it
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def worker(
    context: typer.Context,
    store: options.Store,
    knowledge_base: Annotated[
        Path | None,
        option(
            'JSON lines of {"id", "text"}, read once. Without it, an event\'s own passages.',
            "--knowledge-base",
            "-b",
        ),
    ] = None,
    once: Annotated[bool, flag("--once", "Attribute what is pending now, then exit.")] = False,
    lease: Annotated[
        float,
        option(
            "Seconds after which another worker takes up the event of one that was killed.", min=1.0
        ),
    ] = 60.0,
    policy: Annotated[
        Literal["observe", "review", "auto"],
        option("What an attribution may do: nothing, propose, or quarantine within limits."),
    ] = "review",
    quorum: Annotated[
        int, option("With auto: how many reporters must accuse a passage.", min=1)
    ] = 1,
    answered_only: Annotated[
        bool,
        flag("--answered-only", "Attribute only what `Guard.answered` recorded in the day before."),
    ] = False,
    alpha: options.Alpha = 0.01,
    calibration: options.Calibration = None,
    protected: Annotated[
        list[str] | None,
        option(
            'Only a person quarantines what has this "source" in its metadata; may be given again.',
            metavar="SOURCE",
        ),
    ] = None,
    trust: Annotated[
        Path | None, option("JSON file of whom your guards trust; in place of --protected.")
    ] = None,
    tenant: options.EveryTenant = None,
    as_json: options.AsJson = False,
) -> None:
    """Attribute pending events and propose or quarantine what is responsible, until stopped.

    SIGTERM and SIGINT let the running attribution end and then exit with 0; a second one
    interrupts it, and another worker takes it up again. Progress goes to stderr; --json writes a
    line for every finished event to stdout. Any number of workers may share a store.
    """
    from ragguard.attribution import RAGOrigin
    from ragguard.audit.trail import note_quietly
    from ragguard.background import Policy, Worker
    from ragguard.background.attribute_event import EventAttributor
    from ragguard.background.policy import trust_change
    from ragguard.calibrator import Calibrator
    from ragguard.embedding import HashedEmbedder
    from ragguard.inline.calibration_file import as_calibration
    from ragguard.knowledge.memory import KnowledgeBase
    from ragguard.trust import Trust

    sources = protected or []
    options.require_not_blank(*[("--protected", name) for name in sources])
    if trust is not None and sources:
        raise InvalidInputError("pass --trust or --protected: the file can name sources as well")
    trusted = Trust(protected=sources) if trust is None else Trust.from_json(trust)
    measure = as_calibration(calibration)
    calibrator = Calibrator(HashedEmbedder(), strategy="auto", alpha=alpha, calibration=measure)
    log_to_stderr(debug=context.find_root().params["debug"], progress=True)
    with (
        _stopped_by_signals() as stop,
        options.opened_store(store, access="make", tenant=tenant) as opened,
    ):
        base = None if knowledge_base is None else KnowledgeBase.from_jsonl(knowledge_base)
        search = None if base is None else base.retrieve
        limits = Policy(policy, quorum=quorum, answered_only=answered_only)
        if trusted.protected or trusted.known:
            note_quietly(opened, trust_change(trusted))
        if measure is not None:
            note_quietly(opened, calibrator.change)
        events = EventAttributor(
            opened,
            search,
            attributor=RAGOrigin(),
            policy=limits,
            trust=trusted,
            judge=calibrator.judge,
        )
        desk, blind = _Desk(events, stop, as_json=as_json), base is None
        tell = LeftAlone(opened).tell if blind else lambda: None
        runner = Worker(opened, desk, lease_s=lease, skip_without_passages=blind, on_idle=tell)
        if once:
            while not stop.is_set() and runner.run_once():
                pass
            tell()
        else:
            logger.info("waiting for events")
            runner.run_forever(stop)
    logger.info("stopped")
    if desk.output_error is not None:
        raise desk.output_error
    if once and desk.failed:
        raise typer.Exit(OPERATIONAL)


class _Desk:
    """Attributes events and writes down what was found."""

    def __init__(self, events: EventAttributor, stop: threading.Event, *, as_json: bool) -> None:
        self._events = events
        self._stop = stop
        self._as_json = as_json
        self.failed: set[tuple[str, str]] = set()  # events whose last attempt did, by tenant and id
        self.output_error: OSError | None = None  # why stdout can no longer be written

    def attribute(self, event: Event) -> Attribution:
        self.failed.add((event.tenant, event.id))
        logger.info("event %s: attempt %d", event.id, event.attempts)
        return self._events.attribute(event)

    def quarantine(self, event: Event, attribution: Attribution) -> None:
        done = self._events.quarantine(event, attribution)
        self.failed.discard((event.tenant, event.id))
        added = sum(one.quarantined for one in done)
        proposed = sum(one.kept and one.entry.status == "proposed" for one in done)
        found = {
            "event_id": event.id,
            "tenant": event.tenant,
            "cause": attribution.cause,
            "reason": attribution.reason,
            "responsible": [passage.id for passage in attribution.responsible],
            "quarantined": added,
            "proposed": proposed,
        }
        logger.info(
            "event %s: %s, %d quarantined, %d proposed: %s",
            *(event.id, attribution.cause, added, proposed, attribution.reason),
        )
        if self._as_json and self.output_error is None:
            try:
                write_json(found, indent=None)
            except OSError as error:
                # The event is attributed all the same: a closed pipe must not count as its failure.
                self.output_error = error
                self._stop.set()


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Set the event at the first SIGTERM or SIGINT, and raise KeyboardInterrupt at the next."""
    stop = threading.Event()

    def handle(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def review(
    store: options.Store,
    host: Annotated[str, option("The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("The port; 0 takes one that is free.", min=0, max=65535)] = 8787,
    served_as: Annotated[
        list[str] | None, option("A name that a proxy serves it under; may be given again.")
    ] = None,
    user_header: Annotated[
        str | None, option("Take who asks from this header, which a trusted proxy sets.")
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None, option("An address or network of that proxy; may be given again.")
    ] = None,
    alpha: options.Alpha = 0.01,
    calibration: options.Calibration = None,
    knowledge_base: Annotated[
        str | None,
        option(
            'The tenant\'s: JSON lines of {"id", "text"}, or what as_removable() takes as '
            "MODULE:NAME. Without it nothing can be removed from it on the page.",
            *("--knowledge-base", "-b"),
            metavar="FILE|MODULE:NAME",
        ),
    ] = None,
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
    from ragguard.cli.knowledge import opened_knowledge
    from ragguard.inline.calibration_file import as_calibration
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
    base = None if knowledge_base is None else opened_knowledge(knowledge_base)
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
