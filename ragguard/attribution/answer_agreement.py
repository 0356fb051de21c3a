"""Do two answers to a question claim the same? Ours, in place of the language model of Eq. 3.

RAGOrigin has a large model compare the generator's answer with the reported response (Section 5.2).
Where no `judge` is given this rule does, by what each answer claims, refuses or denies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragguard.attribution.answer import answer_of
from ragguard.attribution.claim import claim, contains_phrase
from ragguard.attribution.claim_decomposition import MOST_CLAIMS, atomic_claims
from ragguard.attribution.refusal import is_refusal
from ragguard.stems import tokenize
from ragguard.text import MAX_CHARS, both_ends

_CLAUSE = re.compile(r"[.,;:!?](?:\s|$)|\s(?:and|but)\s")
_DENIAL = re.compile(r"\b(?:not|never|nor|neither|cannot|no longer)\b|n['\u2019]t\b", re.IGNORECASE)
_NAMES = frozenset("who whom whose".split())  # what asks for a name
_NUMBERS = frozenset("date how when year".split())
_KINDS = _NAMES | _NUMBERS


def answers_agree(query: str, answer: str, response: str) -> bool:
    """Return True if two answers to `query` claim the same, by rule.

    They agree if both refuse, or if what the response claims stands in the answer, all of it or the
    name or number that was asked for, or if half of that is what the answer claims. Where neither
    is asked for, what the answer claims may stand in the response. Who denies what the other states
    does not agree, nor does one that says yes with one that says no.

    >>> answers_agree("Who led it?", "It was led by Ada Crane", "Ada Crane, in 1921.")
    True
    >>> answers_agree("Who led it?", "It was led in 1921", "Ada Crane, in 1921.")
    False
    >>> answers_agree("Is it open?", "Yes, it is.", "No, it is not open.")
    False
    """
    answer, response = (both_ends(answer_of(text, query), MAX_CHARS) for text in (answer, response))
    alike = _polarity(tokenize(answer)) * _polarity(tokenize(response))
    if alike < 0:
        return False
    refused = [is_refusal(query, text) for text in (answer, response)]
    if any(refused):
        return all(refused)
    asked_for, theirs = _asked_for(query, response), claim(query, answer)
    pairs = [(answer, claim(query, response)), (answer, asked_for)]
    if not _KINDS.intersection(tokenize(query)):
        pairs.append((response, theirs))
    elif 2 * len(tokenize(theirs)) >= len(tokenize(asked_for)):
        pairs.append((asked_for, theirs))
    return alike > 0 or any(
        contains_phrase(tokenize(text), tokenize(claimed))
        and _denies(answer, claimed) == _denies(response, claimed)
        for text, claimed in pairs
    )


def _asked_for(query: str, response: str) -> str:
    """Return the name or number of a response that answers the query, or else its claim."""
    asked = set(tokenize(query))
    claims = list(atomic_claims(query, response))[:MOST_CLAIMS]
    if asked & _KINDS:
        number = not asked & _NAMES
        claims.sort(key=lambda one: any(map(str.isdigit, one)) is not number)
    stated = (one for one in claims if not _denies(response, one))
    return next(stated, claim(query, response))


def _denies(text: str, claimed: str) -> bool:
    phrase = tokenize(claimed)
    clauses = [one for one in _CLAUSE.split(text) if contains_phrase(tokenize(one), phrase)]
    return all(_DENIAL.search(one) for one in clauses or [text])


def _polarity(words: Sequence[str]) -> int:
    first = words[0] if words else ""
    return (first in ("yes", "true")) - (first in ("no", "false"))
