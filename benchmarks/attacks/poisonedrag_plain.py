"""PoisonedRAG's arguing texts without the question: its generation part alone."""

from benchmarks.attacks.texts import released
from benchmarks.plugins import About, Attack

__all__ = ["ATTACK"]

ATTACK = Attack(
    About(
        "PoisonedRAG, no question",
        "PoisonedRAG: Knowledge Corruption Attacks, Zou et al.",
        "USENIX Security 2025",
        "knows the question; adds texts",
        "nothing",
        "released texts",
    ),
    released("poisonedrag", "poisonedrag_black", "statement"),
)
