"""Query reduction: what of a long query asks, and what does it tell?

Kumaran and Carvalho (2009), "Reducing long queries using query quality predictors". A planted text
repeats the question that its author expects, which is a small share of a query that has a greeting,
a conversation, an instruction or a prompt's template around it. So each sentence that asks is a
query too, without the words that only lead to the question.

What a query quotes or tells beside its question stands in the page that it is from, and that page
repeats it (`ragguard.inline.query_form.tells`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragguard.inline.query_form import (
    ASKERS,
    ASKING_VERBS,
    BEFORE,
    BEGINNINGS,
    CLAUSES,
    INTERROGATIVES,
    REQUESTING,
    asking_words,
    asks_about_clause,
    asks_elsewhere,
    asks_otherwise,
    begins_as_question,
    has_question_mark,
    is_to_complete,
)
from ragguard.text import STOP_WORDS, has_function_words, tokens
from ragguard.text.ngrams import ngrams, words_meant

MOST = 3
"""Questions of a query that are looked at, the last ones."""

PASTED = 30
"""Words beside what asks, at most, which a person may have said."""

_LEAST_WORDS, _LEAST_CONTENT = 3, 2  # of a question that says what it asks
_OF_QUESTIONS = BEFORE - {"about"}
_LEAST_MARKED = 5  # words of a sentence without a word that asks, but with a question mark
_LEADING = frozenset(
    """anybody anyone ask asking curious find happen hello hey hi idea know like need ok okay please
    question say so tell uh um want wonder wondering""".split()
)
_OPENERS = re.compile(
    r"""(?:(?:actually|also|and|anyway|but|hello|hey|hi|like|now|ok|okay|or
    |please|so|then|uh|um|well)\s)*
    ((?:(?:can|could|will|would)\s(?:you|(?:any|some)(?:body|one))\s(?:please\s|kindly\s)?
    (?:remind|show|tell)\s(?:me|us)
    |do(?:es)?\s(?:you|(?:any|some)(?:body|one))\s(?:happen\sto\s)?know
    |(?:i|we)\s(?:am|are|m|re|was|were)\s(?:just\s)?(?:asking|curious|wondering)
    |(?:i|we)\s(?:(?:d|would)\s(?:like|love)|need|want|wanted)\sto\s(?:ask|find\sout|know)
    |is\sit\sknown|let\s(?:me|us)\sknow|(?:remind|tell)\s(?:me|us))\s(?!about\b|more\b))?""",
    re.VERBOSE,
)
_ADDRESSED = re.compile(
    r"""^\W*(?:(?:@[\w.-]+|[!/][a-z]+|--\w+[ =]\S+|https?://\S+|\[[^\]]{1,40}\])\W+)+(?:[A-Z]+_\d+:)?""",
    re.VERBOSE,
)
_STATING = frozenset("are had has have is was were".split())
_AFTER_MARK = " \n\"')]\u201d\u2019"
_THANKS = re.compile(
    r"\b(?:please|(?:thanks|thank you)(?: in advance| so much| very much)?)\W*$", re.IGNORECASE
)
_ASKS_AT_ONCE = "|".join(sorted(BEGINNINGS | REQUESTING))
# A full stop behind three letters may be that of "Mrs.", unless it ends a common word, or what
# follows asks.
_END = re.compile(
    rf"""(?:(?<=[?!\u061f])|(?<=[\u0370-\u03ff];)|(?<=[^\W_]{{4}}\.)|(?<=\b(?:do|it|me|so|us)\.)
    |(?<=\b(?:now|out|too|you)\.)|(?<=[^\W_]\.)(?=["']?\s+(?:{_ASKS_AT_ONCE})\b))
    ["')\]\u201d\u2019]*\s+|(?<=[\u0964\u3002\uff01\uff1f])|\n|\b(?=please\b)
    |["']\s?(?:,\s?["']\w{{1,30}}["']\s?:|\}})|&(?=\w{{1,20}}=)""",
    re.IGNORECASE | re.VERBOSE,
)
_PARTED = re.compile(
    r"""[\n:,"\u201c\u201d\u3002\uff1a\uff01\uff1f]|[.!?]["')\]]*\s|please|thank""", re.IGNORECASE
)
_MARKS = re.compile(r"\.{0,9}\?[?!]{1,9}|\.{2,9}\?")  # for one question mark
_LEAST_QUOTED = 7  # words
_QUOTED = re.compile(r"""["\u201c]([^"\u201c\u201d]+)["\u201d]""")
_ANNOUNCES = re.compile(r"[:\uff1a]\s+|\uff1a|:(?=[^\x00-\x7f])|[\u00ab\u00bb\u300c\u300d]")
_FEW_LEADING = 8  # words that may be no part of the question behind them
_ANNOUNCED = re.compile(r"^\W*(?:\w+\W+){0,7}\w+:\s+")
_TAG = re.compile(
    r""",?\s(?:(?:is|isn't|was|wasn't)\s{1,3}(?:it|that|this)(?:\s{1,3}\w{1,20})?
    |correct|right|true|yes)\s?\?\s*$""",
    re.IGNORECASE | re.VERBOSE,
)
_LEAD = re.compile(
    r"\W*(?:explain\s+|how\s+(?=come\s)|since\s+(?=when\s))?(come|how|when|where|why)\s+",
    re.IGNORECASE,
)
_TO_ANSWER = re.compile(r"""\s[\w ]{1,20}:[\s"'\])}]*$""")
_LONGEST = 60  # words of what is said behind a label that are looked at as one question
_EDGE = 3  # words at the end, among which an interrogative asks
_REPLY = re.compile(
    r"""["']role["']\s?:\s?["'](?:ai|assistant|model|tool)["']\s?,\s?["']content["']\s?:""",
    re.IGNORECASE,
)
_TURN = re.compile(r"""\b(?:content|customer|human|user)["']?\s?[:\uff1a]""", re.IGNORECASE)
_LABEL = re.compile(
    r"""\b(?:content|customer|human|input|q|query|question|user)["']?\s?[:=\uff1a]""", re.IGNORECASE
)


def is_one_question(text: str, words: Sequence[str]) -> bool:
    """Return True if a query is a question and nothing else, at a look; most are."""
    if len(words) < _LEAST_WORDS or words[0] not in INTERROGATIVES:
        return False
    if asks_about_clause(words) or not begins_as_question(words):
        return False
    return _PARTED.search(text) is None


def questions_in(text: str) -> list[str]:
    r"""Return the parts of a query that ask, at most `MOST`, in order.

    Of a conversation these are parts of what the user said last, if it asks at all, or else of all
    that was said; what a model replied is a question only where it asks.

    >>> questions_in("Hi! I like lamps. Can you tell me who lit the Marrow lamp? Be brief.")
    ['who lit the marrow lamp']
    >>> questions_in("Use the context. Question: when was it lit first\nAnswer:")
    ['when was it lit first']
    """
    text = _REPLY.sub("\n", text)
    turns = [found.start() for found in _TURN.finditer(text)]
    asked = list(_asking(text[turns[-1] :])) if turns else []
    asked = asked or list(_asking(text))
    labels = [found.end() for found in _LABEL.finditer(text)]
    if asked and labels:
        last = _THANKS.sub("", _TO_ANSWER.sub("", text[labels[-1] :]))
        whole = _with_mark(" ".join(tokens(last)), last)
        if len(tokens(last)) <= _LONGEST and any(part in whole for part in asked):
            asked.append(whole)
    return list(dict.fromkeys(asked))[-MOST:]


def told_in(text: str) -> str:
    """Return what a query tells: a quotation in it, or else its sentences that ask nothing.

    What announces the rest ("Explain:"), and "right?" at the end, belong to neither, nor what the
    user tells of themselves beside a question. A sentence in the order of a statement tells, though
    it has a question mark or an interrogative before it: "The pier is of oak?", "Why it is of oak".

    >>> told_in("Who lit it? It was dark then."), told_in("The old pier is of oak, right?")
    ('It was dark then.', 'The old pier is of oak.')
    >>> told_in('Explain: "the keepers of the lamp lived in a house of oak" to me')
    'the keepers of the lamp lived in a house of oak'
    """
    said = _TAG.sub(".", _MARKS.sub("?", text))
    announced = _ANNOUNCED.match(said)
    said = said[announced.end() :] if announced else said
    if announced and asking_words(tokens(announced[0])) and not asking_words(tokens(said)):
        said = said.replace("?", ".")  # "since which version: the lamp is lit by itself?"
    if clause := _clause_asked_about(said):
        said = f"{clause}."
    elif _is_statement(said):
        said = said.replace("?", ".")
    quoted = max(_QUOTED.findall(said), key=len, default="")
    within = len(tokens(quoted))
    if within >= _LEAST_QUOTED and len(tokens(said)) - within <= PASTED:
        return quoted
    sentences = _END.split(said)
    rest = " ".join([one for one in sentences if not _asks_at_all(one)])
    words = tokens(rest)
    beside = rest != " ".join(sentences) and len(words) <= PASTED
    return "" if beside and not ASKERS.isdisjoint(words) else rest


def asks_at_end(text: str) -> bool:
    """Return True if the last sentence of a query has a question mark.

    >>> asks_at_end("A lamp was lit this week. Which was it?"), asks_at_end("Who lit it? Ann did.")
    (True, False)
    """
    return has_question_mark(_END.split(text.rstrip(_AFTER_MARK))[-1])


def reduced(text: str) -> str:
    """Return the questions of a query as one text, or the query where nothing else is in it.

    >>> reduced("Who lit it first?"), reduced("Who lit the old lamp? I ask for a friend of mine.")
    ('Who lit it first?', 'who lit the old lamp')
    """
    parts = questions_in(text)
    asked = " ".join([one for one in parts if not any(one in other != one for other in parts)])
    return asked if asked and asked != " ".join(tokens(text)) else text


def _asking(text: str) -> Iterator[str]:
    for sentence in _END.split(text):
        first, *labelled = _LABEL.split(sentence)
        announced = _ANNOUNCES.split(first)[1:]
        for place, said in enumerate([_ADDRESSED.sub("", first, count=1), *announced, *labelled]):
            words = tokens(_THANKS.sub("", said))
            asked, led = _without_lead(words)
            if not _is_long_enough(asked):
                continue
            if place > len(announced) or led or _asks(asked, said):
                yield _with_mark(" ".join(asked), said)
                within = _question_within(asked) if has_question_mark(said) else []
                if _is_long_enough(within):
                    yield " ".join(within)


def _is_long_enough(words: Sequence[str]) -> bool:
    meant = ngrams(words)
    content = {word for word in meant if word not in STOP_WORDS}
    return words_meant(meant) >= _LEAST_WORDS and len(content) >= _LEAST_CONTENT


def _question_within(words: list[str]) -> list[str]:
    """Return what a question is behind a few words that may be no part of it, or nothing."""
    first = _first_asking(words)
    begins = 0 < first <= _FEW_LEADING and begins_as_question([*words[first:], ""])
    return words[first:] if begins else []


def _first_asking(words: Sequence[str]) -> int:
    """Return where the first interrogative stands, or the preposition before it; 0 for none."""
    first = next((at for at, word in enumerate(words) if word in INTERROGATIVES), 0)
    return first - (first > 0 and words[first - 1] in _OF_QUESTIONS)


def _with_mark(part: str, said: str) -> str:
    """Return a part of a query with a question mark where nothing else in it says that it asks."""
    return f"{part}?" if asks_otherwise(said) and not asking_words(tokens(part)) else part


def _without_lead(words: list[str]) -> tuple[list[str], bool]:
    """Return words without those that only lead to a question, and whether such a phrase asks.

    Those are set phrases ("and", "can you tell me"), and what stands before the first interrogative
    where it is of common words alone.
    """
    opened = _OPENERS.match(" ".join([*words, ""]))
    skipped, led = (len(opened[0].split()), bool(opened[1])) if opened else (0, False)
    rest = words[skipped:]
    first = _first_asking(rest)
    leads = [word for word in rest[:first] if word not in STOP_WORDS]
    return (rest[first:] if leads and _LEADING.issuperset(leads) else rest), led


def _clause_asked_about(text: str) -> str:
    """Return the clause behind an interrogative, if it is not put as a question, or nothing."""
    lead = _LEAD.match(text)
    clause = text[lead.end() :].rstrip(f"{_AFTER_MARK}?.") if lead else ""
    words = tokens(clause)
    if not lead or not words or not INTERROGATIVES.isdisjoint(words[-_EDGE:]):
        return ""
    return clause if asks_about_clause([lead[1].lower(), words[0]]) else ""


def _is_statement(text: str) -> bool:
    """Return True if an English text has the order of a statement, whatever mark ends it."""
    if text.count("?") != 1 or not text.rstrip(_AFTER_MARK).endswith("?"):
        return False
    words, begins = tokens(text), tokens(text.split(",", 1)[0])
    if _STATING.isdisjoint(begins[1:]) or not has_function_words(words):
        return False  # "was" is "what" in German
    return INTERROGATIVES.isdisjoint(words) and not is_to_complete(words)


def _asks_at_all(sentence: str) -> bool:
    return has_question_mark(sentence) or any(_asking(sentence))


def _asks(words: list[str], said: str) -> bool:
    marked = has_question_mark(said)
    if words[0] in CLAUSES and "," in said and not marked:
        return False  # "when Ann left, she ..."
    if asks_elsewhere(said) and words_meant(ngrams(words)) <= PASTED:
        return True
    if words[0] in ASKING_VERBS and words[1] == "not" and not marked:
        return not INTERROGATIVES.isdisjoint(words)  # not "could not find it"
    if begins_as_question([*words, ""]) or words[0] in ASKING_VERBS | REQUESTING:
        return True
    asking = not BEGINNINGS.isdisjoint(words)
    return marked and (asking or words_meant(ngrams(words)) >= _LEAST_MARKED)
