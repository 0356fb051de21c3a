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
passages that taught it the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from math import comb

from ragguard.attribution.answer import answer_of, as_text
from ragguard.attribution.claim_decomposition import MOST_CLAIMS, atomic_claims
from ragguard.attribution.ragorigin.support import (
    MIN_SUPPORT,
    STATING_GAIN,
    VERBATIM_GAIN,
    SupportMeter,
    explains,
)
from ragguard.errors import ProxyError
from ragguard.passage import Passage
from ragguard.proxy.base import Proxy
from ragguard.proxy.lexical import LexicalProxy
from ragguard.stems import tokenize
from ragguard.text import MAX_CHARS, both_ends

_STATED = 0.6  # weight times support, of a claim that is stated enough; chosen as `atomic_claims`
_RANKED, _CHANCE = 0.75, 0.01  # how far what ranks first speaks of the question; and by what chance
_IDENTIFIER = re.compile(r"[^\s@]@[^\s@]+\.\w|https?://|\bwww\.|(?:\d[ ()/-]{0,2}){6}")
_LONG = 12  # words: what is shorter is one answer, such as "Arlington, Virginia"


def meter_of_claim(
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
    for said, weight in islice(weights.items(), MOST_CLAIMS):
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
