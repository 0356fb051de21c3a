"""PoisonedRAG's black box with texts by another writer: Gemini."""

from benchmarks.attacks.texts import released
from benchmarks.plugins import About, Attack

__all__ = ["ATTACK"]

ATTACK = Attack(
    About(
        "PoisonedRAG by Gemini",
        "PoisonedRAG: Knowledge Corruption Attacks, Zou et al.",
        "USENIX Security 2025",
        "knows the question; adds texts",
        "language model",
        "released texts",
    ),
    released("gemini", form="prepend"),
)
