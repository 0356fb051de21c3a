"""The filter and attribution in sections: `python -m benchmarks --data DIR`.

Suites have commands of their own: `python -m benchmarks run SUITE`, `plan`, `report`, `compare`.
"""

import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Annotated, Any

import typer

from benchmarks import attribution, command, cost, inline, suite_command
from benchmarks.datasets import load_with_reading, skerrin
from benchmarks.defences.contenders import PACKAGE, all_defences, package_version
from benchmarks.forms import FORMS
from benchmarks.tables import tables

SECTIONS = ("clean", "attack", "attribution", "cost")
_NO_PACKAGE = f"leave the published {PACKAGE} package out (it needs torch)"

if __name__ == "__main__" and suite_command.COMMANDS.intersection(sys.argv[1:2]):
    raise SystemExit(suite_command.main())


@command.command(tables)
def main(
    data: command.OwnData = None,
    limit: command.Limit = None,
    seed: int = 0,
    sections: Annotated[str, typer.Option(help=f"some of {', '.join(SECTIONS)}")] = "all",
    forms: command.Forms = "prepend,plain",
    embedders: command.Embedders = "all",
    no_package: Annotated[bool, typer.Option("--no-package", help=_NO_PACKAGE)] = False,
) -> command.Measured:
    asked = command.chosen("--sections", sections, SECTIONS)
    shown = command.chosen("--forms", forms, FORMS) if "attack" in asked else ()
    found = [] if data is None else load_with_reading(data)
    datasets = [dataset.limited(limit) for dataset in (*found, skerrin())]
    attacked = [dataset for dataset in datasets if dataset.kinds]
    with ExitStack() as stack:
        if not no_package and package_version() is None:
            command.ERRORS.print(f"{PACKAGE} is not installed", style="yellow")
        by_name = command.embedders_for(embedders)
        defences = all_defences(stack, package=not no_package)
        measured: Mapping[str, Callable[[], Any]] = {
            "clean": lambda: inline.clean(datasets, by_name, defences),
            "attack": lambda: inline.attack(attacked, by_name, defences, shown),
            "attribution": lambda: attribution.run(data, limit, seed),
            "cost": lambda: [*cost.run(attacked, by_name[-1], defences, limit=limit, seed=seed)],
        }
        return {name: run() for name, run in measured.items() if name in asked}, datasets
