"""Puts the commands together."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from ragguard._version import __version__
from ragguard.cli.attribute import attribute
from ragguard.cli.calibrate import calibrate, drift
from ragguard.cli.events import events, report
from ragguard.cli.exits import OPERATIONAL, RootGroup
from ragguard.cli.explain import explain
from ragguard.cli.filter import filter_traffic
from ragguard.cli.info import info
from ragguard.cli.options import JsonOption
from ragguard.cli.output import log_to_stderr
from ragguard.cli.proxy import proxy
from ragguard.cli.quarantine import quarantine
from ragguard.cli.worker import worker

__all__ = ["app", "main"]

app = typer.Typer(
    name="ragguard",
    cls=RootGroup,
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
    questions: Annotated[
        int | None, typer.Option(min=1, help="How many questions to ask; all of them if left out.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the choice of questions.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Poison a small fictional knowledge base, and watch the filter and the attribution work.

    Needs no network, no model and no key. Exits with 3 if the loop does not close.
    """
    from ragguard import demo as program

    if program.main(json=as_json, questions=questions, seed=seed):
        raise typer.Exit(OPERATIONAL)


app.command("filter")(filter_traffic)
app.command("explain")(explain)
app.command("calibrate")(calibrate)
app.command("drift")(drift)
app.command("attribute")(attribute)
app.command("report")(report)
app.add_typer(events, name="events")
app.add_typer(quarantine, name="quarantine")
app.command("worker")(worker)
app.add_typer(proxy, name="proxy")
app.command("info")(info)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", metavar="", envvar="RAGGUARD_DEBUG", help="Show the traceback of an error."
        ),
    ] = False,
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option(
            "--version",
            metavar="",
            callback=_show_version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    """Keep poisoned passages out of retrieval-augmented generation."""
    log_to_stderr(debug=debug)


def main() -> None:
    """Run the command line of this process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A passage may hold what the terminal's encoding cannot: that is no reason to stop.
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="ragguard")
