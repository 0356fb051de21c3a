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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ragguard.inline.class_bigram import LONGEST, SHORTEST
from ragguard.inline.normalize.leet import letters_of
from ragguard.inline.tokens import TokenizedPassage, TokenizedQuery
from ragguard.lru import on_forget

_SHORTEST_KNOWN = 3  # letters, where it is known which word it may be
_SEVERAL = 2  # misspelt words


@lru_cache(maxsize=4096)  # of 34 forms at most: some 20 MB at worst
def symspell_keys(word: str) -> frozenset[str]:
    """Return what a word has in common with others that are read as it.

    Its deletions, and its letters: those between the first and the last are sorted, behind a sign
    that no word has.

    >>> sorted(symspell_keys("p1er"))
    ['*peir', 'ier', 'per', 'pie', 'pier', 'pir']
    """
    forms = deletions(word)
    letters = forms[0]
    forms.append(f"*{letters[:1]}{''.join(sorted(letters[1:-1]))}{letters[-1:]}")
    return frozenset(forms)


on_forget(symspell_keys.cache_clear)


def deletions(word: str) -> list[str]:
    """Return a word, digits in it read as the letters they look like, and it without one letter.

    >>> deletions("p1er")
    ['pier', 'ier', 'per', 'pir', 'pie']
    """
    letters = letters_of(word)
    return [letters, *[letters[:at] + letters[at + 1 :] for at in range(len(letters))]]


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
        return {form: word for word in self.words for form in symspell_keys(word)}

    def candidates(self, words: Iterable[str]) -> list[str]:
        """Return the words of `SHORTEST` letters or more that may have one of these symspell_keys.

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
    """Return which word of the question, whose words are `asked`, each misspelt word is.

    `odd` are words of `SHORTEST` letters at least that the language model does not list.
    """
    found = {}
    for word in known.candidates(odd):
        if word in asked:
            continue
        # Words with a likeness in common differ by one letter in length at most.
        meant = {known.forms[form] for form in symspell_keys(word) & known.forms.keys()}
        if not meant:
            continue
        found[word] = min(meant, key=lambda other: (abs(len(other) - len(word)), other))
    return found


def spellings_of(query: TokenizedQuery) -> Spellings:
    """Return how the question's words of 4 to 32 letters may be written."""
    # A number that differs in one digit is another number.
    words = dict.fromkeys(query.sequence)
    return Spellings.of(
        [word for word in words if word.isalpha() and SHORTEST <= len(word) <= LONGEST]
    )


def one_letter_off(one: str, other: str) -> bool:
    """Return True if two words may be one with a typing error."""
    lengths = len(one), len(other)
    if one.isdigit() or other.isdigit():  # another number is another number
        return False
    if min(lengths) < _SHORTEST_KNOWN or max(lengths) > LONGEST or abs(lengths[0] - lengths[1]) > 1:
        return False
    return not symspell_keys(one).isdisjoint(symspell_keys(other))


def respell(query: TokenizedQuery, passages: Sequence[TokenizedPassage]) -> list[TokenizedPassage]:
    """Undo typing errors in words of the question, wherever they stand.

    One word may be like one of the question by chance, a plural or another spelling: so several
    of a passage must be, and then those as well that are misspelt into another word where the
    question goes on so.
    """
    known = query.once(spellings_of)
    # Passages of one set have many words in common: each is looked at once.
    odd = frozenset().union(*[passage.oov for passage in passages]) if known.words else ()
    if not odd or not (meant := respelled(known, query.distinct, odd)):
        return list(passages)
    return [
        passage if passage.oov.isdisjoint(meant) else _respelled(query, passage, meant)
        for passage in passages
    ]


def _respelled(
    query: TokenizedQuery, passage: TokenizedPassage, known: Mapping[str, str]
) -> TokenizedPassage:
    meant = {word: known[word] for word in passage.oov & known.keys()}
    if len(set(meant.values())) < _SEVERAL:
        return passage
    # Who writes digits for letters does so in short words as well.
    meant |= {
        word: letters
        for word in passage.distinct - query.distinct
        if not word.isalpha() and (letters := letters_of(word)) in query.distinct
    }
    return passage.rewritten(_in_place(query, [meant.get(word, word) for word in passage.sequence]))


def _in_place(query: TokenizedQuery, said: list[str]) -> tuple[str, ...]:
    """Return the words with those replaced that are like what the question has in their place."""
    pairs = query.pairs
    firsts, seconds = {one for one, _ in pairs}, {other for _, other in pairs}
    forms: dict[str, list[str]] = {}
    for word in query.distinct:
        if _SHORTEST_KNOWN <= len(word) <= LONGEST:
            for form in symspell_keys(word):
                forms.setdefault(form, []).append(word)
    last = len(said) - 1
    for at, word in enumerate(said):
        before = said[at - 1] if at else ""
        after = said[at + 1] if at < last else ""
        if word in query.distinct or not (before in firsts or after in seconds):
            continue
        if not _SHORTEST_KNOWN <= len(word) <= LONGEST:
            continue
        found = {one for form in symspell_keys(word) for one in forms.get(form, ())}
        like = [
            one
            for one in found
            if ((before, one) in pairs or (one, after) in pairs) and one_letter_off(word, one)
        ]
        if like:
            said[at] = min(like)
    return tuple(said)
