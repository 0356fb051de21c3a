"""What the log of a worker without a knowledge base tells of the events that it leaves alone."""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragguard.audit.records import AuditStore

_worker_log = logging.getLogger("ragguard.worker")

_MOST = 1_000  # events of a tenant that are looked at for their passages


class LeftAlone:
    """Tells in a worker's log, once, of events that a worker without a knowledge base leaves."""

    def __init__(self, store: AuditStore) -> None:
        self._store, self._again = store, 0.0  # when to look

    def tell(self) -> None:
        """Say how many wait, of all tenants for the default one; or look again in a minute."""
        now, store = time.monotonic(), self._store
        if now < self._again:
            return
        tenants = [store.tenant] if store.tenant else [None, *store.tenants()]
        of_each = [store.of_tenant(t).events(status="pending", limit=_MOST) for t in tenants]
        count = sum(not event.passages for some in of_each for event in some)
        self._again = math.inf if count else now + 60.0
        if count:
            has = "event has" if count == 1 else "events have"
            _worker_log.warning("%d %s no passages; give --knowledge-base", count, has)
