r"""Lines in front of a text and behind it: where it comes from, its title, who shows it.

Loaders, indexers and crawlers write such lines around what they store, so that what a person or an
attacker wrote begins and ends within them.
"""

from __future__ import annotations

import re
from itertools import takewhile

LINE_WORDS = 20
"""At most in a short line."""

_CHARS = 300  # in which such lines end
_TO_LAST_WORD = re.compile(r".*\w", re.DOTALL)
_FROM_FIRST_WORD = re.compile(r"\w.*", re.DOTALL)
_SAID = re.compile(r"[.!?]\W*$")  # a sentence ends


def first_lines(text: str) -> str:
    r"""Return the first lines of a text, as far as they are short. Something must follow.

    >>> first_lines("Manual\n2.1 Lamps\n\nEach has a wick.")
    'Manual\n2.1 Lamps\n\n'
    """
    beginning = text[:_CHARS]
    said = _TO_LAST_WORD.match(beginning)
    lines = beginning[: said.end() if said else 0].split("\n")[:-1]
    return "".join([f"{line}\n" for line in takewhile(_is_short, lines)])


def last_lines(text: str) -> str:
    r"""Return the last lines of a text, as far as they are short. Something must stand before.

    >>> last_lines("Each has a wick.\nSource: manual\nPage 3\n")
    '\nSource: manual\nPage 3\n'
    """
    end = text[-_CHARS:]
    said = _FROM_FIRST_WORD.search(end)
    lines = end[said.start() if said else len(end) :].split("\n")[1:]
    return "".join([f"\n{line}" for line in list(takewhile(_is_short, lines[::-1]))[::-1]])


def body(text: str) -> str:
    r"""Return a text without short lines in front and behind that are no sentences.

    >>> body("Source: manual\n\nEach has a wick.\nPage 3")
    'Each has a wick.'
    """
    if "\n" not in text:
        return text
    front, behind = first_lines(text), last_lines(text)
    lines = takewhile(_is_no_sentence, front.split("\n")[:-1])
    begin = sum([len(line) + 1 for line in lines])
    end = takewhile(_is_no_sentence, behind.split("\n")[:0:-1])
    stop = len(text) - sum([len(line) + 1 for line in end])
    return text[begin:stop] if begin < stop else text


def _is_short(line: str) -> bool:
    return len(line.split()) <= LINE_WORDS


def _is_no_sentence(line: str) -> bool:
    return _SAID.search(line) is None
