"""What the commands have in common: their options, and the audit store that they work on."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from ragguard import audit
from ragguard.arguments import require_share, require_tenant
from ragguard.audit import AuditStore
from ragguard.audit.records import Access
from ragguard.audit.trail import this_process
from ragguard.errors import InvalidInputError


def option(help: str, *names: str, default: Any = None, **settings: Any) -> Any:
    """Return an option with a value, ... if it must be given; without `names` its parameter's."""
    return typer.Option(default, *names, help=help, **settings)


def flag(name: str, help: str, **settings: Any) -> Any:
    """Return an option that is on where it is given."""
    return typer.Option(False, name, metavar="", help=help, **settings)


def share(help: str, *, default: float = 0.01) -> Any:
    """Return the option of an alpha, which is checked."""

    def checked(alpha: float) -> float:
        return require_share("--alpha", alpha, usual=default)

    return option(help, default=default, callback=checked)


def output(help: str, default: Any) -> Any:
    """Return the option that names a file to write."""
    return option(help, "--output", "--out", "-o", default=default)


def source(help: str) -> Any:
    """Return the argument that names the traffic to read."""
    return typer.Argument("-", metavar="FILE", help=help)


def store(help: str, default: Any = None) -> Any:
    """Return the option that names an audit store."""
    return option(help, "--store", default=default, envvar="RAGGUARD_STORE", metavar="URL")


STORE = store(
    "The audit store: a path, sqlite:///path or postgresql://user@host/database.", default=...
)
TENANT = option("Whose; else the default tenant's.", metavar="NAME")
EVERY_TENANT = option("Only this tenant's; else those of all.", metavar="NAME")
REASON = option("The reason, for whoever looks at it later.", default=...)
WHY = option("The reason, which the trail keeps.")
ACTOR = option("Who decides this, for the audit; else you, as user@host.")
AS_JSON = flag("--json", "Write JSON to stdout, nothing else.")
ALPHA = share("Share of clean queries that it may touch, in (0, 1).")
MARK_ALPHA = option("Share in which passages may be marked or dropped; 5 alpha by default.")
STRATEGY = option("How attacked passages are told apart.", default="auto")
CALIBRATION = option("What `ragguard calibrate` wrote; else the shipped one.")
K = option("Passages wanted per query; those beyond are a reserve.", min=1)


def require_not_blank(*given: tuple[str, str]) -> None:
    """Raise `InvalidInputError` where an option's text, beside its name, is none."""
    for name, text in given:
        if not text.strip():
            raise InvalidInputError(f"{name} is blank; pass the text")


def decider(actor: str | None) -> str:
    """Return who decides: who is named, else who runs the command, as a guard writes it."""
    if actor:
        return actor
    login_name()  # a guard goes on without one
    return this_process()


def login_name() -> str:
    """Return who runs the command."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError) as error:
        raise InvalidInputError("your login name is unknown here; pass --actor NAME") from error


@contextmanager
def opened_store(
    url: str, *, access: Access = "look", tenant: str | None = None
) -> Iterator[AuditStore]:
    """Open an audit store, as a tenant sees it (None: the default one), and close it again.

    A command that only reads makes none: a mistyped path would otherwise look like a store without
    events, and another application's database be given tables. One that stays open has to "keep"
    it, to see what others write.
    """
    require_tenant(tenant)  # first, so that a bad name leaves no new database behind
    with closing(audit.open_store(url, access=access)) as opened:
        yield opened.of_tenant(tenant)


class DefaultListGroup(TyperGroup):
    """A group of commands that runs `list` when the command line names none of them."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Put `list` in front of the arguments where no command stands there."""
        # Completion has to offer the commands' names, so it sees the line as it was typed.
        named = args and args[0] in {*self.commands, "-h", "--help"}
        if not (named or ctx.resilient_parsing):
            args = ["list", *args]
        return list(super().parse_args(ctx, args))
