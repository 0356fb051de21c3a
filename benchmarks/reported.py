"""What a stratum of events draws on, and what it yields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.forms import DEFAULT_FORMS
from benchmarks.misgeneration import (
    MAIN_KINDS,
    Event,
    KnowledgeBase,
    Target,
    chosen,
    event,
    in_form,
)

__all__ = ["Reported", "Setting", "attacks"]


@dataclass(frozen=True)
class Setting:
    """What a stratum may draw on.

    Attributes:
        base: The dataset's knowledge base.
        bases: The same under other retrievers, by name.
        others: The dataset's other targets.
        seed: Chooses texts where there are more than are planted.
    """

    base: KnowledgeBase
    bases: Mapping[str, KnowledgeBase]
    others: Sequence[Target]
    seed: int


@dataclass(frozen=True)
class Reported:
    """An event, what was reported of it, and which case of its stratum it is."""

    case: str
    form: str
    response: str
    event: Event


def attacks(target: Target, setting: Setting) -> Iterator[tuple[str, list[str], Event]]:
    """Yield each attack that is read: its form, its texts in that form, and the event."""
    for kind in MAIN_KINDS:
        if kind in target.poison:
            for form in DEFAULT_FORMS:
                poison = in_form(target, form, chosen(target, kind, setting.seed))
                found = event(target, setting.base, poison)
                if found is not None:
                    yield form, poison, found
