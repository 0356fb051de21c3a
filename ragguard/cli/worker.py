"""`ragguard worker`: attributes events until it is stopped."""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Literal

import typer

from ragguard import attribution
from ragguard.attribution import Attribution
from ragguard.audit import AuditStore, Event
from ragguard.audit.trail import note_quietly
from ragguard.background import Policy, Worker
from ragguard.background.attribute_event import EventAttributor
from ragguard.background.policy import trust_change
from ragguard.calibrator import Calibrator
from ragguard.cli import options
from ragguard.cli.options import flag, option
from ragguard.cli.output import OPERATIONAL, log_to_stderr, write_json
from ragguard.embedding import HashedEmbedder
from ragguard.errors import InvalidInputError
from ragguard.inline.calibration_file import as_calibration
from ragguard.trust import Trust

logger = logging.getLogger("ragguard.worker")

_MOST_LEFT = 1_000  # pending events of a tenant that are looked at


def worker(
    context: typer.Context,
    store: str = options.STORE,
    knowledge_base: Path | None = option(
        'JSON lines of {"id", "text"}, read once. Without it, an event\'s own passages.',
        *("--knowledge-base", "-b"),
    ),
    once: bool = flag("--once", "Attribute what is pending now, then exit."),
    lease: float = option(
        "Seconds after which another worker takes up the event of one that was killed.",
        min=1.0,
        default=60.0,
    ),
    policy: Literal["observe", "review", "auto"] = option(
        "What an attribution may do: nothing, propose, or quarantine within limits.",
        default="review",
    ),
    quorum: int = option("With auto: how many reporters must accuse a passage.", min=1, default=1),
    answered_only: bool = flag(
        "--answered-only", "Attribute only what `Guard.answered` recorded in the day before."
    ),
    alpha: float = options.ALPHA,
    calibration: Path | None = options.CALIBRATION,
    protected: list[str] | None = option(
        'Only a person quarantines what has this "source" in its metadata; may be given again.',
        metavar="SOURCE",
    ),
    trust: Path | None = option("JSON file of whom your guards trust; in place of --protected."),
    tenant: str | None = options.EVERY_TENANT,
    as_json: bool = options.AS_JSON,
) -> None:
    """Attribute pending events and propose or quarantine what is responsible, until stopped.

    SIGTERM and SIGINT let the running attribution end and then exit with 0; a second one
    interrupts it, and another worker takes it up again. Progress goes to stderr; --json writes a
    line for every finished event to stdout. Any number of workers may share a store.
    """
    from ragguard.knowledge.memory import KnowledgeBase

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
        if trusted.protected or trusted.known:
            note_quietly(opened, trust_change(trusted))
        if measure is not None:
            note_quietly(opened, calibrator.change)
        events = EventAttributor(
            opened,
            None if base is None else base.retrieve,
            attributor=attribution.RAGOrigin(),
            policy=Policy(policy, quorum=quorum, answered_only=answered_only),
            trust=trusted,
            gate=calibrator.gate,
        )
        desk, blind = _Desk(events, stop, as_json), base is None
        tell = _LeftAlone(opened).tell if blind else lambda: None
        runner = Worker(opened, desk, lease_s=lease, skip_without_passages=blind, on_idle=tell)
        if once:
            while not stop.is_set() and runner.run_once():
                pass
            tell()
            _tell_waiting(opened)
        else:
            logger.info("waiting for events")
            runner.run_forever(stop)
    logger.info("stopped")
    if desk.output_error is not None:
        raise desk.output_error
    if once and desk.failed:
        raise typer.Exit(OPERATIONAL)


@dataclass
class _Desk:
    """Attributes events and writes down what was found."""

    events: EventAttributor
    stop: threading.Event
    as_json: bool
    failed: set[tuple[str, str]] = field(default_factory=set)  # by tenant and id, at the last try
    output_error: OSError | None = None  # why stdout can no longer be written

    def attribute(self, event: Event) -> Attribution:
        self.failed.add((event.tenant, event.id))
        logger.info("event %s: attempt %d", event.id, event.attempts)
        return self.events.attribute(event)

    def quarantine(self, event: Event, attribution: Attribution) -> None:
        done = self.events.quarantine(event, attribution)
        self.failed.discard((event.tenant, event.id))
        added = sum(one.quarantined for one in done)
        proposed = sum(one.kept and one.entry.status == "proposed" for one in done)
        logger.info(
            "event %s: %s, %d quarantined, %d proposed: %s",
            *(event.id, attribution.cause, added, proposed, attribution.reason),
        )
        if self.as_json and self.output_error is None:
            found = {
                "event_id": event.id,
                "tenant": event.tenant,
                "cause": attribution.cause,
                "reason": attribution.reason,
                "responsible": [passage.id for passage in attribution.responsible],
                "quarantined": added,
                "proposed": proposed,
            }
            try:
                write_json(found, indent=None)
            except OSError as error:
                # The event is attributed all the same: a closed pipe must not count as its failure.
                self.output_error = error
                self.stop.set()


class _LeftAlone:
    """Tells the log, once, of events that a worker without a knowledge base leaves to others."""

    def __init__(self, store: AuditStore) -> None:
        self._store, self._again = store, 0.0  # when to look

    def tell(self) -> None:
        """Say how many wait, of all tenants for the default one; or look again in a minute."""
        now, store = time.monotonic(), self._store
        if now < self._again:
            return
        count = sum(not event.passages for event in _pending(store))
        self._again = math.inf if count else now + 60.0
        if count:
            has = "event has" if count == 1 else "events have"
            logger.warning("%d %s no passages; give --knowledge-base", count, has)


def _tell_waiting(store: AuditStore) -> None:
    count = sum(event.failures > 0 for event in _pending(store, passages=False))
    if count:
        waits = "event waits" if count == 1 else "events wait"
        logger.warning(
            "%d %s for the next attempt after one that failed: run this again in a minute, or have "
            "one begin at once with `ragguard events retry ID`",
            *(count, waits),
        )


def _pending(store: AuditStore, *, passages: bool = True) -> Iterator[Event]:
    """Yield the newest pending events of each tenant, or of the one whose store it is."""
    for tenant in [store.tenant] if store.tenant else [None, *store.tenants()]:
        mine = store.of_tenant(tenant)
        yield from mine.events(status="pending", limit=_MOST_LEFT, passages=passages)


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
