"""All kinds of hostile text by name, cut to a size, and mixtures of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

from tests.hostile import characters, dressed, honest, markup, wording

__all__ = ["GENERATORS", "asked", "cut", "made", "mixed", "size_of"]

Generator = Callable[[Random, str], Iterator[str]]
"""From a source of randomness and a question to the pieces of a text without end."""

GENERATORS: Mapping[str, Generator] = {
    name: getattr(module, name)
    for module in (characters, markup, wording, dressed)
    for name in module.__all__
} | {
    "document": honest.document,
    "nearly_poison": honest.nearly_poison,
    "prose": honest.prose,
}
"""Every generator by its name."""


def made(name: str, draw: Random, question: str, size: int) -> str:
    """Return a text of one kind.

    Args:
        name: Of `GENERATORS`.
        draw: Where its randomness comes from.
        question: What is asked, which many kinds repeat or hide.
        size: Bytes in UTF-8 that it has at most, and nearly.
    """
    return _filled(GENERATORS[name](draw, question), size)


def mixed(names: Sequence[str], draw: Random, question: str, size: int, block: int) -> str:
    """Return a text in which kinds take turns, a block of so many bytes each."""
    kinds = [GENERATORS[name](draw, question) for name in names]
    parts: list[str] = []
    left = size
    while left > 0:
        part = _filled(kinds[len(parts) % len(kinds)], min(block, left))
        parts.append(part)
        left -= max(1, size_of(part))
    return "".join(parts)


def asked(
    name: str, seed: int, question: str, size: int, passages: int, *, same: bool
) -> tuple[str, list[str]]:
    """Return a long question of one kind, and passages that hold it or, if not `same`, resemble it.

    Args:
        name: Of `GENERATORS`.
        seed: Of what is random in them.
        question: What the kind repeats or hides.
        size: Bytes of the long question and of each passage, at most.
        passages: How many there are.
        same: Whether they hold the question, from their beginnings on.
    """
    query = made(name, Random(seed), question, size)
    numbers = range(passages)
    if same:
        return query, [cut(f"{number} {query}", size) for number in numbers]
    return query, [made(name, Random(seed + 1 + number), question, size) for number in numbers]


def size_of(text: str) -> int:
    """Return how many bytes a text has in UTF-8; half a pair has three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def cut(text: str, size: int) -> str:
    """Return the beginning of a text that has at most so many bytes in UTF-8."""
    if size_of(text) <= size:
        return text
    kept = text[:size]
    while (over := size_of(kept) - size) > 0:
        kept = kept[: len(kept) - (over + 3) // 4]
    return kept


def _filled(pieces: Iterator[str], size: int) -> str:
    parts: list[str] = []
    left = size
    while left > 0:
        piece = next(pieces)
        parts.append(piece)
        left -= size_of(piece)
    return cut("".join(parts), size)
