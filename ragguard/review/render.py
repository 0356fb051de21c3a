"""Templates become pages: every text is escaped, and what hides in it is shown."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ragguard.review.shown import marked, visible
from ragguard.review.visit import quoted
from ragguard.text import printable

__all__ = ["rendered"]


def rendered(template: str, **shows: Any) -> str:
    """Return a template of this package as HTML."""
    return str(_environment().get_template(template).render(**shows))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("ragguard.review"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Whatever a template writes of a text goes through this, in attributes as well.
        finalize=_finalized,
    )
    made.filters.update(line=_line, marked=marked, minute=_minute, figure=_figure, quoted=quoted)
    return made


def _finalized(value: Any) -> Any:
    if value is None:
        return ""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _line(text: str | None, limit: int = 120) -> str:
    """Return how a text begins, on one line."""
    line = printable((text or "")[: 4 * limit])
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _minute(moment: datetime | None) -> str:
    return "" if moment is None else moment.strftime("%Y-%m-%d %H:%M")


def _figure(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:.{digits}f}"
