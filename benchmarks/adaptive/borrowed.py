"""Attack "borrowed words": similarity without the question's words.

The attacker hill-climbs on similarity to the question alone, over words of what is retrieved and
of the other false texts. None of the question's own words is added, so there is no word-for-word
trace. The guard is asked only how many of the words found it lets pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from benchmarks.adaptive.oracle import Answer, Oracle, Ranking
from benchmarks.adaptive.targets import Target
from ragguard.text import STOP_WORDS, tokens

_WORD = re.compile(r"[^\W\d_]{3,}")
_FROM_HITS = 10
_WORDS = 24  # are tried at every step
_MOST = 8  # are added at most


def vocabulary(target: Target) -> list[str]:
    """Return the words that may be borrowed, in order: none that the question holds."""
    asked = set(tokens(target.record.question))
    words: dict[str, None] = {}
    for text in (*target.record.hits[:_FROM_HITS], *target.pool[:_FROM_HITS]):
        words |= dict.fromkeys(word.lower() for word in _WORD.findall(text))
    return [word for word in words if word not in STOP_WORDS and asked.isdisjoint(tokens(word))]


class Borrower:
    """Finds words for each text once; what the guard says of them depends on the setting.

    Args:
        target: The question, and the texts to be read.
        ranking: Gives the similarity.
    """

    def __init__(self, target: Target, ranking: Ranking) -> None:
        self._ranking = ranking
        self._found: dict[str, list[str]] = {}
        words = vocabulary(target)
        near = np.argsort(-ranking.similarity(words), kind="stable")[:_WORDS] if words else ()
        self._words = [words[i] for i in near]

    def forms(self, text: str) -> list[str]:
        """Return the text with 0, 1, ... borrowed words in front, each more similar than before."""
        if text not in self._found:
            self._found[text] = self._climb(text)
        return self._found[text]

    def _climb(self, text: str) -> list[str]:
        forms = [text]
        chosen: list[str] = []
        best = self._ranking.similarity([text])[0]
        while len(chosen) < _MOST:
            left = [word for word in self._words if word not in chosen]
            if not left:
                break
            tried = [f"{', '.join((*chosen, word)).capitalize()}. {text}" for word in left]
            similarity = self._ranking.similarity(tried)
            at = int(similarity.argmax())
            if similarity[at] <= best:
                break
            best = similarity[at]
            chosen.append(left[at])
            forms.append(tried[at])
        return forms

    def plant(self, oracle: Oracle, texts: Sequence[str]) -> Answer:
        """Plant every text in the form that is least suspicious among those that are retrieved."""
        planted: list[str] = []
        answer = oracle.ask(())
        for text in texts:
            answers = [oracle.ask([*planted, form]) for form in self.forms(text)]
            retrieved = [found for found in answers if found.places[-1] is not None]
            # The longest form is the nearest, if none comes among the first k.
            answer = min(retrieved, key=lambda found: found.suspicion, default=answers[-1])
            planted = list(answer.texts)
        return answer
