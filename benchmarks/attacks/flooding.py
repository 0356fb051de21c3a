"""More texts than are retrieved, by every writer: the question in front, shuffled, strewn in."""

from collections.abc import Sequence
from itertools import cycle
from random import Random

from benchmarks.attacks.described import OURS
from benchmarks.datasets import Record
from benchmarks.forms import FORMS
from benchmarks.plugins import About, Attack

_WRITERS = ("poisonedrag", "gpt4", "gemini", "statement")
_FORMS = ("prepend", "shuffled", "spread")


def _plant(record: Record, count: int, _: Random) -> Sequence[str]:
    written = [text for one in _WRITERS for text in record.poison.get(one, ()) if text.strip()]
    texts = list(dict.fromkeys(written))[:count]
    return [
        FORMS[form](record.question, text) for form, text in zip(cycle(_FORMS), texts, strict=False)
    ]


ATTACK = Attack(About("flooding", *OURS), _plant)
