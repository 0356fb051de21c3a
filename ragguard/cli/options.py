"""What the commands have in common: their options, and the audit store that they work on."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from ragguard.arguments import require_share, require_tenant
from ragguard.errors import InvalidInputError

if TYPE_CHECKING:
    from ragguard.audit.engines import Access
    from ragguard.audit.records import AuditStore


def option(help: str, *names: str, **settings: Any) -> Any:
    """Return an option with a value, for `Annotated`; without `names` it has its parameter's."""
    return typer.Option(*names, help=help, **settings)


def flag(name: str, help: str, **settings: Any) -> Any:
    """Return an option that is on where it is given, for `Annotated[bool, ...]`."""
    return typer.Option(name, metavar="", help=help, **settings)


def share(help: str, *, usual: float = 0.01) -> Any:
    """Return the option of an alpha, which is checked, for `Annotated[float, ...]`."""

    def checked(alpha: float) -> float:
        return require_share("--alpha", alpha, usual=usual)

    return typer.Option(help=help, callback=checked)


def output(help: str) -> Any:
    """Return the option that names a file to write, for `Annotated[Path, ...]`."""
    return typer.Option("--output", "--out", "-o", help=help)


def optional_store(help: str) -> Any:
    """Return the option of a store that need not be given, for `Annotated[str | None, ...]`."""
    return typer.Option("--store", envvar="RAGGUARD_STORE", metavar="URL", help=help)


Store = Annotated[
    str,
    optional_store("The audit store: a path, sqlite:///path or postgresql://user@host/database."),
]
Tenant = Annotated[str | None, option("Whose; else the default tenant's.", metavar="NAME")]
EveryTenant = Annotated[
    str | None, option("Only this tenant's; else those of all.", metavar="NAME")
]
Why = Annotated[str | None, option("The reason, which the trail keeps.")]
Actor = Annotated[str | None, option("Who decides this, for the audit; else your login name.")]
AsJson = Annotated[bool, flag("--json", "Write JSON to stdout, nothing else.")]
Alpha = Annotated[float, share("Share of clean queries that it may touch, in (0, 1).")]
MarkAlpha = Annotated[
    float | None, option("Share in which passages may be marked or dropped; 5 alpha by default.")
]
Strategy = Annotated[
    Literal["auto", "clustering", "concentration"], option("How attacked passages are told apart.")
]
Calibration = Annotated[
    Path | None, option("What `ragguard calibrate` wrote; else the shipped one.")
]
K = Annotated[int | None, option("Passages wanted per query; those beyond are a reserve.", min=1)]


def require_not_blank(*given: tuple[str, str]) -> None:
    """Raise `InvalidInputError` where an option's text, beside its name, is none."""
    for option, text in given:
        if not text.strip():
            raise InvalidInputError(f"{option} is blank; pass the text")


def login_name() -> str:
    """Return who runs the command."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError) as error:
        raise InvalidInputError("your login name is unknown here; pass --actor NAME") from error


def source(help: str) -> Any:
    """Return the argument that names the traffic to read, for `Annotated[str, ...]`."""
    return typer.Argument(metavar="FILE", help=help)


@contextmanager
def opened_store(
    url: str, *, access: Access = "look", tenant: str | None = None
) -> Iterator[AuditStore]:
    """Open an audit store, as a tenant sees it (None: the default one), and close it again.

    A command that only reads makes none: a mistyped path would otherwise look like a store without
    events, and another application's database be given tables. One that stays open has to "keep"
    it, to see what others write.
    """
    from ragguard.audit import open_store

    require_tenant(tenant)  # first, so that a bad name leaves no new database behind
    with closing(open_store(url, access=access)) as store:
        yield store.of_tenant(tenant)


class DefaultListGroup(TyperGroup):
    """A group of commands that runs `list` when the command line names none of them."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Put `list` in front of the arguments where no command stands there."""
        # Completion has to offer the commands' names, so it sees the line as it was typed.
        named = args and args[0] in {*self.commands, "-h", "--help"}
        if not (named or ctx.resilient_parsing):
            args = ["list", *args]
        return list(super().parse_args(ctx, args))
