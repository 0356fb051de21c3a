"""Spelling correction: words of the question that a passage writes with a typing error.

    keys(u) & keys(v) not empty,    keys(w): w, w without one letter, w with inner letters sorted

The first two keys are the test of SymSpell (Garbe 2012), which finds one letter left out, put in,
doubled, replaced, or swapped with the next; the third is there since people read words with ease
whose inner letters are in disorder (Rawlinson 1976). A word that the language model does not list
and that passes counts as the word of the question: people and retrievers that see parts of words
read through errors (GARAG, Cho et al. 2024, attacks with them).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from ragguard.fork import WorkedOutOnce
from ragguard.inline.class_bigram import LONGEST, SHORTEST
from ragguard.inline.normalize.leet import letters_of
from ragguard.inline.tokens import TokenizedPassage, TokenizedQuery
from ragguard.lru import on_forget

_SHORTEST_KNOWN = 3  # letters, where it is known which word it may be
_SEVERAL = 2  # misspelt words


@lru_cache(maxsize=4096)  # of 34 forms at most: some 20 MB at worst
def symspell_keys(word: str) -> frozenset[str]:
    """Return the keys of a word; that of its sorted letters begins with a sign that no word has.

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


class Spellings:
    """How words of a question may be written, each of `SHORTEST` letters at least.

    Attributes:
        words: The words.
        heads: The first two letters of every deletion.
        tails: The last two letters of every deletion.
        outer: The first and the last letter of every word.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(words)
        spelt = [letters_of(word) for word in self.words]
        self.heads = frozenset([head for w in spelt for head in (w[:2], w[1:3], w[0] + w[2])])
        self.tails = frozenset([tail for w in spelt for tail in (w[-2:], w[-3:-1], w[-3] + w[-1])])
        self.outer = frozenset([w[0] + w[-1] for w in spelt])

    @WorkedOutOnce
    def forms(self) -> dict[str, str]:
        """From every likeness of the words to the word, the last of several."""
        # Not at once: the passages of many a set hold nothing that could be one of them.
        return {form: word for word in self.words for form in symspell_keys(word)}

    def candidates(self, words: Iterable[str]) -> list[str]:
        """Return the words whose edges, at a fraction of the cost, do not rule out a common key."""
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
    """Return which word of the question, whose words are `asked`, each misspelt one of `odd` is."""
    found = {}
    for word in known.candidates(odd):
        if word in asked:
            continue
        # Words with a likeness in common differ by one letter in length at most.
        meant = {known.forms[form] for form in symspell_keys(word) & known.forms.keys()}
        if meant:
            found[word] = min(meant, key=lambda other: (abs(len(other) - len(word)), other))
    return found


def spellings_of(query: TokenizedQuery) -> Spellings:
    """Return how the question's words of 4 to 32 letters may be written."""
    words = dict.fromkeys(query.sequence)  # without numbers: another digit is another number
    return Spellings(
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
    following, preceding = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for one, other in query.pairs:
        following[one].add(other)
        preceding[other].add(one)
    forms: dict[str, list[str]] = {}  # so that a word costs its own letters, not the question's
    for word in query.distinct:
        if _SHORTEST_KNOWN <= len(word) <= LONGEST:
            for form in symspell_keys(word):
                forms.setdefault(form, []).append(word)
    for at, (word, after) in enumerate(pairwise([*said, ""])):
        before = said[at - 1] if at else ""
        if word in query.distinct or not (before in following or after in preceding):
            continue
        if not _SHORTEST_KNOWN <= len(word) <= LONGEST:
            continue
        near = following.get(before, set()) | preceding.get(after, set())
        found = {one for form in symspell_keys(word) for one in forms.get(form, ())}
        said[at] = min([one for one in found & near if one_letter_off(word, one)], default=word)
    return tuple(said)
