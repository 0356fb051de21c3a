"""The answers of the store in memory."""

from __future__ import annotations

import secrets
import threading
from collections import deque
from datetime import datetime

from ragguard.audit.answers import ANSWER_DAY, KEPT_ALIKE, Answer
from ragguard.audit.quarantine import utc_now

__all__ = ["MemoryAnswers"]

_KEPT = 20_000  # of all tenants together; some 30 MB with ten passages each


class MemoryAnswers:
    """The answers of a `MemoryStore`."""

    _lock: threading.RLock
    tenant: str

    def __init__(self) -> None:
        super().__init__()
        self._answer_key = secrets.token_bytes(32)
        self._answers: deque[tuple[str, Answer]] = deque(maxlen=_KEPT)  # oldest first

    def answer_key(self) -> bytes:
        return self._answer_key

    def add_answer(self, answer: Answer) -> None:
        oldest = utc_now() - 2 * ANSWER_DAY
        with self._lock:
            while self._answers and self._answers[0][1].given_at < oldest:
                self._answers.popleft()
            self._answers.append((self.tenant, answer))

    def answers(self, digest: str, *, since: datetime) -> list[Answer]:
        with self._lock:
            found = [
                one
                for tenant, one in reversed(self._answers)
                if tenant == self.tenant and one.digest == digest and one.given_at >= since
            ]
        return found[:KEPT_ALIKE]
