"""The events that benchmarks of attribution report, and how the wrong answer is worded there.

`benchmarks.misgeneration` says what an event is and what is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from benchmarks.forms import DEFAULT_FORMS
from benchmarks.metrics.says import says
from benchmarks.misgeneration import (
    MAIN_KINDS,
    TOP_K,
    Event,
    KnowledgeBase,
    Target,
    chosen,
    datasets,
    event,
    in_form,
)

RESPONSES: Mapping[str, Callable[[str], str]] = {
    "short": lambda answer: answer,
    "sentence": lambda answer: f"Based on the provided context, the answer is {answer}.",
}
"""How the generator words the wrong answer that is reported."""


@dataclass(frozen=True)
class Selection:
    """Which records are measured, and what is planted for them.

    Attributes:
        data_dir: Folder of datasets; None: only the project's own.
        limit: Records of a dataset at most; None: all.
        seed: Chooses which five texts are planted where an attack has more.
        half: 1 for the odd records, which are reported; 0 for the even, which constants come from.
    """

    data_dir: Path | None = None
    limit: int | None = None
    seed: int = 0
    half: int = 1

    def datasets(self) -> Iterator[tuple[str, list[Target], KnowledgeBase]]:
        """Yield (name, targets, knowledge base) of the folder's datasets and of the project's own.

        Raises:
            InvalidInputError: A line of a file is not a record.
        """
        for name, targets, texts in datasets(self.data_dir, self.limit, self.half):
            yield name, targets, KnowledgeBase(texts)


def poisoned_events(
    target: Target, base: KnowledgeBase, seed: int
) -> Iterator[tuple[str, str, Event]]:
    """Yield (kind, form, event) for every attack on `target` that got through."""
    for kind in target.poison:
        texts = chosen(target, kind, seed)
        for form in DEFAULT_FORMS:
            found = event(target, base, in_form(target, form, texts))
            if found is not None:
                yield kind, form, found


def of_one_kind(target: Target, base: KnowledgeBase, seed: int) -> Target | None:
    """Return the target with one main kind alone that gets through, drawn by the seed, or None."""
    through = {kind for kind, _, _ in poisoned_events(target, base, seed) if kind in MAIN_KINDS}
    if not through:
        return None
    kind = Random(f"{seed} {target.question}").choice(sorted(through))
    return replace(target, poison={kind: target.poison[kind]})


def single_events(target: Target, base: KnowledgeBase, seed: int) -> Iterator[tuple[str, Event]]:
    """Yield (form, event) for one text of each main kind that states the answer and is read."""
    for kind in MAIN_KINDS:
        if kind not in target.poison:
            continue
        stating = [text for text in chosen(target, kind, seed) if says(text, target.wrong)]
        for form in DEFAULT_FORMS:
            poison = in_form(target, form, stating[:1])
            ranked = base.ranked(target.question, poison)
            if any(passage.text in poison for passage in ranked[:TOP_K]):
                yield form, Event(target.question, target.wrong, ranked, frozenset(poison))


def clean_event(target: Target, base: KnowledgeBase) -> Event:
    """Return the event in which the wrong answer is reported though nothing was planted."""
    return Event(target.question, target.wrong, base.ranked(target.question, ()), frozenset())


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
