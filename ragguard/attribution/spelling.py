"""Spelling: where a passage states a claim in other letters, gaps or markup, in its own.

A reader sees the same in "B0b Cr@ne", "B<b></b>ob Cra-ne" and "Bob Crane"; a comparison of words
does not. So a sentence that holds the letters of a claim, as quarantine reads letters, and not its
words, is read as if the claim stood behind it, and so are several sentences of which none does.
"""

from __future__ import annotations

from ragguard.inline.fingerprints import fingerprints
from ragguard.inline.normalize.leet import lettered
from ragguard.lru import Remembered
from ragguard.text import sentences, tokens
from ragguard.text.letters import letters_of

_LEAST = 5  # letters, which stand nowhere by chance
_SENTENCES = 50  # of a text with more nobody asks which of them it is
_MAX_BYTES = 16 * 2**20


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
    parts = sentences(text)
    if len(parts) > _SENTENCES:
        return f"{text} {claim}"
    parts = [f"{one} {claim}" if _holds(one, sought) else one for one in parts]
    return " ".join(parts if claim in " ".join(parts) else [text, claim])


def _holds(text: str, sought: set[bytes]) -> bool:
    return bool(sought) and any(one in _letters([text])[0] for one in sought)


def _says(text: str, claim: str) -> bool:
    return f" {' '.join(tokens(claim))} " in f" {' '.join(tokens(text))} "


_letters: Remembered[str, bytes] = Remembered(
    lambda texts: [fingerprints([text]).letters for text in texts],
    max_bytes=_MAX_BYTES,
    weigh=lambda text, letters: 4 * len(text) + len(letters) + 200,
)
