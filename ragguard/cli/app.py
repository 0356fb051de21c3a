"""Puts the commands together, and turns their errors into one line and an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from ragguard._version import __version__
from ragguard.arguments import require_choice
from ragguard.cli import options
from ragguard.cli.calibrate import calibrate, drift
from ragguard.cli.decisions import allow, allowed, disallow, protect, quarantine
from ragguard.cli.events import attribute, events, report
from ragguard.cli.filter import explain, filter_traffic
from ragguard.cli.info import info
from ragguard.cli.options import flag, option
from ragguard.cli.output import OPERATIONAL, complain, log_to_stderr, printable_lines, write_json
from ragguard.cli.proxy import proxy
from ragguard.cli.record import audit, store, verdicts
from ragguard.cli.review import review
from ragguard.cli.scan import scan
from ragguard.cli.worker import worker
from ragguard.errors import RagguardError

_BAD_INPUT = 2
_INTERRUPTED = 130  # what a shell reports for a program that SIGINT ended
_OUTPUT_CLOSED = 141  # the same for SIGPIPE


class _RootGroup(TyperGroup):
    """Turns whatever a command raises into a line on stderr and an exit code.

    Python's own exit code for an uncaught exception is 1, which here means a finding: a crash must
    not look like one.
    """

    def make_context(self, *given: Any, **named: Any) -> Any:
        """Read the options of `ragguard` itself."""
        try:
            return super().make_context(*given, **named)
        except Exception as error:
            _exit_if_misused(error)
            raise

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(_INTERRUPTED) from None
        except SystemExit:  # Rich's own way out, where nobody reads stdout
            raise typer.Exit(_OUTPUT_CLOSED) from None
        except Exception as error:
            _exit_if_misused(error)
            # Exits carry their code; their module differs between releases.
            if isinstance(error, typer.Abort) or hasattr(error, "exit_code"):
                raise
            raise typer.Exit(_reported(error, debug=ctx.params["debug"])) from None


def _exit_if_misused(error: Exception) -> None:
    """Say in one line what is wrong with the command line, if that is what an error says."""
    # A group that is named alone shows its help by an error of the same kind.
    if not hasattr(error, "format_message") or type(error).__name__ == "NoArgsIsHelpError":
        return
    context = getattr(error, "ctx", None)
    path = "ragguard COMMAND" if context is None else context.command_path
    complain(f"{error.format_message().rstrip(' .?')}; `{path} --help` says what it takes")
    raise typer.Exit(_BAD_INPUT) from None


def _reported(error: Exception, *, debug: bool) -> int:
    if isinstance(error, OSError) and error.errno == errno.EPIPE:
        # Or the interpreter would fail once more when it flushes stdout on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _OUTPUT_CLOSED
    ours, words = isinstance(error, RagguardError), str(error)
    known = ours or isinstance(error, OSError)
    if debug or not known:
        typer.echo(printable_lines("".join(traceback.format_exception(error))), err=True)
    if not known:
        words = "this is a defect of ragguard; please report it with the lines above"
    elif isinstance(error, OSError) and error.strerror is not None and not ours:
        # Python's own text has a number in front, and the path once more where it is told already.
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        words = f"{where}{error.strerror}"
    complain(words)
    # What the caller can mend is a wrong value, or the name of something that is not there.
    return _BAD_INPUT if ours and isinstance(error, (ValueError, LookupError)) else OPERATIONAL


app = typer.Typer(
    name="ragguard",
    cls=_RootGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",  # which joins the lines of a docstring into paragraphs
    pretty_exceptions_enable=False,
    epilog=(
        "Exit codes: 0 fine; 1 a finding: drift, or what a --fail-on option asks about; "
        "2 usage or bad input; 3 operational failure; 130 interrupted; "
        "141 the reader of stdout has gone."
    ),
)


@app.command("demo")
def demo(
    questions: int | None = option(
        "How many questions to ask; if left out all, or 4 of a model.", min=1
    ),
    model: str | None = option("An exported model (smollm2), which then answers and attributes."),
    seed: int = option("Seed of the choice of questions.", default=0),
    as_json: bool = options.AS_JSON,
) -> None:
    """Poison a small fictional knowledge base, and watch the filter and the attribution work.

    Needs no network, no key, and no model unless you name one. Exits with 3 if the loop does not
    close.
    """
    from rich.console import Console

    if model is not None:
        from ragguard.proxy.manifest import MODELS

        require_choice("--model", model, tuple(MODELS))
    # On a terminal only, from the first moment on: the run takes some seconds.
    with Console(stderr=True).status("ragguard demo: starting") as status:
        from ragguard.demo.report import show
        from ragguard.demo.scenario import run_demo

        found = run_demo(
            questions=questions,
            seed=seed,
            model=model,
            on_stage=lambda stage: status.update(f"ragguard demo: {stage} ..."),
        )
    if as_json:
        write_json(found)
    else:
        show(found, Console())
    if not found["worked"]:
        raise typer.Exit(OPERATIONAL)


app.command("filter")(filter_traffic)
for command in (
    *(explain, scan, calibrate, drift, attribute, report),
    *(allow, protect, disallow, allowed, review, worker, info),
):
    app.command()(command)
for group in (events, quarantine, verdicts, audit, proxy, store):
    app.add_typer(group)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    debug: bool = flag("--debug", "Show the traceback of an error.", envvar="RAGGUARD_DEBUG"),
    version: bool = flag(  # noqa: ARG001
        "--version", "Show the version and exit.", callback=_show_version, is_eager=True
    ),
) -> None:
    """Keep poisoned passages out of retrieval-augmented generation."""
    log_to_stderr(debug=debug)


def main() -> None:
    """Run the command line of this process."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever began this process
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A passage may hold what the terminal's encoding cannot: that is no reason to stop.
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="ragguard")
