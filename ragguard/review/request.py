"""What a request asks of a page; without a web framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import parse_qs, quote, unquote, urlencode

from ragguard.audit import AuditStore
from ragguard.audit.decisions import passes
from ragguard.audit.quarantine import utc_now
from ragguard.errors import InvalidInputError
from ragguard.inline.conformal import Calibration
from ragguard.review.access import Person
from ragguard.review.knowledge import Knowledge

Fields = Mapping[str, Sequence[str]]

_MOST_FIELDS = 2_000


@dataclass(frozen=True)
class Settings:
    """Alpha and calibration (None: the shipped one) of guards on the store, for the charts.

    And the knowledge base that the page may change; None: none.
    """

    alpha: float = 0.01
    calibration: Calibration | None = None
    knowledge: Knowledge | None = None


@dataclass(frozen=True)
class Visit:
    """A request of somebody who may see the page."""

    store: AuditStore
    person: Person
    asked: Fields  # of the query
    form: Fields = field(default_factory=dict)  # empty for what only reads
    settings: Settings = field(default_factory=Settings)
    others: Sequence[str] = ()  # the tenants that this person may see besides
    began: datetime = field(default_factory=utc_now)

    @property
    def here(self) -> dict[str, str]:
        """What of the query leads back to the same page."""
        said = ("done", "count", "stays", "passing")
        return {name: self.get(name) for name in self.asked if name not in said}

    @property
    def knowledge(self) -> Knowledge:
        """The tenant's knowledge base.

        Raises:
            InvalidInputError: The page was started without it.
        """
        found = self.settings.knowledge
        if found is None:
            raise InvalidInputError(
                "Start `ragguard review` with --knowledge-base to remove passages from it here."
            )
        if found.tenant != self.store.tenant:
            raise InvalidInputError(
                "The knowledge base of this page is another tenant's: start one with --tenant and "
                "--knowledge-base of this one to remove passages from it."
            )
        return found

    def get(self, name: str) -> str:
        """Return a field of the query, or ""."""
        return first(self.asked, name)

    def filled(self, name: str) -> str:
        """Return a field of the form, or ""."""
        return first(self.form, name).strip()

    def exact(self, name: str) -> str:
        """Return a field of the form that a template wrote with `quoted`, as it was."""
        try:
            return unquote(self.filled(name), errors="surrogatepass")
        except UnicodeDecodeError as error:
            raise InvalidInputError("the form cannot be read; reload the page") from error

    def number(self, name: str, default: int) -> int:
        """Return a field of the query that is a whole number, or the default."""
        found = self.get(name)
        return int(found) if found.isdecimal() and len(found) < 9 else default

    @property
    def passing(self) -> list[str]:
        """Why what was confirmed just now passes all the same, by the keys of its sources."""
        keys = self.get("passing").split(",") if "passing" in self.asked else ()
        listed = self.store.allowances() if keys else ()
        allowed = (one for one in listed if one.source and one.holds and one.effect == "allowed")
        return [passes(one.source) for one in allowed if one.key in keys]


def first(fields: Fields, name: str) -> str:
    """Return the first value of a field, or ""."""
    return next(iter(fields.get(name, ())), "")


def parsed(encoded: bytes) -> Fields:
    """Return the fields of a query or a form.

    Raises:
        InvalidInputError: It is not how a browser encodes them.
    """
    try:
        return parse_qs(
            encoded.decode("ascii"),
            keep_blank_values=True,
            errors="surrogatepass",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError as error:
        raise InvalidInputError(
            "the address or form cannot be read; go back and try again"
        ) from error


def quoted(text: str) -> str:
    """Return a text of any characters as those that a form and an address carry unchanged."""
    return quote(text, safe="", errors="surrogatepass")


def address_of(path: str, /, **fields: str | int | datetime | None) -> str:
    """Return an address on this page, with the fields that are given, any characters in them."""
    given = {name: value for name, value in fields.items() if value not in (None, "")}
    query = urlencode(given, errors="surrogatepass", quote_via=quote)
    return f"{path}?{query}" if given else path
