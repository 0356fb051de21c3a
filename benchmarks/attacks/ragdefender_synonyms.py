"""RAGDefender's adaptive attacker: words of the question are exchanged, so that TF-IDF is low.

The paper's attacker had synonyms from a language model; here long words of the question that stand
in a text are left out of it, and each text begins with another part of the question.
"""

from collections.abc import Sequence
from random import Random

from benchmarks.attacks.described import ADAPTIVE, argued
from benchmarks.datasets import Record
from benchmarks.plugins import About, Attack
from ragguard.text import STOP_WORDS


def _plant(record: Record, count: int, draw: Random) -> Sequence[str]:
    words = [word for word in record.question.rstrip("?").split() if word not in STOP_WORDS]
    planted = []
    for text in argued(record, count):
        shown = draw.sample(words, max(1, len(words) // 2)) if words else []
        hidden = {word.lower() for word in words if word not in shown}
        rest = [word for word in text.split() if word.lower().strip(".,") not in hidden]
        planted.append(f"{' '.join(shown)}: {' '.join(rest)}")
    return planted


ATTACK = Attack(
    About("synonyms against RAGDefender", *ADAPTIVE, "language model", "templated"), _plant
)
