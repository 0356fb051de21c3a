"""Small edits of a text, as somebody makes them who plants it again, or a knowledge base does."""

from collections.abc import Callable, Mapping
from random import Random

from ragguard.text import sentences

_LEET = {"a": "4@", "e": "3", "i": "1!", "o": "0", "s": "5$", "t": "7"}
_CUT = (0.5, 0.9)  # of the text is left at the other border
Edit = Callable[[str, str, Random], str | None]


def _typo(text: str, draw: Random) -> str | None:
    places = [place for place, letter in enumerate(text) if letter.isalpha()]
    if not places:
        return None
    place = draw.choice(places)
    others = "abcdefghijklmnopqrstuvwxyz".replace(text[place].lower(), "")
    wrong = draw.choice(["", text[place] * 2, draw.choice(others)])
    return text[:place] + wrong + text[place + 1 :]


def _entity(text: str, draw: Random) -> str:
    place = draw.randrange(len(text))
    return f"{text[:place]}&#{ord(text[place])};{text[place + 1 :]}"


def _doubled(text: str, draw: Random) -> str:
    words = text.split()
    place = draw.randrange(len(words))
    return " ".join([*words[: place + 1], *words[place:]])


def _swapped(text: str, draw: Random) -> str | None:
    parts = sentences(text)
    if len(parts) < 2:
        return None
    place = draw.randrange(len(parts) - 1)
    parts[place : place + 2] = parts[place + 1], parts[place]
    return " ".join(parts)


def _leet(text: str, draw: Random) -> str:
    return "".join(
        draw.choice(_LEET[one.lower()]) if one.lower() in _LEET and draw.random() < 0.7 else one
        for one in text
    )


def _border(text: str, page: str, draw: Random) -> str:
    words, others = text.split(), page.split()
    kept = max(1, round(len(words) * draw.uniform(*_CUT)))
    rest = len(words) - kept
    if draw.random() < 0.5:
        return " ".join([*others[len(others) - rest :], *words[:kept]])
    return " ".join([*words[-kept:], *others[:rest]])


def _overlap(text: str, page: str, draw: Random) -> str:
    return f"{page[-20:]} {text}" if draw.random() < 0.5 else f"{text} {page[:20]}"


EDITS: Mapping[str, Edit] = {
    "one word appended": lambda text, _, draw: f"{text} {draw.choice(['indeed', 'today'])}",
    "list number in front": lambda text, _, draw: f"{draw.randint(1, 20)}. {text}",
    "one typo": lambda text, _, draw: _typo(text, draw),
    "HTML entity": lambda text, _, draw: _entity(text, draw),
    "other chunk boundary": _border,
    "leet": lambda text, _, draw: _leet(text, draw),
    "doubled word": lambda text, _, draw: _doubled(text, draw),
    "swapped sentences": lambda text, _, draw: _swapped(text, draw),
    "overlap of 20 characters": _overlap,
    "inside a page": lambda text, page, _: f"{page} {text} {page}",
}
"""Edits of a text, by name; the second text is an honest page that it may be mixed with."""


def updated(page: str, draw: Random) -> str:
    """Return a page with a sentence more, or another one in place of one of its own."""
    parts = sentences(page)
    new = f"This section was revised in {draw.randint(2015, 2025)} after a letter from a reader."
    place = draw.randrange(len(parts))
    parts[place : place + draw.randint(0, 1)] = [new]
    return " ".join(parts)
