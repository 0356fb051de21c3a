"""What commands that measure one question share: options, embedders with their vectors, result."""

import inspect
import logging
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import track

from benchmarks.datasets import Dataset
from benchmarks.embedders import EMBEDDERS, MINILM, embedder_of, minilm_folder
from benchmarks.forms import FORMS
from benchmarks.report.result import describe_run, write
from benchmarks.report.table import Sections, Table, as_rich
from ragguard.embedding import Embedder
from ragguard.errors import RagguardError

Item = TypeVar("Item")
Measured = tuple[Sections, Sequence[Dataset]]  # of a result, and the data that they are of

Data = Annotated[Path, typer.Option(help="folder of datasets")]
OwnData = Annotated[
    Path | None, typer.Option("--data", help="folder of datasets; without it, the own set")
]
Out = Annotated[Path | None, typer.Option(help="write what is made here")]
Limit = Annotated[
    int | None,
    typer.Option(min=1, help="records a dataset (or half of it) at most, for quick runs"),
]
Forms = Annotated[str, typer.Option(help=f"'all' or comma-separated: {', '.join(FORMS)}")]
Embedders = Annotated[str, typer.Option(help=f"'all' or comma-separated: {', '.join(EMBEDDERS)}")]
Choose = Annotated[bool, typer.Option("--choose", help="measure the half that is chosen on")]
Seed = Annotated[int, typer.Option(help="of whatever is drawn")]
Half = Annotated[
    int, typer.Option(min=0, max=1, help="1: the odd records, which are reported; 0: the even")
]
_Json = Annotated[Path | None, typer.Option(help="write the result here")]

ERRORS = Console(stderr=True)
OUT = Console(width=max(Console().width, 160))  # columns; narrower tables cannot be read


def chosen(option: str, text: str, known: Collection[str]) -> list[str]:
    """Return some of the known names, comma-separated, or "all", as an option has them."""
    names = list(known) if text == "all" else list(dict.fromkeys(text.split(",")))
    if unknown := [name for name in names if name not in known]:
        wanted = f"no {', '.join(unknown)}; pass 'all' or some of {', '.join(known)}"
        raise typer.BadParameter(wanted, param_hint=option)
    return names


def embedders_for(text: str) -> list[Embedder]:
    """Return the embedders that the option names, and that there are."""
    names = chosen("--embedders", text, EMBEDDERS)
    if MINILM in names and minilm_folder() is None:
        ERRORS.print("MiniLM is not installed", style="yellow")
        names.remove(MINILM)
    return [embedder_of(name) for name in EMBEDDERS if name in (names or EMBEDDERS[:1])]


def tracked(items: Iterable[Item], description: str) -> Iterable[Item]:
    """Return the items, with a bar on standard error that says how many are done."""
    return track(items, description, console=ERRORS)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Silence what a guard warns of: many attacks in a row, which is what it is given here."""
    logger = logging.getLogger("ragguard")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def script(main: Callable[..., None]) -> Callable[..., None]:
    """Start the function `main` of a module that is run, not imported; it stands last there."""
    if main.__module__ == "__main__":
        typer.run(main)
    return main


def command(
    tables: Callable[[Sections], Iterable[Table]],
) -> Callable[[Callable[..., Measured]], Callable[..., int]]:
    """Make a command of `main`, which stands last in its module and starts where that is run.

    It shows the tables of the sections, writes the result if --json is given, and returns the exit
    status. Its other options are the arguments of the function.
    """

    def made(measure: Callable[..., Measured]) -> Callable[..., int]:
        signature = inspect.signature(measure, eval_str=True)
        module = sys.modules[measure.__module__]  # which is __main__ to itself where it is run
        name = module.__spec__.name if module.__spec__ else module.__name__
        program = f"python -m {name.removesuffix('.__main__')}"

        @wraps(measure)
        def run(json: Path | None = None, **options: Any) -> None:
            with without_warnings():
                sections, datasets = measure(**options)
            for table in tables(sections):
                OUT.print(as_rich(table))
            if json is not None:
                defaults = {name: one.default for name, one in signature.parameters.items()}
                typed = [program, *_typed(options, defaults)]
                seed, limit = options.get("seed", 0), options.get("limit")
                write(json, describe_run(typed, datasets, seed=seed, limit=limit), sections)

        json = inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, default=None)
        parameters = [*signature.parameters.values(), json.replace(annotation=_Json)]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        app.command(help=module.__doc__)(run)
        start = partial(run_app, app, program)
        if measure.__module__ == "__main__":
            raise SystemExit(start())
        return start

    return made


def run_app(app: typer.Typer, program: str, argv: Sequence[str] | None = None) -> int:
    try:
        app(args=None if argv is None else list(argv), prog_name=program)
    except RagguardError as error:
        ERRORS.print(f"error: {error}", style="red", markup=False)
        return 2
    except SystemExit as left:
        return int(left.code or 0)
    return 0


def _typed(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[str]:
    """Yield options as anybody would type them: the data folder goes by its name."""
    for name, value in options.items():
        if value != defaults[name]:
            yield f"--{name.replace('_', '-')}"
            if value is not True:
                yield value.resolve().name if isinstance(value, Path) else str(value)
