"""What attacks plant: texts that argue for the false answer, released ones, and templates."""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from random import Random
from string import Formatter

from benchmarks.datasets import Record
from benchmarks.forms import FORMS
from benchmarks.plugins import WRITTEN, About, Attack

Plant = Callable[[Record, int, Random], Sequence[str]]

OURS = ("docs/attacker.md", "this project", "knows question and defence; adds texts")
ADAPTIVE = ("RAGDefender, Section 6.5", "ACSAC 2025", OURS[-1])
"""Paper, venue and threat: of our own attackers, and of RAGDefender's adaptive one."""

_ARGUED = ("poisonedrag", "poisonedrag_black", "statement")


def argued(
    record: Record, count: int, *, kinds: Sequence[str] = _ARGUED, form: str = "plain"
) -> list[str]:
    """Return texts of the first of these kinds that the data holds; by default they argue.

    Those that a model has written for the record come before all.
    """
    looked = (WRITTEN, *kinds)
    texts = next((record.poison[kind] for kind in looked if record.poison.get(kind)), ())
    return [FORMS[form](record.question, text) for text in texts[:count]]


def released(*kinds: str, form: str) -> Plant:
    return lambda record, count, _: argued(record, count, kinds=kinds, form=form)


def templated(*templates: str) -> Plant:
    """Return what fills in {question}, {wrong}, {right}, {text}, which argues, and {hit}; in turn.

    {start} and {end} are the question's halves. Nothing is planted where the data lacks what a
    template names.
    """

    def plant(record: Record, count: int, _: Random) -> Sequence[str]:
        known = {"question": [record.question] * count, "text": argued(record, count)}
        known |= {"wrong": [*record.incorrect[:1]] * count, "right": [*record.correct[:1]] * count}
        known["hit"] = list(islice(cycle(record.hits), count))
        words = record.question.rstrip("?").split()
        half = (len(words) + 1) // 2
        known |= {
            "start": [" ".join(words[:half])] * count,
            "end": [" ".join(words[half:])] * count,
        }
        planted = []
        for number, template in zip(range(count), cycle(templates), strict=False):
            named = [name for _, name, *_ in Formatter().parse(template) if name]
            if all(known[name][number:] for name in named):
                planted.append(template.format_map({name: known[name][number] for name in named}))
        return list(dict.fromkeys(planted))

    return plant


def read(file: Path) -> Attack:
    """Return the attack that a file describes.

    It has the fields of `About`; `released`, the kinds of `argued`, and their `form`, or
    `templates`; a `trigger`, which the victim types behind the question; `refusal`; and `write`.
    """
    fields = tomllib.loads(file.read_text(encoding="utf-8"))
    kinds, form = fields.pop("released", ()), fields.pop("form", "plain")
    templates, refusal = fields.pop("templates", ()), fields.pop("refusal", False)
    trigger, write = fields.pop("trigger", ""), fields.pop("write", "")
    plant = released(*kinds, form=form) if kinds else templated(*templates)
    attack = Attack(About(**fields), plant, refusal=refusal, write=write)
    if not trigger:
        return attack
    return replace(attack, ask=lambda question: f"{question.rstrip('?')} {trigger}?")
