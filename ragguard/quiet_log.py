"""A log of what others can cause: no more than so many lines in a while."""

from __future__ import annotations

import logging
import threading
import time

from ragguard.fork import follow_forks


class QuietLog:
    """Logs at INFO, a burst and then a line a second; the next line says what was left out."""

    def __init__(self, logger: logging.Logger, *, burst: int = 20) -> None:
        self._logger = logger
        self._burst = burst
        self._lock = threading.Lock()
        self._room = float(burst)
        self._filled = time.monotonic()
        self._left_out = 0
        follow_forks(self)

    @property
    def is_read(self) -> bool:
        """Whether anybody wants such lines."""
        return self._logger.isEnabledFor(logging.INFO)

    def info(self, message: str, *arguments: object) -> None:
        """Log a line, or count it where there is no room."""
        if not self.is_read:
            return
        with self._lock:
            now = time.monotonic()
            self._room = min(self._burst, self._room + now - self._filled)
            self._filled = now
            if self._room < 1.0:
                self._left_out += 1
                return
            self._room -= 1.0
            left_out, self._left_out = self._left_out, 0
        if left_out:
            message += " (%d such lines before it were left out)"
            arguments = (*arguments, left_out)
        self._logger.info(message, *arguments)

    def _after_fork(self, *, in_child: bool) -> None:
        if in_child:
            self._lock = threading.Lock()
