"""Evidence in words that an operator understands."""

from __future__ import annotations

__all__ = ["CLEAN", "describe"]

CLEAN = "nothing that clean passages do not show as well"

_IN_WORDS = {
    "echo_whole": "the whole question stands in it word for word",
    "echo_edge": "it begins or ends with the question, word for word",
    "restatement": "it repeats the question word for word and then once more in its own sentences",
    "echo_pairs": "it strings the question's words together as the question does, more than once",
    "wording": "it holds nearly all of the question's wording, function words included",
    "key_pairs": "it sets key words side by side that the question parts by other words",
    "key_run": "{:.0%} of the question's key words stand in one unbroken row",
    "repetition": "it says {:.0%} of the question's key words more than once",
    "company_restatement": "it is one of several that repeat and restate the question",
    "company_pairs": "it is one of several that string the question's words together",
    "company_wording": "it is one of several that hold the question's wording",
    "company_key_pairs": "it is one of several that set the same key words side by side",
    "company_key_run": "it is one of several that hold the key words in a row",
    "company_window": "it is one of several that hold the question's words in one short stretch",
    "soup": "a stretch of it does not read as if a person wrote it",
    "address": "it speaks to the language model rather than to a reader",
    "quarantine": "it is in quarantine",
    "pair_frequency": "it forms the most similar pairs of the set (pair frequency {:.2f})",
}


def describe(signal: str, strength: float) -> str:
    """Return one sentence part for a signal of the given strength."""
    return _IN_WORDS[signal].format(strength)
