"""Evidence in words that an operator understands."""

from __future__ import annotations

__all__ = ["CLEAN", "describe"]

CLEAN = "nothing that clean passages do not show as well"

_IN_WORDS = {
    "echo_whole": "the whole question stands in it word for word",
    "echo_edge": "it begins or ends with the question, word for word",
    "restatement": "it repeats the question word for word and then once more in its own sentence",
    "coverage": "it holds {:.0%} of the question's content words, weighed by rarity",
    "wording_restated": "it holds nearly all of the question's wording, function words included",
    "window": "{:.0%} of the question's words stand together in one short stretch",
    "window_whole": "nearly all of the question's words stand in one short stretch",
    "closeness": "it is closer to the question than what is normally retrieved, by {:.0%}",
    "concentration": "it shares a rare term with {:.0%} of the others that the reference lacks",
    "company_coverage": "it is one of several that hold nearly every content word of the question",
    "company_wording": "it is one of several that hold the question's wording",
    "company_window": "it is one of several that string the question's words together",
    "company_closeness": "it is one of several that are closer to the question than usual",
    "address": "it speaks to the language model rather than to a reader",
    "quarantine": "it is in quarantine",
    "pair_frequency": "it forms the most similar pairs of the set (pair frequency {:.2f})",
}


def describe(signal: str, strength: float) -> str:
    """Return one sentence part for a signal of the given strength."""
    return _IN_WORDS[signal].format(strength)
