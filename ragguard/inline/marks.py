"""Marks of an attack that whoever asks cannot arrange.

Whoever reports an answer can copy the question from the page that they want gone: that the page
repeats it is then their doing. But they cannot make the page ask, as a planted text in the form of
PoisonedRAG does (S + I), nor address the language model. Honest pages tell, or list many questions.
So a repetition counts if the passage asks what it repeats and nothing else. Prompt injection counts
unless a passage beside it, which nobody accuses, speaks so too: some pages are about such machines.
Nor can they change how a page is written (`features.manner`): of honest pages 0 to 0.7 % are so
clearly written as planted ones are, all through, as counts here.

Where one in twenty of the passages beside it has another question for its heading, the only one
with this question for its heading shows no mark, if nothing in its manner speaks against it. But no
page is written so that the question stands in small letters, as somebody types it, before a text
that gives the names in it their capitals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragguard.inline.evidence import gather
from ragguard.inline.features import SIGNALS
from ragguard.inline.features.manner import manner_of
from ragguard.inline.features.verbatim import is_whole, longest_run
from ragguard.inline.pipeline import ConformalFilter
from ragguard.inline.query_form import ASKING_VERBS, BEFORE, INTERROGATIVES, QUESTION_MARK, TELLING
from ragguard.inline.scoring import BY_HAND
from ragguard.inline.tokens import TokenizedQuery, leading_label, tokenize_passage, tokenize_query
from ragguard.passage import Passage
from ragguard.text import MAX_CHARS, STOP_WORDS, WORD, split_words, tokens
from ragguard.text.lines import body
from ragguard.text.ngrams import ngrams

_MORE_VERBS = frozenset("may might must shall will".split())  # which names and months are, too
_OF_TIME = frozenset("when where why".split())
_TELLING = TELLING | {"most", "to"}  # as in "when most had left", "how to lift it"
_ASKED = re.compile(r"\?(?!\w)|[\uff1f\u061f\u037e]")  # and not within an address
_FIRST_END = re.compile(r"(?<!\d)[.!](?!\w)|\?(?!\w)|[\uff1f\u061f\u037e\u3002]")
_HEADING_CHARS = 200
_HEADED = 0.05  # of the texts beside a page; chosen on the half that is not reported
_CLOSING = " \t\r\n\"')\u201d\u2019"
_MORE_CHARS = 40  # around the letters of a question: a label, signs
_WRITTEN_SO = 1.5  # nats, of a passage as a whole
_INJECTION, _MANNER = SIGNALS.index("prompt_injection"), SIGNALS.index("manner")
_CAPITAL_WITHIN = re.compile(r"(?:(?<=[a-z] )|(?<=[a-z], ))[A-Z][^\W_]+")


def mark_p_values(
    gate: ConformalFilter,
    query: str,
    passages: Sequence[Passage],
    accused: NDArray[np.bool_],
    *,
    beside: Sequence[str] = (),
) -> NDArray[np.float64]:
    """Return the conformal p-value of "this query is clean", by such marks of each passage alone.

    Compared is with whole queries, so that what one in ten clean queries retrieves is no mark.
    `accused`, of shape (k,), says of which of the first passages; those from k on are the
    reference. `beside` are texts found for the query that nobody accuses. float64 of shape (k,), in
    (0, 1]; 1 for a passage that is not accused, or has no mark.
    """
    asked, k = tokenize_query(query), len(accused)
    calibration = gate.calibration_for(k, with_reference=len(passages) > k, naming=asked.names)
    scored = gather(query, passages if calibration.with_reference else passages[:k], k)
    injection = BY_HAND["prompt_injection"]
    (weight,) = injection.weights.values()
    addressed = injection.bias + weight * scored.signals[:, _INJECTION]
    found = np.ones(k)
    p_values = [calibration.p_value(nats, k) for nats in scored.suspicion.tolist()]
    if not any(tokenize_passage(text).injection for text in beside):
        for row in np.flatnonzero(scored.signals[:k, _INJECTION] * accused).tolist():
            found[row] = calibration.p_value(float(addressed[row]), k)
    looked_at = [(row, passages[row].text) for row in np.flatnonzero(accused).tolist()]
    for row, text in looked_at:
        if is_written_as_planted(text):
            found[row] = min(found[row], p_values[row])
    # One question by itself after the other: a second one must not take a heading's excuse away.
    for question in (asked, *asked.reduced):
        headings = _are_headings_usual(question, beside) and (
            sum(asks(question, text) for text in {passage.text for passage in passages}) == 1
        )
        for row, text in looked_at:
            usual = headings and not scored.signals[row, _MANNER]
            if asks(question, text, headings=usual):
                found[row] = min(found[row], p_values[row])
    return found


def shows_one(query: str, text: str) -> bool:
    """Return True if a passage shows one of the marks by itself, whatever stands beside it."""
    return asks_or_orders(query, text) or is_written_as_planted(text)


def asks_or_orders(query: str, text: str) -> bool:
    """Return True if a passage asks the question and nothing else, or speaks to the model."""
    asked = tokenize_query(query)
    said = any(asks(question, text) for question in (asked, *asked.reduced))
    return said or tokenize_passage(text).injection > 0.0


def is_written_as_planted(text: str) -> bool:
    """Return True if a passage is all through, and clearly, written as planted ones are."""
    return manner_of(text, whole=True) >= _WRITTEN_SO


def asks(query: TokenizedQuery, text: str, *, headings: bool = False) -> bool:
    """Return True if a passage begins or ends with the question, and asks it and nothing else.

    Nine tenths of the question's words stand there in a row. At the beginning these are a question
    if they begin as one ("who lit", "in what year", "is there", but not "when Ann lit", "how to
    lift" nor with the capitals of a title) or end with a question mark; at the end only with the
    mark. Any other mark is of another question. Where pages have `headings`, a mark behind the
    question at the beginning says nothing. Lines around the text, such as a title, are read past.

    >>> query = tokenize_query("Who lit the Marrow lamp?")
    >>> asks(query, "Q: who lit the Marrow lamp? Ann did."), asks(query, "Ann lit the Marrow lamp.")
    (True, False)
    >>> asks(tokenize_query("When the war was over"), "When the war was over they met again.")
    False
    """
    forms = dict.fromkeys((text, body(text))) if "\n" in text else [text]
    return any(_asks(query, one, headings=headings) for one in forms)


def _asks(query: TokenizedQuery, text: str, *, headings: bool) -> bool:
    passage = tokenize_passage(text)
    length, start = longest_run(query.sequence, passage)
    if not is_whole(length, query):
        return False
    run = query.sequence[start : start + length]
    lead = leading_label(passage.sequence, query.distinct)
    chars = 2 * sum(map(len, run)) + _MORE_CHARS
    if not all(_ends_with(before[-chars:], run) for before in _ASKED.split(text)[:-1]):
        return False
    if any(passage.sequence[at : at + length] == run for at in range(lead + 1)):
        if _is_typed(text[:MAX_CHARS], lead, length):
            return True
        before, mark, _ = QUESTION_MARK.sub("?", text[:chars]).partition("?")
        if mark and _ends_with(before, run):
            return not headings
        return _begins_as_one(run) and not _is_title(text[:MAX_CHARS], lead, length)
    closing = text[-chars:].rstrip(_CLOSING)
    return bool(QUESTION_MARK.match(closing[-1:])) and _ends_with(closing, run)


def _begins_as_one(run: Sequence[str]) -> bool:
    first, second = run[1:3] if run[0] in BEFORE else run[:2]
    if first in ASKING_VERBS:
        return first == run[0] and second != "not"
    if first in _OF_TIME:
        return second in ASKING_VERBS or second in _MORE_VERBS
    return first in INTERROGATIVES and second not in _TELLING


def _are_headings_usual(query: TokenizedQuery, beside: Sequence[str]) -> bool:
    headed = sum(_is_headed(text) and not asks(query, text) for text in beside)
    return headed > 0 and headed >= _HEADED * len(beside)


def _is_headed(text: str) -> bool:
    """Return True if the first sentence of a text ends with a question mark."""
    end = _FIRST_END.search(text[:_HEADING_CHARS])
    return end is not None and QUESTION_MARK.match(end[0]) is not None


def _is_typed(text: str, lead: int, length: int) -> bool:
    """Return True if words are in small letters, one of which the rest always gives a capital.

    They are `length` words of a passage, behind `lead` that do not count.
    """
    words = list(WORD.finditer(text))[lead:]
    head, rest = words[:length], [word[0] for word in words[length:]]
    if len(head) < length or any(word[0] != word[0].lower() for word in head):
        return False
    names = {name.lower() for name in _CAPITAL_WITHIN.findall(text, head[-1].end())}
    return not names.difference(rest, STOP_WORDS).isdisjoint(word[0] for word in head)


def _is_title(text: str, lead: int, length: int) -> bool:
    """Return True if words have the capitals of a title, as of a film: "Who Framed Ann is ..."."""
    words = split_words(text)[lead : lead + length]
    large = [word for word in words if word.lower() not in STOP_WORDS]
    return bool(large) and all(
        word[0].isupper() or word[0].isdigit() for word in [words[0], *large]
    )


def _ends_with(text: str, run: Sequence[str]) -> bool:
    words = ngrams(tokens(text))
    # One word more than the run may stand before the question mark.
    ends = [words[: len(words) - more][-len(run) :] for more in (0, 1)]
    return any(tuple(end) == tuple(run) for end in ends)
