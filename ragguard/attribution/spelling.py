"""Spelling: where a passage states a claim in other letters, gaps or markup, in its own.

A reader sees the same in "B0b Cr@ne", "B<b></b>ob Cra-ne" and "Bob Crane"; a comparison of words
does not. So a sentence that holds the letters of a claim, as quarantine reads letters, and not its
words, is read as if the claim stood behind it, and so are several sentences of which none does.
"""

from __future__ import annotations

from functools import lru_cache

from ragguard.inline.fingerprints import fingerprints
from ragguard.inline.normalize.leet import lettered
from ragguard.lru import on_forget
from ragguard.text import sentences, tokens
from ragguard.text.letters import letters_of

_LEAST = 5  # letters, which stand nowhere by chance
_REMEMBERED = 256  # texts


def spelled(claim: str, text: str) -> str:
    """Return a text with the claim behind each sentence that states it in another spelling.

    >>> spelled("Bob Crane", "It was built by B0b Cr@ne. It is of oak.")
    'It was built by B0b Cr@ne. Bob Crane It is of oak.'
    >>> spelled("Bob Crane", "It was built by Bob Crane.")
    'It was built by Bob Crane.'
    """
    sought = {one for one in letters_of([claim, lettered(claim)]) if len(one) >= _LEAST}
    if not _holds(text, sought) or _says(text, claim):
        return text
    parts = [f"{one} {claim}" if _holds(one, sought) else one for one in sentences(text)]
    return " ".join(parts if claim in " ".join(parts) else [text, claim])


def _holds(text: str, sought: set[bytes]) -> bool:
    return bool(sought) and any(one in _letters(text) for one in sought)


def _says(text: str, claim: str) -> bool:
    return f" {' '.join(tokens(claim))} " in f" {' '.join(tokens(text))} "


@lru_cache(_REMEMBERED)
def _letters(text: str) -> bytes:
    return fingerprints([text]).letters


on_forget(_letters.cache_clear)
