"""PoisonedRAG, black box: the question, then a text that argues for the false answer."""

from benchmarks.attacks.texts import released
from benchmarks.plugins import About, Attack

__all__ = ["ATTACK"]

ATTACK = Attack(
    About(
        "PoisonedRAG, black box",
        "PoisonedRAG: Knowledge Corruption Attacks, Zou et al.",
        "USENIX Security 2025",
        "knows the question; adds texts",
        "nothing",
        "released texts",
    ),
    released("poisonedrag", "poisonedrag_black", "statement", form="prepend"),
)
