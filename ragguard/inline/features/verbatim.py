"""Word for word: the question's longest run in a passage, and its runs at the passage's ends.

Reference: PoisonedRAG's black-box attack (Zou et al. 2025) plants S + I, the question and a text
that answers it and says its words again; others put it behind a few words, or in passing. A page
that answers says the question's words as well, but for those that ask: what begins with them and
goes on is a sentence, where a heading ends. Of pages that ask it is expected (`page_form`).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from ragguard.inline.features.coverage import FEW_WORDS, Match, idf_coverage, rescale
from ragguard.inline.page_parts import questions
from ragguard.inline.query_form import (
    ASKING_VERBS,
    asks_about_clause,
    begins_as_question,
    is_to_complete,
)
from ragguard.inline.tokens import ENDS, LABELS, TokenizedPassage, TokenizedQuery, leading_label
from ragguard.text import STOP_WORDS, WORD, tokens
from ragguard.text.lines import list_mark, unwrapped

_WHOLE, _WHOLE_WORDS = 0.9, 3  # of the words, and words at least, that are the question in one run
_LEAST_BOUNDARY = 2  # words: one alone says nothing
_LONG_BOUNDARY = 5  # words
_LONG_QUESTION, _SOME_QUESTION = 6, 4  # words, anywhere in a page, and in a short text
_PAGE = 3  # times the words of the question: what is longer is a page, not a short text
# From a share that says nothing to one that says all there is to say.
_BOUNDARY = (0.3, 0.7)
_BOUNDARY_HELD = (0.7, 1.0)
_BOUNDARY_REST = (0.0, 0.3)
_ANSWER = 0.3  # what the words say with which a sentence begins that answers
_BREAK = re.compile(r"[.:;?!\n]")
_POINT = re.compile(r" (?:that|this|which) (?:is|was|explains)$")
_PADDED = 20  # characters for each word, which no prose has
_TITLE = 3  # words, of one that stands in front of a question
_OPENING = " \t\"'\u2018\u2019\u201c\u201d\u00ab("
_STOPPED = (".", "!", "\n", "\u3002", "-", "\u2013", "\u2014")
_IN_LISTS = ("[", "{", "|", '",', "',")
_RELATIVE = frozenset("which who whom whose".split())
_ASKED_BEHIND = (
    STOP_WORDS - frozenset("all he one she they those".split())
    | LABELS
    | frozenset("asking asks wonder wondered wondering wonders".split())
)
_HEADING = 500  # characters; what has no break until then is a sentence


def quotes(query: TokenizedQuery, passage: TokenizedPassage) -> bool:
    """Return True if the whole question, or nearly, stands in a passage in one run."""
    return is_whole(longest_run(query.sequence, passage)[0], query)


def is_whole(length: int, query: TokenizedQuery) -> bool:
    """Return True if so many words in one run are the whole question, or nearly."""
    return length >= max(_WHOLE_WORDS, _WHOLE * len(query.sequence))


def longest_run(query: Sequence[str], passage: TokenizedPassage) -> tuple[int, int]:
    """Return length and start (in the question) of its longest word-for-word run in a passage."""
    best = start = first = 0
    joined = passage.joined
    while first < len(query):
        # A run ends where a word is not in the passage at all, so only the stretches between
        # such words can hold one.
        stop = first
        while stop < len(query) and query[stop] in passage.distinct:
            stop += 1
        while stop - first > best:
            end = first + best + 1
            if best == 0 or f" {' '.join(query[first:end])} " in joined:
                best, start = best + 1, first
            else:
                first += 1
        first = stop + 1
    return best, start


def boundary_runs(query: TokenizedQuery, sequence: Sequence[str]) -> tuple[int, int]:
    """Return with how many words of a run of the question a passage begins and ends.

    A label does not count, and a run shorter than two words is none. Of a passage that is one
    run all of it counts as its beginning.

    >>> from ragguard.inline.tokens import tokenize_query
    >>> query = tokenize_query("who built the old pier")
    >>> boundary_runs(query, "q who built it ann did on the old pier".split())
    (2, 3)
    """
    lead = leading_label(sequence, query.distinct)
    begins = _prefix(query.sequence, sequence[lead : lead + len(query.sequence)])
    left = len(sequence) - lead - begins
    backwards = sequence[-1 : -min(left, len(query.sequence)) - 1 : -1] if left else ()
    return begins, _prefix(query.sequence[::-1], backwards)


def _prefix(query: Sequence[str], words: Sequence[str]) -> int:
    """Return how long the longest prefix of `words` is that is a run of the question."""
    longest = 0
    for start in range(len(query)) if words and words[0] in query else ():
        if len(query) - start <= longest:
            break
        length = 0
        for asked, said in zip(query[start:], words, strict=False):
            if asked != said:
                break
            length += 1
        longest = max(longest, length)
    return longest if longest >= _LEAST_BOUNDARY else 0


def verbatim_signals(match: Match) -> dict[str, float]:
    """Return the signals of the runs of the question in a passage.

    - `verbatim_question`: 1 if the whole question, or nearly, stands there in one run.
    - `verbatim_at_boundary`: 1 if that run begins the passage, a label such as "Q:" or "FAQ 3."
      aside, or ends it, or asks in passing; 0.3 if it only begins an answer, or ends one: "that is
      why x".
    - `boundary_overlap`: how much of the question the runs hold with which the passage begins and
      ends, in words and in content words weighed by rarity, times how many of those stand outside
      them as well; less if they begin an answer.
    """
    if match.share <= FEW_WORDS:
        return {}
    query, passage = match.query, match.passage
    asked, said = query.sequence, passage.sequence
    length, start = longest_run(asked, passage)
    if length < _LEAST_BOUNDARY:
        return {}
    signals = {"boundary_overlap": _boundary_overlap(match)}
    if is_whole(length, query):
        inside = asked[start : start + length]
        stretch, joined = f" {' '.join(inside)} ", passage.joined
        before = joined[: joined.index(stretch)]
        # A heading and the question, where a page breaks off, hold no answer to it.
        answers = len(said) >= 2 * len(asked) or match.outside(inside) > 0.0
        ends = answers and joined.endswith(stretch)
        lead = leading_label(said, query.distinct)
        begins = len(before.split()) <= lead
        answer = begins and not ends and begins_answer(query, passage, lead + length)
        # It ends in its own point, which is the question: "that is why x".
        concludes = ends and not begins and _POINT.search(before) and asks_about_clause(inside)
        signals["verbatim_question"] = 1.0
        placed = begins or ends or _is_asked_within(query, passage, before, inside)
        signals["verbatim_at_boundary"] = _ANSWER if answer or concludes else float(placed)
    return signals


def _is_asked_within(
    query: TokenizedQuery, passage: TokenizedPassage, before: str, inside: Sequence[str]
) -> bool:
    """Return True if a passage asks a long question in passing.

    A page does so anywhere; a short text, or for a question of four words or five, behind what is
    no title: "The answer to ... is Ann", but not "Weekly news quiz. ...". What does not begin as a
    question does must have a mark there, or in the query, as the sentence of a page that was pasted
    hardly has: "The lamp, which was lit in 1874, ...".
    """
    if query.length < _SOME_QUESTION or query.names or "to" in query.sequence[1:2]:
        return False  # "how to light it" is a name
    page = query.length >= _LONG_QUESTION and len(passage.sequence) >= _PAGE * len(inside)
    if not (page or _is_led_to(query, passage, before.split(), inside)):
        return False
    asks = not query.asking.isdisjoint(inside)
    begins = begins_as_question(inside) or inside[0] in query.asking & ASKING_VERBS
    if begins or (asks and query.marked):
        return True
    return (asks or query.asks_otherwise) and passage.written.once(_asks)


def _is_led_to(
    query: TokenizedQuery,
    passage: TokenizedPassage,
    before: Sequence[str],
    inside: Sequence[str],
) -> bool:
    """Return True if what asks stands behind other words that are no title or label of records.

    A title has a line of its own, or ends with a stop or dash behind three words or more and asks
    nothing; with a colon it has four words or more, the last with a capital; without any mark the
    question begins with one. Words that only go on do not ask ("the man who built it", "it was
    built by"), nor does the user's own sentence. Where something else is read as the question
    nobody can tell.
    """
    if passage.written is not passage:
        return True
    if before[-1:] == [query.behind]:
        return False
    if len(passage.shown) > ENDS:  # the work is bounded, and what is padded is no page
        return len(passage.shown) > _PADDED * len(passage.sequence)
    shown = passage.shown.replace("\u00a0", " ")
    place = _place(shown, len(before))
    text, begins = shown[:place], shown[place : place + 1]
    lead = text.rstrip(_OPENING)
    if lead[-1:] in _STOPPED:
        return lead[-1:] != "\n" and (len(before) < _TITLE or "?" in lead)
    if lead[-1:] == ":":
        label = re.split(r"[.!?\n]", lead)[-1].split()
        return lead[-2:-1].isalnum() and (len(label) <= _TITLE or label[-1][0].islower())
    if lead.endswith(_IN_LISTS):
        return False
    bare = lead[-1:].isalnum() and begins.isupper()  # a title without a mark
    goes_on = (lead[-1:].isalnum() or lead[-1:] == ",") and _may_be_clause(inside)
    return not (text.endswith(" ") and (bare or goes_on)) or before[-1] in _ASKED_BEHIND


def _may_be_clause(words: Sequence[str]) -> bool:
    """Return True if words that ask may go on with a sentence: "who lit it", "on whose pier"."""
    return words[0] in _RELATIVE | ASKING_VERBS or words[1] in ("whom", "whose")


def _asks(passage: TokenizedPassage) -> bool:
    return questions(passage.shown) != ""


def begins_answer(query: TokenizedQuery, passage: TokenizedPassage, words: int) -> bool:
    """Return True if a passage begins with a sentence that says no more of the question than any.

    That is one that begins with the question's words, but none that makes it a question, and goes
    on behind them; behind a name in small letters, a comma or a bracket.

    Args:
        query: The question, or what asks nothing, as a name does; of what is to be completed
            ("the keeper was called") no sentence is an answer.
        passage: The passage; one in which something else was read as the question's words has none.
        words: With how many words it begins, a label included, that are the question's.

    >>> from ragguard.inline.tokens import tokenize_passage, tokenize_query
    >>> query = tokenize_query("who was the keeper of the pier")
    >>> begins_answer(query, tokenize_passage("The keeper of the pier was Ann."), 5)
    True
    >>> begins_answer(query, tokenize_passage("The keeper of the pier: Ann."), 5)
    False
    >>> name, pages = tokenize_query("the old pier"), ("The old pier is long.", "The old pier Ann.")
    >>> [begins_answer(name, tokenize_passage(page), 3) for page in pages]
    [True, False]
    """
    said = passage.sequence[:words]
    asks = not query.asking.isdisjoint(said) or (query.asks_otherwise and is_whole(words, query))
    if asks or passage.written is not passage:
        return False
    text = unwrapped(passage.shown.lstrip()[:_HEADING])
    ends = _BREAK.search(text, list_mark(text))
    text = text[: ends.start()] if ends else text
    sentence = tokens(text)
    if len(sentence) <= words or tuple(sentence[:words]) != said:
        return False
    if query.asking:
        return True
    return not is_to_complete(query.sequence) and _goes_on(text, words)


def _goes_on(sentence: str, words: int) -> bool:
    """Return True if what follows the first words of a sentence does not begin another one."""
    place = _place(sentence, words)
    before, after = sentence[:place], sentence[place : place + 1]
    return len(tokens(before)) == words and (after.islower() or before.rstrip()[-1:] in ("(", ","))


def _place(text: str, words: int) -> int:
    """Return where what follows the first words of a text begins."""
    starts = [word.start() for word in WORD.finditer(text)]
    at = bisect_left(starts, words, key=lambda start: len(tokens(text[:start])))
    return starts[at] if at < len(starts) else len(text)


def _boundary_overlap(match: Match) -> float:
    query, said = match.query, match.passage.sequence
    begins, ends = boundary_runs(query, said)
    lead = leading_label(said, query.distinct)
    overlap = begins + ends
    if overlap <= _BOUNDARY[0] * len(query.sequence):
        return 0.0
    words = (*said[: begins + lead], *said[len(said) - ends :])
    answer = begins and begins_answer(query, match.passage, lead + begins)
    return (
        (_ANSWER if answer else 1.0)
        * min(1.0, overlap / _LONG_BOUNDARY)
        * rescale(overlap / len(query.sequence), _BOUNDARY)
        * rescale(idf_coverage(words, match.weights), _BOUNDARY_HELD)
        * rescale(match.outside(words), _BOUNDARY_REST)
    )
