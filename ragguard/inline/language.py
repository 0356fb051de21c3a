"""Is a retrieved set in English, as far as the words tell?

The model of word classes and the list of function words know English alone. In another language
every word is odd to them, and most of all in one that is written in short syllables of English
letters, as Vietnamese is once its accents are folded. A text shows its language in its function
words (Grefenstette 1995, "Comparing two language identification schemes"), and what has few of
them, as tables and key words have, in whether its words are listed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragguard.inline.class_bigram import class_bigram
from ragguard.inline.tokens import TokenizedPassage, TokenizedQuery
from ragguard.text import has_function_words

_LISTED = 2 / 3  # of the different words of one at least


def reads_english(query: TokenizedQuery, passages: Sequence[TokenizedPassage]) -> bool:
    """Return True if a question is in English, or else half of what was retrieved for it.

    The question comes first, since no attacker writes it. Titles and key words have no function
    words in any language; there the passages tell, of which there is one at least.
    """
    if has_function_words(query.sequence):
        return True
    return 2 * sum([one.written.once(is_english) for one in passages]) >= len(passages)


def is_english(passage: TokenizedPassage) -> bool:
    """Return True if a passage is in English; read it as it is written, and `once`."""
    if has_function_words(passage.sequence):
        return True
    listed = len(passage.distinct & class_bigram().listed)
    return listed >= _LISTED * len(passage.distinct)
