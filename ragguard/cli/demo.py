"""`ragguard demo`: the whole loop on a fictional knowledge base."""

from __future__ import annotations

from typing import Annotated

import typer

from ragguard.cli.exits import OPERATIONAL
from ragguard.cli.output import JsonOption

__all__ = ["demo"]


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
