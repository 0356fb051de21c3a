"""What the library logs, as lines on stderr."""

from __future__ import annotations

import logging

import typer

from ragguard.cli.output import printable

__all__ = ["log_to_stderr"]


class _OneLine(logging.Formatter):
    """Leaves tracebacks out: the message already says what is wrong."""

    def formatException(self, ei: object) -> str:  # noqa: ARG002, N802
        return ""


class _Echo(logging.Handler):
    """Writes to what stderr is at that moment."""

    def __init__(self, formatter: logging.Formatter, *, debug: bool) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._debug = debug

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        typer.echo(text if self._debug else printable(text), err=True)


def log_to_stderr(*, debug: bool, progress: bool = False) -> None:
    """Send what ragguard logs to stderr, in place of what an earlier call set up.

    Args:
        debug: Show the tracebacks of logged errors.
        progress: Show what goes well too, with the time.
    """
    form = "%(asctime)s %(levelname)s %(message)s" if progress else "ragguard: %(message)s"
    formatter = logging.Formatter(form) if debug else _OneLine(form)
    logger = logging.getLogger("ragguard")
    logger.handlers = [_Echo(formatter, debug=debug)]
    logger.setLevel(logging.INFO if progress else logging.WARNING)
