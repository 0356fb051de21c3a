"""Claim decomposition: what a text says, one by one. By rule; ours.

After Min et al. (2023), "FActScore: Fine-grained Atomic Evaluation of Factual Precision in Long
Form Text Generation", who have a language model do it. Each name or number of a sentence that is
not in the query is a claim, or, where a sentence has none, each run of other words; and where the
query offers a choice, each name that it takes from it. To a question for a yes or no these are the
only ones. What a colon follows is a label and no claim.

    weight = kind * (1 + repeated) / 2,    in (0, 1]

`repeated` is the share of the question's content that the sentence repeats, of the last sentence at
least `_LAST`, and of one that says nothing else ("It is Ada Crane") as much as of the best one.
`kind` is 1 for names and numbers and `_WORDS` for the rest: a word that begins a sentence has its
capital from that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from itertools import compress

from ragguard.attribution.claim import COMMON_STEMS, LEADING, LONGEST_BRIDGE, POLARITY, PUNCTUATION
from ragguard.attribution.statement import Question
from ragguard.inline.query_form import ASKING_VERBS
from ragguard.stems import STOP_STEMS, stems, stems_of, tokenize
from ragguard.text import sentences

MOST_CLAIMS = 50
"""Claims of a text that are looked at, the first ones."""

_WORDS, _LAST = 0.6, 0.5  # shares; chosen on one half of the answers of `benchmarks.worded`
_AROUND = f"{PUNCTUATION}*_\u2018\u2019\u201c\u201d"
_ENDS = ",;:"  # of a run
_WITHIN = STOP_STEMS - {"or"}
_DECIDED = re.compile(  # "yes" and "no" by themselves, but not "no other source"
    r"\b(?i:yes|no|true|false)\b(?=[\s*_\"'\u201d]*(?:[,.;:!?)\u2013\u2014-]|$))", re.MULTILINE
)


def atomic_claims(query: str, text: str) -> dict[str, float]:
    """Return what a text says one by one, and how likely each is the answer, the likeliest first.

    >>> said = "The survey was led by Ada Crane. It was held in June 1921."
    >>> atomic_claims("Who led the survey?", said)
    {'Ada Crane': 1.0, 'June 1921': 0.75}
    >>> atomic_claims("Is the bridge open?", "It was built in 1921. So yes, it is open.")
    {'yes': 1.0}
    """
    asked = tokenize(query)
    choice = "or" in asked
    if asked[:1] and asked[0] in ASKING_VERBS and not choice:
        return {decided[0]: 1.0 for decided in [_DECIDED.search(text)] if decided}
    question = Question(stems(query), ())  # in order: sums of floats depend on it
    words = question.words
    said = [one for line in text.split("\n") for one in sentences(line) if one.strip()]
    read = list(map(set, stems_of(said)))
    shares = list(map(question.share, read))
    found: dict[str, float] = {}
    for sentence, its, share in zip(said, read, shares, strict=True):
        phrases = list(_phrases(sentence, words, choice=choice))
        repeated = max(share, _LAST * (sentence is said[-1]))
        # One that says a phrase and nothing else.
        if len(phrases) == 1 and its <= words.union(COMMON_STEMS, stems(phrases[0][0])):
            repeated = max(repeated, *shares)
        for phrase, kind in phrases:
            found[phrase] = max(found.get(phrase, 0.0), kind * (1.0 + repeated) / 2.0)
    return dict(sorted(found.items(), key=lambda claimed: -claimed[1]))


def _phrases(sentence: str, asked: Set[str], *, choice: bool) -> Iterator[tuple[str, float]]:
    """Yield the claims of a sentence, each with its kind."""
    pieces = sentence.split()
    words = list(map(set, stems_of(pieces)))
    first = next((at for at, found in enumerate(words) if found), 0)
    named = [any(c.isupper() or c.isdigit() for c in piece) for piece in pieces]
    # What a number counts or a name possesses, as in `claim`.
    follows = [False, *[bool(LEADING.search(piece)) for piece in pieces]]
    new = [not found <= COMMON_STEMS | POLARITY | asked for found in words]
    names = [a and (b or c) for a, b, c in zip(new, named, follows, strict=False)]
    for begin, end in _runs(pieces, words, names if any(names) else new, first):
        begins = (begin, end) == (first, first + 1) and not any(map(str.isdigit, pieces[first]))
        kind = _WORDS if begins or not any(names) else 1.0
        yield " ".join(pieces[begin:end]).strip(_AROUND), kind
    if choice:
        taken = [
            a and not asked.isdisjoint(b - COMMON_STEMS) for a, b in zip(named, words, strict=True)
        ]
        for begin, end in _runs(pieces, words, taken, first):
            yield " ".join(pieces[begin:end]).strip(_AROUND), 1.0


def _runs(
    pieces: Sequence[str], words: Sequence[Set[str]], chosen: Sequence[bool], first: int
) -> Iterator[tuple[int, int]]:
    """Yield where runs of chosen pieces begin and end; a label is none.

    A comma ends one, but not in a date, and so does a dash. Up to two function words may stand
    within, but not behind the first word, which may have its capital from that.
    """
    begin = end = -1  # of the run that may go on
    for place in [*compress(range(len(pieces)), chosen), len(pieces)]:
        within = words[end:place]
        ends = _ENDS[1:] if place < len(pieces) and pieces[place][0].isdigit() else _ENDS
        goes_on = (
            -1 < begin < place < len(pieces)
            and not any(piece[-1] in ends for piece in pieces[end - 1 : place])
            and len(within) <= (LONGEST_BRIDGE if end > first + 1 else 0)
            and all(found and found <= _WITHIN for found in within)
        )
        if not goes_on:
            if begin >= 0 and not pieces[end - 1].endswith(":"):
                yield begin, end
            begin = place
        end = place + 1
