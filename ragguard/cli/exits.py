"""What the command's exit codes mean, and how errors become one line and a code."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from typing import Any

import typer
from typer.core import TyperGroup

from ragguard.cli.output import printable
from ragguard.errors import (
    CalibrationError,
    EmbeddingError,
    EventNotFoundError,
    InvalidInputError,
    QuarantineNotFoundError,
    RagguardError,
)

__all__ = ["BAD_INPUT", "FINDING", "OPERATIONAL", "DefaultListGroup", "RootGroup", "complain"]

FINDING = 1
BAD_INPUT = 2
OPERATIONAL = 3
_INTERRUPTED = 130  # what a shell reports for a program that SIGINT ended
_OUTPUT_CLOSED = 141  # the same for SIGPIPE

_CALLER_CAN_FIX = (
    InvalidInputError,
    CalibrationError,
    EmbeddingError,
    EventNotFoundError,
    QuarantineNotFoundError,
)


def complain(message: str) -> None:
    """Write one line to stderr."""
    typer.echo(f"ragguard: {printable(message)}", err=True)


class RootGroup(TyperGroup):
    """Turns whatever a command raises into a line on stderr and an exit code.

    Python's own exit code for an uncaught exception is 1, which here means a finding: a crash must
    not look like one.
    """

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(_INTERRUPTED) from None
        except Exception as error:
            if _is_typers_own(error):
                raise
            raise typer.Exit(_reported(error, debug=ctx.params["debug"])) from None


class DefaultListGroup(TyperGroup):
    """A group of commands that runs `list` when the command line names none of them."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Put `list` in front of the arguments where no command stands there."""
        # Completion has to offer the commands' names, so it sees the line as it was typed.
        if not ctx.resilient_parsing and (
            not args or args[0] not in {*self.commands, "-h", "--help"}
        ):
            args = ["list", *args]
        return list(super().parse_args(ctx, args))


def _is_typers_own(error: Exception) -> bool:
    # Usage errors and exits carry their code; which module defines them differs between releases.
    return isinstance(error, typer.Abort) or hasattr(error, "exit_code")


def _in_words(error: Exception) -> str:
    if not isinstance(error, OSError) or error.strerror is None or isinstance(error, RagguardError):
        return str(error)
    # Python's own text has a number in front, and the path once more where it is told already.
    where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
    return f"{where}{error.strerror}"


def _reported(error: Exception, *, debug: bool) -> int:
    if isinstance(error, OSError) and error.errno == errno.EPIPE:
        # Or the interpreter would fail once more when it flushes stdout on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _OUTPUT_CLOSED
    known = isinstance(error, (RagguardError, OSError))
    if debug or not known:
        typer.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    if known:
        complain(_in_words(error))
    else:
        complain("this is a defect of ragguard; please report it with the lines above")
    return BAD_INPUT if isinstance(error, _CALLER_CAN_FIX) else OPERATIONAL
