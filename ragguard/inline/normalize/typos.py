"""Spelling: words of the question that a passage writes with a typing error.

A question with two letters swapped in each of its words is read by people, and by retrievers that
see parts of words, as the question; a comparison word for word sees none of it (GARAG, Cho et al.
2024, attacks with typing errors). A word that the language model does not list and that has
all but one letter in common with a word of the question counts as that word. That two words have
a form in common after at most one deletion each is the test of SymSpell (Garbe 2012); it finds one
letter left out, put in, doubled, replaced, or swapped with the next. Words that differ in the order
of their inner letters alone are alike as well: people read them with ease (Rawlinson 1976).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ragguard.lru import on_forget

__all__ = [
    "LONGEST",
    "SHORTEST",
    "Spellings",
    "deletions",
    "letters_of",
    "likenesses",
    "respelled",
]

SHORTEST = 4
"""Letters of a word at least; shorter ones are all alike."""

LONGEST = 32
"""Letters of a word at most: what a word is without one letter grows with the square of them."""

_LETTERS = str.maketrans("013457", "oieast")


def letters_of(word: str) -> str:
    """Return a word with the digits in it read as the letters they look like.

    >>> letters_of("p1er")
    'pier'
    """
    return word.translate(_LETTERS)


@lru_cache(maxsize=4096)  # of 34 forms at most: some 20 MB at worst
def likenesses(word: str) -> frozenset[str]:
    """Return what a word has in common with others that are read as it.

    Its deletions, and its letters: those between the first and the last are sorted, behind a sign
    that no word has.

    >>> sorted(likenesses("p1er"))
    ['*peir', 'ier', 'per', 'pie', 'pier', 'pir']
    """
    letters = letters_of(word)
    return deletions(word) | {f"*{letters[:1]}{''.join(sorted(letters[1:-1]))}{letters[-1:]}"}


on_forget(likenesses.cache_clear)


def deletions(word: str) -> frozenset[str]:
    """Return a word, digits in it read as the letters they look like, and it without one letter.

    >>> sorted(deletions("p1er"))
    ['ier', 'per', 'pie', 'pier', 'pir']
    """
    letters = letters_of(word)
    return frozenset([letters, *[letters[:at] + letters[at + 1 :] for at in range(len(letters))]])


@dataclass(frozen=True)
class Spellings:
    """How the words of a question may be written.

    Attributes:
        words: The words, each of `SHORTEST` letters at least.
        heads: The first two letters of every deletion.
        tails: The last two letters of every deletion.
        outer: The first and the last letter of every word.
    """

    words: tuple[str, ...]
    heads: frozenset[str]
    tails: frozenset[str]
    outer: frozenset[str]

    @classmethod
    def of(cls, words: Iterable[str]) -> Spellings:
        """Collect how words of `SHORTEST` letters at least begin and end."""
        words = tuple(words)
        spelt = [letters_of(word) for word in words]
        return cls(
            words,
            frozenset([head for w in spelt for head in (w[:2], w[1:3], w[0] + w[2])]),
            frozenset([tail for w in spelt for tail in (w[-2:], w[-3:-1], w[-3] + w[-1])]),
            frozenset([w[0] + w[-1] for w in spelt]),
        )

    @cached_property
    def forms(self) -> dict[str, str]:
        """From every likeness of the words to the word, the last of several."""
        # Not at once: the passages of many a set hold nothing that could be one of them.
        return {form: word for word in self.words for form in likenesses(word)}

    def candidates(self, words: Iterable[str]) -> list[str]:
        """Return the words of `SHORTEST` letters or more that may have one of these likenesses.

        Most words have none, and their edges show it at a fraction of the cost.
        """
        outer, heads, tails = self.outer, self.heads, self.tails
        return [
            word
            for word in words
            if (w := word if word.isalpha() else letters_of(word))
            and (
                w[0] + w[-1] in outer
                or (
                    (w[:2] in heads or w[1:3] in heads or w[0] + w[2] in heads)
                    and (w[-2:] in tails or w[-3:-1] in tails or w[-3] + w[-1] in tails)
                )
            )
        ]


def respelled(known: Spellings, asked: frozenset[str], odd: Iterable[str]) -> dict[str, str]:
    """Return which word of the question each misspelt word is.

    Args:
        known: The spellings of the question's longer words.
        asked: The question's words.
        odd: Words of a passage that the language model does not list, of `SHORTEST` letters each
            at least.
    """
    found = {}
    for word in known.candidates(odd):
        if word in asked:
            continue
        # Words with a likeness in common differ by one letter in length at most.
        meant = {known.forms[form] for form in likenesses(word) & known.forms.keys()}
        if not meant:
            continue
        found[word] = min(meant, key=lambda other: (abs(len(other) - len(word)), other))
    return found
