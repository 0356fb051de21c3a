"""What a stratum of events draws on, and what it yields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.attribution_events import poisoned_events
from benchmarks.misgeneration import MAIN_KINDS, Event, KnowledgeBase, Target

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


def attacks(target: Target, setting: Setting) -> Iterator[tuple[str, Event]]:
    """Yield (form, event) for every attack of a main kind that got through."""
    for kind, form, found in poisoned_events(target, setting.base, setting.seed):
        if kind in MAIN_KINDS:
            yield form, found
