"""Which claim of a response is traced: the first that the passages read explain. Ours.

1. The answer in it (`ragguard.attribution.answer`).
2. All of it: who plants a passage may word what it has a model say, and so hide a claim behind
   another answer.
3. Of the `atomic_claims` of a long answer the one that those passages state most, or the short
   answer if they state it enough: above `_STATED`, by

       weight of the claim * sum of the support of those read / (1 + others that state it / 5)

   Support counts twice where a passage holds the question word for word; what pages
   that nobody has read state as well belongs to the topic. The lexical proxy measures it, on both
   ends of a very long passage.

Passages may answer a question in words of their own. They speak of it all the same, as far as the
claim's weight goes, where they have an address or six digits of the claim, which is no chance; and
three quarters as much if those read state it and those that rank next do not, beyond chance:

    P(m or more of the k read among the t that state it, of n) <= 0.01    (hypergeometric)

A model that is asked for one thing tells much else, and no likelihood of the whole leads to the
passages that taught it the answer. So a long answer is taken apart by rule (Min et al. 2023,
"FActScore: Fine-grained Atomic Evaluation of Factual Precision in Long Form Text Generation").
Each name or number of a sentence that is not in the query is a claim, or, where a sentence has
none, each run of other words; and where the query offers a choice, each name that it takes from it.
To a question for a yes or no these are the only ones. What a colon follows is a label and no claim.

    weight = kind * (1 + repeated) / 2,    in (0, 1]

`repeated` is the share of the question's content that the sentence repeats, of the last sentence at
least `_LAST`, and of one that says nothing else ("It is Ada Crane") as much as of the best one.
`kind` is 1 for names and numbers and `_WORDS` for the rest: a word that begins a sentence has its
capital from that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import compress, islice
from math import comb

from ragguard.attribution.answer import answer_of, as_text
from ragguard.attribution.claim import COMMON_STEMS, LEADING, LONGEST_BRIDGE, POLARITY, PUNCTUATION
from ragguard.attribution.ragorigin.support import (
    MIN_SUPPORT,
    STATING_GAIN,
    VERBATIM_GAIN,
    SupportMeter,
    explains,
)
from ragguard.attribution.statement import Question
from ragguard.errors import ProxyError
from ragguard.inline.query_form import ASKING_VERBS
from ragguard.passage import Passage
from ragguard.proxy.base import Proxy
from ragguard.proxy.lexical import LexicalProxy
from ragguard.stems import STOP_STEMS, stems, stems_of, tokenize
from ragguard.text import MAX_CHARS, both_ends, sentences

# Chosen on one half of the answers of `benchmarks.worded`.
_STATED, _WORDS, _LAST = 0.6, 0.6, 0.5
_MOST_CLAIMS = 50
_RANKED, _CHANCE = 0.75, 0.01
_IDENTIFIER = re.compile(r"[^\s@]@[^\s@]+\.\w|https?://|\bwww\.|(?:\d[ ()/-]{0,2}){6}")
_LONG = 12  # words: what is shorter is one answer, such as "Arlington, Virginia"
_AROUND = f"{PUNCTUATION}*_\u2018\u2019\u201c\u201d"
_ENDS = ",;:"  # of a run
_WITHIN = STOP_STEMS - {"or"}
_DECIDED = re.compile(  # "yes" and "no" by themselves, but not "no other source"
    r"\b(?i:yes|no|true|false)\b(?=[\s*_\"'\u201d]*(?:[,.;:!?)\u2013\u2014-]|$))", re.MULTILINE
)


def meter_of(
    proxy: Proxy, query: str, response: str, read: Sequence[Passage], others: Sequence[Passage] = ()
) -> SupportMeter:
    """Return a meter of the claim of a response that is traced.

    `read` are the passages that the generator saw, `others` those that rank next. What is too long
    for the proxy leads nowhere.
    """
    answer = answer_of(response, query)
    meter = SupportMeter(proxy, query, answer)
    if meter.wordless or _leads(meter, read):
        return meter
    if answer != response:
        whole = SupportMeter(proxy, query, response)
        if _leads(whole, read):
            return whole
    text = as_text(response)
    each = {answer: 1.0} if len(tokenize(text)) < _LONG else atomic_claims(query, text)
    ends = ([both_ends(one.text, MAX_CHARS) for one in some] for some in (read, others))
    stated = most_stated(query, each, *ends)
    return SupportMeter(proxy, query, stated[0], least_coverage=stated[1]) if stated else meter


def _leads(meter: SupportMeter, read: Sequence[Passage]) -> bool:
    try:
        return meter.reproduces(read)
    except ProxyError:  # too long for the proxy; any other failure comes again
        return False


def most_stated(
    query: str, weights: Mapping[str, float], read: Sequence[str], others: Sequence[str]
) -> tuple[str, float] | None:
    """Return which of the claims the texts read state most, if enough, and its `least_coverage`."""
    best, chosen = _STATED, None
    for said, weight in islice(weights.items(), _MOST_CLAIMS):
        meter = SupportMeter(LexicalProxy(), query, said)
        meter.least_coverage = least = weight * _speaks_of_it(meter, read, others)
        support = meter.support(read)
        if not explains(support):
            continue
        counted = support * (1.0 + (meter.carried(read) >= VERBATIM_GAIN))
        beside = float((meter.support(others) >= MIN_SUPPORT).sum())
        value = weight * float(counted[support >= MIN_SUPPORT].sum()) / (1.0 + beside / 5.0)
        if value > best:
            best, chosen = value, (said, least)
    return chosen


def _speaks_of_it(meter: SupportMeter, read: Sequence[str], others: Sequence[str]) -> float:
    """Return how far what states a claim speaks of the question, whatever its words, in [0, 1]."""
    if _IDENTIFIER.search(meter.claim):
        return 1.0
    k, n = len(read), len(read) + len(others)
    m = int((meter.gains(read) >= STATING_GAIN).sum())
    if not m or comb(k, m) > _CHANCE * comb(n, m):  # too few, whoever else does
        return 0.0
    t = m + int((meter.gains(others) >= STATING_GAIN).sum())
    ways = sum(comb(k, i) * comb(n - k, t - i) for i in range(m, min(k, t) + 1))
    return _RANKED if ways <= _CHANCE * comb(n, t) else 0.0


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
