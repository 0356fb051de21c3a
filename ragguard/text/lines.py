r"""Lines in front of a text and behind it: where it comes from, its title, who shows it.

Loaders, indexers and crawlers write such lines around what they store, so that what a person or an
attacker wrote begins and ends within them.
"""

from __future__ import annotations

import re
from itertools import takewhile

LINE_WORDS = 20
"""At most in a short line."""

LINES_CHARS = 300
"""Characters in which such lines end, and headings."""

_TO_LAST_WORD = re.compile(r".*\w", re.DOTALL)
_SAID = re.compile(r"[.!?]\W*$")  # a sentence ends
_WRAP = re.compile(r"\n(?=([^\W\d_]))")
_LIST_MARK = re.compile(
    r"""\s*(?:[.,;:!?\u2026\u2022\u00b7>*-]{1,6}\s+)?(?:(?:\[[0-9]{1,3}\]|\([0-9]{1,3}\)|(?:(?:chunk|
    context|doc|document|item|page|passage|result|section|snippet|source|text)[ ]?)?
    \#?[0-9]{1,3}[.):])\s+)?(?=\S)""",
    re.IGNORECASE | re.VERBOSE,
)


def list_mark(text: str) -> int:
    """Return how many characters its number in a list, a bullet or an ellipsis takes in front.

    >>> list_mark("[3] Marrow Light"), list_mark("... was lit."), list_mark("Passage 3: The lamp")
    (4, 4, 11)
    """
    found = _LIST_MARK.match(text)
    return found.end() if found and found.group().strip() else 0


def without_list_mark(text: str) -> str:
    """Return a text without the mark that it has in a list."""
    return text[list_mark(text) :]


def unwrapped(text: str) -> str:
    r"""Return a text with a space for each line break behind which a small letter stands.

    >>> unwrapped("The lamp was\nlit at dusk.\nAnn did it.")
    'The lamp was lit at dusk.\nAnn did it.'
    """
    return _WRAP.sub(lambda found: " " if found[1].islower() else found[0], text)


def first_lines(text: str) -> str:
    r"""Return the first lines of a text, as far as they are short. Something must follow.

    >>> first_lines("Manual\n2.1 Lamps\n\nEach has a wick.")
    'Manual\n2.1 Lamps\n\n'
    """
    beginning = text[:LINES_CHARS]
    said = _TO_LAST_WORD.match(beginning)
    lines = beginning[: said.end() if said else 0].split("\n")[:-1]
    return "".join([f"{line}\n" for line in takewhile(_is_short, lines)])


def last_lines(text: str) -> str:
    r"""Return the last lines of a text, as far as they are short. Something must stand before.

    >>> last_lines("Each has a wick.\nSource: manual\nPage 3\n")
    '\nSource: manual\nPage 3\n'
    """
    return first_lines(text[: -LINES_CHARS - 1 : -1])[::-1]  # read backwards


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
