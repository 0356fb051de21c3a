"""Tan et al.: a fabricated article in which the false answer stands."""

from benchmarks.attacks.texts import released
from benchmarks.plugins import About, Attack

__all__ = ["ATTACK"]

ATTACK = Attack(
    About(
        "Tan et al.",
        "Blinded by Generated Contexts, Tan et al.",
        "ACL 2024",
        "knows the question; adds texts",
        "language model",
        "released texts",
    ),
    released("blind", "article"),
)
