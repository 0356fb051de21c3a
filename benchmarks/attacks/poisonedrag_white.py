"""PoisonedRAG, white box: tokens in front, chosen along the gradient of the retriever."""

from benchmarks.attacks.texts import released
from benchmarks.plugins import About, Attack

__all__ = ["ATTACK"]

ATTACK = Attack(
    About(
        "PoisonedRAG, white box",
        "PoisonedRAG: Knowledge Corruption Attacks, Zou et al.",
        "USENIX Security 2025",
        "knows question and retriever; adds texts",
        "gradient",
        "released texts",
    ),
    released("poisonedrag_white"),
)
