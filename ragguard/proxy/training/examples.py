"""Training examples: questions whose answer nothing but the context can give.

A model that has met a name in training can answer from memory, and then its likelihood of a
response says little about the passage. So names and numbers are replaced, in context and answer
alike, by ones made up on the spot; copying them from the context is all that helps (the idea is
that of entity substitution, Longpre et al., "Entity-Based Knowledge Conflicts in Question
Answering", 2021). Some contexts carry a second, unrelated text, and some carry nothing but one.
Short lists of made-up facts and words that are said twice come between, at first more often than
later: they teach looking up and copying with few tokens. Some answers stand in a sentence, as a
generator words them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from ragguard.proxy.training.corpus import Corpus, Reading
from ragguard.text import sentences

__all__ = ["Example", "ExampleSource", "cloze", "fact_list", "fresh", "said_twice"]

_NAME = r"[A-Z\u00c0-\u00de][\w'\u2019-]+(?: [A-Z\u00c0-\u00de][\w'\u2019-]+)*"
_NUMBER = r"\d+(?:[.,]\d+)*"
_CANDIDATE = re.compile(rf"\b(?:{_NAME}|{_NUMBER})(?!\w)")
_SHORTEST, _LONGEST = 120, 960
_NEIGHBOURS = 2
_TRIES = 8

_ASKED_NAME = ("who", "what", "which")
_ASKED_NUMBER = ("when", "how many", "what number")

_STARTS = ("B", "D", "F", "G", "H", "K", "L", "M", "N", "P", "R", "S", "T", "V", "Br", "Dr", "Kl")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea")
_MIDDLES = ("l", "m", "n", "r", "s", "t", "v", "d", "nd", "rk", "lm", "st")
_ENDS = ("n", "r", "s", "l", "th", "k", "x", "m", "")

_OF_EXERCISES = (0.6, 0.1)
_OF_LISTS = 0.7
_IN_SENTENCE = 0.25
_SENTENCES = (
    "It is {}.",
    "The answer is {}.",
    "{} is what the passage says.",
    "The passage says that it is {}.",
    "According to the text, it was {}.",
)
_OF_READINGS = 0.5
_REPLACED = 0.5
_SECOND_TEXT = 0.4
_UNRELATED_ONLY = 0.1
_KEYWORDS = 0.5
_KEPT_WORDS = 0.7
_MIXED = 3
_FEWEST_WORDS = 8
_WORDS = (_FEWEST_WORDS, 40)


@dataclass(frozen=True)
class Example:
    """One prompt: what is read, what is asked, and what is answered."""

    context: str
    question: str
    answer: str


def fresh(like: str, rng: Random) -> str:
    """Return a made-up name of as many words, or a number of as many digits, as `like`.

    >>> fresh("Ada Lovelace", Random(1)), fresh("1,874", Random(1))
    ('Husam Brovearam', '3,914')
    """
    if like[0].isdigit():
        first = rng.choice("123456789")
        return first + "".join(
            rng.choice("0123456789") if char.isdigit() else char for char in like[1:]
        )
    return " ".join(_made_up_word(rng) for _ in like.split())


def _made_up_word(rng: Random) -> str:
    word = rng.choice(_STARTS) + rng.choice(_VOWELS)
    for _ in range(rng.choice((1, 1, 2))):
        word += rng.choice(_MIDDLES) + rng.choice(_VOWELS)
    return word + rng.choice(_ENDS)


def cloze(passage: str, rng: Random) -> Example | None:
    """Return a question about a few sentences of `passage`, or None if one cannot be made.

    One name or number of a sentence becomes a question word there, and a fresh one in the
    sentences, which are the context.
    """
    said = [sentence for sentence in sentences(passage.strip()) if sentence]
    at = rng.randrange(len(said)) if said else 0
    found = list(_CANDIDATE.finditer(said[at])) if said else []
    # The first word of a sentence has a capital whether it is a name or not.
    chosen = [match for match in found if match.start() > 0 or match[0][0].isdigit()]
    if not chosen:
        return None
    blank = rng.choice(chosen)
    answers = (fresh(blank[0], rng) for _ in range(_TRIES))
    answer = next((text for text in answers if text not in passage), None)
    if answer is None:
        return None
    context = " ".join(
        said[max(0, at - rng.randint(0, _NEIGHBOURS)) : at + 1 + rng.randint(0, _NEIGHBOURS)]
    )
    asked = rng.choice(_ASKED_NUMBER if blank[0][0].isdigit() else _ASKED_NAME)
    before, after = said[at][: blank.start()].split(), said[at][blank.end() :].split()
    words = [*before[-12:], asked, *after[:12]]
    if rng.random() < _KEYWORDS:
        words = [word for word in words if word == asked or rng.random() < _KEPT_WORDS]
    question = " ".join(words).rstrip(" .,;:!?") + "?"
    return Example(_around(_replaced(context, blank[0], answer), answer, rng), question, answer)


def fact_list(rng: Random) -> Example:
    """Return one to four made-up facts, and a question for one of them.

    >>> fact_list(Random(3)).question
    'What is Drudolmeas?'
    """
    facts = [
        (fresh("Name", rng), fresh(rng.choice(("Name", "Name Name", "100", "1000")), rng))
        for _ in range(rng.randint(1, 4))
    ]
    subject, answer = rng.choice(facts)
    context = " ".join(f"{name} is {value}." for name, value in facts)
    return Example(context, f"What is {subject}?", answer)


def said_twice(words: Sequence[str], rng: Random) -> Example:
    """Return words in a random order, said once and begun again, and a question that goes on.

    >>> said_twice(("a", "b", "c", "d", "e", "f", "g", "h"), Random(0)).context
    'g h d a c f b e h d a c f b'
    """
    mixed = rng.sample(words, len(words))
    at = rng.randint(0, len(mixed) - 6)
    start, length = rng.randint(0, len(mixed) - 6), rng.randint(4, len(mixed))
    return Example(
        " ".join([*mixed, *mixed[start : start + length]]),
        " ".join(mixed[at : at + 3]),
        " ".join(mixed[at + 3 : at + 3 + rng.randint(1, 3)]),
    )


class ExampleSource:
    """Draws examples from a corpus; what is drawn depends on the random numbers alone.

    Args:
        corpus: The texts; at least one record.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._readings: Sequence[Reading] = corpus.readings
        self._passages: Sequence[str] = corpus.passages or tuple(
            dict.fromkeys(reading.context for reading in corpus.readings)
        )

    def draw(self, rng: Random, progress: float = 1.0) -> Example:
        """Return one example.

        Args:
            rng: Decides which.
            progress: From 0 to 1, how much of a training is done: exercises grow fewer.
        """
        first, last = _OF_EXERCISES
        if rng.random() < first + (last - first) * progress:
            return self._exercise(rng)
        example = self._of_texts(rng)
        if rng.random() >= _IN_SENTENCE:
            return example
        answer = rng.choice(_SENTENCES).format(example.answer.rstrip("."))
        return Example(example.context, example.question, answer)

    def _exercise(self, rng: Random) -> Example:
        words = " ".join(rng.choice(self._passages) for _ in range(_MIXED)).split()
        if len(words) < _FEWEST_WORDS or rng.random() < _OF_LISTS:
            return fact_list(rng)
        return said_twice(rng.sample(words, min(len(words), rng.randint(*_WORDS))), rng)

    def _of_texts(self, rng: Random) -> Example:
        if self._readings and rng.random() < _OF_READINGS:
            example = _of_reading(rng.choice(self._readings), rng)
        else:
            example = self._cloze(rng)
        choice = rng.random()
        if choice >= _SECOND_TEXT + _UNRELATED_ONLY:
            return example
        other = self._cloze(rng).context
        if choice < _UNRELATED_ONLY:
            return Example(other, example.question, example.answer)
        pair = [example.context, other]
        rng.shuffle(pair)
        return Example("\n".join(pair), example.question, example.answer)

    def _cloze(self, rng: Random) -> Example:
        for _ in range(_TRIES):
            passage = rng.choice(self._passages)
            example = cloze(passage, rng)
            if example is not None:
                return example
        # A corpus in a script without capitals, say.
        made_up = fact_list(rng)
        context = f"{passage[:_SHORTEST]}\n{made_up.context}"
        return Example(context, made_up.question, made_up.answer)


def _of_reading(reading: Reading, rng: Random) -> Example:
    answer = rng.choice(reading.answers)
    context = reading.context
    whole = _CANDIDATE.fullmatch(answer)
    # A name that the question has too would be replaced in one of them only.
    if whole and answer in context and answer not in reading.question and rng.random() < _REPLACED:
        made_up = fresh(answer, rng)
        context, answer = _replaced(context, answer, made_up), made_up
    return Example(_around(context, answer, rng), reading.question, answer)


def _replaced(text: str, old: str, new: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, text)


def _around(context: str, answer: str, rng: Random) -> str:
    """Return a stretch of the context with the answer in it, from one line to a long passage.

    Short contexts come as often as long ones of twice their length: they teach copying sooner.
    """
    width = round(_SHORTEST * (_LONGEST / _SHORTEST) ** rng.random()) + len(answer)
    if len(context) <= width:
        return context
    at = max(0, context.find(answer)) - rng.randint(0, width - len(answer))
    start = max(0, min(at, len(context) - width))
    return context[start : start + width]
