"""RAGDefender's adaptive attacker: texts as unlike each other as they can be.

Of the texts that there are, the ones least similar to those chosen before are planted, each in
another form of the question.
"""

from collections.abc import Sequence
from random import Random

from benchmarks.attacks.described import ADAPTIVE, argued
from benchmarks.datasets import Record
from benchmarks.forms import FORMS
from benchmarks.plugins import About, Attack
from ragguard.embedding import HashedEmbedder

_FORMS = ("prepend", "keywords", "quoted", "halves", "wondered")
_MANY = 25


def _plant(record: Record, count: int, _: Random) -> Sequence[str]:
    texts = argued(record, _MANY)
    if not texts:
        return []
    similar = (rows := HashedEmbedder().embed(texts)) @ rows.T
    chosen = [0]
    while len(chosen) < min(count, len(texts)):
        rest = [at for at in range(len(texts)) if at not in chosen]
        chosen.append(min(rest, key=lambda at: float(similar[at, chosen].max())))
    return [
        FORMS[_FORMS[number % len(_FORMS)]](record.question, texts[at])
        for number, at in enumerate(chosen)
    ]


ATTACK = Attack(About("unlike each other", *ADAPTIVE, fidelity="templated"), _plant)
