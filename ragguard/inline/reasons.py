"""Evidence in words that an operator understands."""

from __future__ import annotations

__all__ = ["CLEAN", "describe"]

CLEAN = "nothing that clean passages do not show as well"

_IN_WORDS = {
    "echo_whole": "the whole question stands in it word for word",
    "echo_edge": "it begins or ends with the question, word for word",
    "restatement": "it repeats the question word for word and then once more in its own sentences",
    "heading": "it begins or ends with the question, or nearly, and says its words once more",
    "dense": "one short stretch of it holds the question's words, and it says them once more",
    "disorder": "one short stretch of it holds the question's words out of order",
    "strewn": "the question's words stand in it where it would read better without them",
    "key_pairs": "it sets key words side by side that the question parts by other words",
    "key_row": "it lists the question's key words in a row, as no sentence does",
    "key_edge": "it begins or ends with the question's key words in a row",
    "company_restatement": "it is one of several that repeat and restate the question",
    "company_heading": "it is one of several that begin or end with the question",
    "company_dense": "it is one of several that hold the question's words in one short stretch",
    "company_disorder": "it is one of several that hold the question's words out of order",
    "company_strewn": "it is one of several with the question's words strewn in",
    "company_key_row": "it is one of several that list the question's key words in a row",
    "agreement": "it is one of several that agree on an answer and say little else",
    "soup": "a stretch of it does not read as if a person wrote it",
    "address": "it speaks to the language model rather than to a reader",
    "quarantine": "it is in quarantine",
    "pair_frequency": "it forms the most similar pairs of the set (pair frequency {:.2f})",
}


def describe(signal: str, strength: float) -> str:
    """Return one sentence part for a signal of the given strength."""
    return _IN_WORDS[signal].format(strength)
