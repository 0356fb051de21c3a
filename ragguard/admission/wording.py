"""Reasons in words that whoever keeps a knowledge base understands."""

from __future__ import annotations

from ragguard.admission.batch import Batch

__all__ = ["reason"]


def reason(name: str, batch: Batch, row: int, p_value: float) -> str:
    """Return what a sign of one passage of a batch says.

    Args:
        name: Of the sign, or "copies".
        batch: The passages.
        row: Which of them.
        p_value: Of the sign.
    """
    if name == "copies":
        count = int(batch.copies[row])
        return f"it is a near copy of {count} other{'s' * (count > 1)} here"
    return (
        f"{_said(name, batch, row)} (fewer than 1 of {max(1, int(1 / p_value)):,} clean passages)"
    )


def _said(name: str, batch: Batch, row: int) -> str:
    if name == "answered":
        together = int(batch.bursts[0][row])
        said = "it asks a question at its beginning or end and answers it"
        return said + (
            f", as do {together - 1} other{'s' * (together > 2)} with the same words"
            * (together > 1)
        )
    if name == "hidden":
        count = int(batch.column("hidden")[row])
        return f"it hides characters, in {count} place{'s' * (count > 1)}"
    return _SAID[name]


_SAID = {
    "manner": "it is written as planted passages are: complete, short and sure of itself",
    "jumble": "it holds a row of words that no sentence puts in a row",
    "injection": "it speaks to a language model rather than to a reader",
}
