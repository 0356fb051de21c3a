"""`ragguard worker`: attribute the events of a store until stopped."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ragguard.cli import options
from ragguard.cli.output import OPERATIONAL, log_to_stderr, write_json

if TYPE_CHECKING:
    from ragguard.attribution import Attribution
    from ragguard.audit import Event
    from ragguard.background.attribute_event import EventAttributor

logger = logging.getLogger("ragguard.worker")


def worker(
    context: typer.Context,
    store: options.Store,
    knowledge_base: Annotated[
        Path | None,
        typer.Option(
            "--knowledge-base",
            "-b",
            help='JSON lines of {"id", "text"}, read once. Without it, an event\'s own passages.',
        ),
    ] = None,
    once: Annotated[
        bool, options.flag("--once", "Attribute what is pending now, then exit.")
    ] = False,
    lease: Annotated[
        float,
        typer.Option(
            min=1.0,
            help="Seconds after which another worker takes up the event of one that was killed.",
        ),
    ] = 60.0,
    policy: Annotated[
        Literal["observe", "review", "auto"],
        typer.Option(
            help="What an attribution may do: nothing, propose, or quarantine within limits."
        ),
    ] = "review",
    quorum: Annotated[
        int, typer.Option(min=1, help="With auto: how many reporters must accuse a passage.")
    ] = 1,
    answered_only: Annotated[
        bool,
        options.flag(
            "--answered-only", "Attribute only what `Guard.answered` recorded in the day before."
        ),
    ] = False,
    tenant: options.EveryTenant = None,
    as_json: options.AsJson = False,
) -> None:
    """Attribute pending events and propose or quarantine what is responsible, until stopped.

    SIGTERM and SIGINT let the running attribution end and then exit with 0; a second one
    interrupts it, and another worker takes it up again. Progress goes to stderr; --json writes a
    line for every finished event to stdout. Any number of workers may share a store.
    """
    from ragguard.attribution import RAGOrigin
    from ragguard.background import Policy, Worker
    from ragguard.background.attribute_event import EventAttributor
    from ragguard.knowledge.memory import KnowledgeBase

    log_to_stderr(debug=context.find_root().params["debug"], progress=True)
    with (
        _stopped_by_signals() as stop,
        options.opened_store(store, create=True, tenant=tenant) as opened,
    ):
        base = None if knowledge_base is None else KnowledgeBase.from_jsonl(knowledge_base)
        events = EventAttributor(
            opened,
            None if base is None else base.retrieve,
            attributor=RAGOrigin(),
            policy=Policy(policy, quorum=quorum, answered_only=answered_only),
        )
        desk = _Desk(events, stop, as_json=as_json)
        runner = Worker(opened, desk, lease_s=lease)
        if once:
            while not stop.is_set() and runner.run_once():
                pass
        else:
            logger.info("waiting for events")
            runner.run_forever(stop)
    logger.info("stopped")
    if desk.output_error is not None:
        raise desk.output_error
    if once and desk.failed:
        raise typer.Exit(OPERATIONAL)


class _Desk:
    """Attributes events and writes down what was found.

    Attributes:
        failed: Ids of the events whose last attempt failed.
        output_error: Why stdout can no longer be written, or None.
    """

    def __init__(self, events: EventAttributor, stop: threading.Event, *, as_json: bool) -> None:
        self._events = events
        self._stop = stop
        self._as_json = as_json
        self.failed: set[str] = set()
        self.output_error: OSError | None = None

    def attribute(self, event: Event) -> Attribution:
        self.failed.add(event.id)
        logger.info("event %s: attempt %d", event.id, event.attempts)
        attribution = self._events.attribute(event)
        self.failed.discard(event.id)
        return attribution

    def quarantine(self, event: Event, attribution: Attribution) -> None:
        done = self._events.quarantine(event, attribution)
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
