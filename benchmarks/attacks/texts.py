"""The words that attacks share: texts that argue for the false answer, and released texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from benchmarks.datasets import Record
from benchmarks.forms import FORMS

__all__ = ["argued", "released", "templated"]

Plant = Callable[[Record, int, Random], Sequence[str]]

_ARGUED = ("poisonedrag", "poisonedrag_black", "statement")


def argued(record: Record, count: int, form: str = "plain") -> list[str]:
    """Return texts that argue for the false answer; without any in the data, there are none.

    Args:
        record: The question.
        count: How many at most.
        form: How they carry the question: `benchmarks.forms`.
    """
    texts = next((record.poison[kind] for kind in _ARGUED if record.poison.get(kind)), ())
    return [FORMS[form](record.question, text) for text in texts[:count]]


def released(*kinds: str, form: str = "plain") -> Plant:
    """Return what plants the texts of the first of these kinds that the data holds."""

    def plant(record: Record, count: int, draw: Random) -> Sequence[str]:
        del draw
        texts = next((record.poison[kind] for kind in kinds if record.poison.get(kind)), ())
        return [FORMS[form](record.question, text) for text in texts[:count]]

    return plant


def templated(*templates: str) -> Plant:
    """Return what fills in {question}, {wrong}, {right} and {text}, which argues; in turn.

    Nothing is planted where the data lacks what a template names.
    """

    def plant(record: Record, count: int, draw: Random) -> Sequence[str]:
        del draw
        wrong, right = record.incorrect[:1], record.correct[:1]
        texts = argued(record, count)
        planted = []
        for number in range(count):
            template = templates[number % len(templates)]
            if (
                ("{wrong}" in template and not wrong)
                or ("{right}" in template and not right)
                or ("{text}" in template and number >= len(texts))
            ):
                continue
            planted.append(
                template.format(
                    question=record.question,
                    wrong="".join(wrong),
                    right="".join(right),
                    text=texts[number] if number < len(texts) else "",
                )
            )
        return list(dict.fromkeys(planted))

    return plant
