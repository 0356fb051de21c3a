"""Which claim of a response is traced: the first that the passages read explain. Ours.

1. The answer in it (`ragguard.attribution.answer`).
2. All of it: who plants a passage may word what it has a model say, and so hide a claim behind
   another answer.
3. Of the `claims` of a long answer the one that those passages state most: it has the details of
   honest pages around it. By

       weight of the claim * sum of the support of those read / (1 + others that state it / 5),

   which must be above `_STATED`. Support counts twice where a passage holds the question word for
   word (`trigger`); what pages that nobody has read state as well belongs to the topic. The
   lexical proxy measures it, of the likeliest claims alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from ragguard.attribution.answer import answer_of, as_text
from ragguard.attribution.claims import claims
from ragguard.attribution.ragorigin.support import MIN_SUPPORT, SupportMeter, explains
from ragguard.attribution.ragorigin.trigger import VERBATIM_GAIN
from ragguard.passage import Passage
from ragguard.proxy.base import Proxy
from ragguard.proxy.lexical import LexicalProxy
from ragguard.stems import tokenize

_STATED = 0.6  # chosen on one half of the answers of `benchmarks.worded`
_MOST_CLAIMS = 50
_LONG = 12  # words: what is shorter is one answer, such as "Arlington, Virginia"


def meter_of(
    proxy: Proxy, query: str, response: str, read: Sequence[Passage], others: Sequence[Passage] = ()
) -> SupportMeter:
    """Return a meter of the claim of a response that is traced.

    `read` are the passages that the generator saw, `others` those that rank next.
    """
    answer = answer_of(response, query)
    meter = SupportMeter(proxy, query, answer)
    if meter.wordless or meter.reproduces(read):
        return meter
    if answer != response:
        whole = SupportMeter(proxy, query, response)
        if whole.reproduces(read):
            return whole
    stated = most_stated(query, response, read, others)
    return SupportMeter(proxy, query, stated) if stated else meter


def most_stated(
    query: str, response: str, read: Sequence[Passage], others: Sequence[Passage]
) -> str:
    """Return the claim of a response that the passages read state most, or "" if none is enough."""
    best, chosen = _STATED, ""
    text = as_text(response)
    if len(tokenize(text)) < _LONG:
        return chosen
    texts, rest = ([passage.text for passage in some] for some in (read, others))
    for said, weight in islice(claims(query, text).items(), _MOST_CLAIMS):
        meter = SupportMeter(LexicalProxy(), query, said)
        support = meter.support(texts)
        if not explains(support):
            continue
        counted = support * (1.0 + (meter.carried(texts) >= VERBATIM_GAIN))
        value = weight * float(counted[support >= MIN_SUPPORT].sum())
        if value > best:
            value /= 1.0 + float((meter.support(rest) >= MIN_SUPPORT).sum()) / 5.0
            if value > best:
                best, chosen = value, said
    return chosen
