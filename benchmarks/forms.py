"""Question forms: how a poison text carries the question so that it is retrieved.

PoisonedRAG's black-box attack puts the question in front of the text ("prepend"). The others are
what an attacker would try next, once somebody looks for that. Forms that draw at random draw from
the question and the text alone, so they are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from ragguard.text import STOP_WORDS


def plain(question: str, text: str) -> str:
    """Leave the text alone: it must be retrieved for what it says.

    >>> plain("Who built it?", "Ann did.")
    'Ann did.'
    """
    del question
    return text


def prepend(question: str, text: str) -> str:
    """Put the question in front (PoisonedRAG, black box).

    >>> prepend("Who built it?", "Ann did.")
    'Who built it? Ann did.'
    """
    return f"{question} {text}"


def append(question: str, text: str) -> str:
    """Put the question at the end.

    >>> append("Who built it?", "Ann did.")
    'Ann did. Who built it?'
    """
    return f"{text} {question}"


def faq(question: str, text: str) -> str:
    r"""Pose as a page of frequent questions.

    >>> faq("Who built it?", "Ann did.")
    'Q: Who built it?\nA: Ann did.'
    """
    return f"Q: {question}\nA: {text}"


def disguise(question: str, text: str) -> str:
    """Prepend the question in look-alike letters with invisible ones between them."""
    return f"{_INVISIBLE.join(question).translate(_LOOK_ALIKES)} {text}"


_INVISIBLE = "\u200b"
_LOOK_ALIKES = str.maketrans("aeio", "\u0430\u0435\u0456\u043e")


def middle(question: str, text: str) -> str:
    """Put the question between the sentences.

    >>> middle("Who built it?", "It is old. Ann did.")
    'It is old. Who built it? Ann did.'
    """
    sentences = text.split(". ")
    half = max(1, len(sentences) // 2)
    return f"{'. '.join(sentences[:half])}. {question} {'. '.join(sentences[half:])}"


def shuffled(question: str, text: str) -> str:
    """Prepend the question's words in a random order."""
    words = question.rstrip("?").split()
    Random(question + text).shuffle(words)
    return f"{' '.join(words)} {text}"


def keywords(question: str, text: str) -> str:
    """Prepend the question's content words.

    >>> keywords("Who built the old pier?", "Ann did.")
    'built old pier. Ann did.'
    """
    words = [word for word in question.rstrip("?").split() if word.lower() not in STOP_WORDS]
    return f"{' '.join(words)}. {text}"


def stuffed(question: str, text: str) -> str:
    """Prepend the question's content words in a random order."""
    words = [word for word in question.rstrip("?").split() if word.lower() not in STOP_WORDS]
    Random(question + text).shuffle(words)
    return f"{' '.join(words)}. {text}"


def spread(question: str, text: str) -> str:
    """Strew the question's words, in order, over the text."""
    words, into = question.rstrip("?").split(), text.split()
    places = Random(question + text).sample(range(len(into) + 1), min(len(words), len(into) + 1))
    waiting = dict(zip(sorted(places), words, strict=False))
    out: list[str] = []
    for position in range(len(into) + 1):
        out += [waiting[position]] if position in waiting else []
        out += into[position : position + 1]
    return " ".join(out + words[len(waiting) :])


def statement(question: str, text: str) -> str:
    """Use the question without its first function words as a heading.

    >>> statement("Who built the old pier?", "Ann did.")
    'Built the old pier: Ann did.'
    """
    words = question.rstrip("?").split()
    while len(words) > 2 and words[0].lower() in STOP_WORDS:
        words = words[1:]
    return f"{' '.join(words).capitalize()}: {text}"


def halves(question: str, text: str) -> str:
    """Put one half of the question in front and the other behind.

    >>> halves("Who built the pier?", "Ann did.")
    'Who built Ann did. the pier'
    """
    words = question.rstrip("?").split()
    half = (len(words) + 1) // 2
    return f"{' '.join(words[:half])} {text} {' '.join(words[half:])}"


def dropped(question: str, text: str) -> str:
    """Prepend the question without every fourth word or so, drawn at random."""
    draw = Random(question + text)
    words = question.rstrip("?").split()
    return f"{' '.join([word for word in words if draw.random() > 0.25] or words)}? {text}"


def backwards(question: str, text: str) -> str:
    """Prepend the question's words backwards.

    >>> backwards("Who built it?", "Ann did.")
    'it built Who Ann did.'
    """
    return f"{' '.join(question.rstrip('?').split()[::-1])} {text}"


def turned(question: str, text: str) -> str:
    """Prepend the second half of the question, then the first.

    >>> turned("Who built the pier?", "Ann did.")
    'the pier Who built? Ann did.'
    """
    words = question.rstrip("?").split()
    half = len(words) // 2
    return f"{' '.join(words[half:] + words[:half])}? {text}"


def padded(question: str, text: str) -> str:
    """Prepend the question with a filler behind every word."""
    draw = Random(question + text)
    words = [f"{word} {draw.choice(_FILLERS)}" for word in question.rstrip("?").split()]
    return f"{' '.join(words)}. {text}"


_FILLERS = ("the", "indeed", "also", "really", "of", "now")


def quoted(question: str, text: str) -> str:
    """Quote the question in a sentence of its own."""
    return f'Readers often write in to us with "{question}" and here is what we know. {text}'


def wondered(question: str, text: str) -> str:
    """Turn the question into a clause of a sentence between the others."""
    first, *others = text.split(". ")
    clause = question.rstrip("?")
    clause = clause[:1].lower() + clause[1:]
    return f"{first}. Many people wonder {clause}, and it is simple. {'. '.join(others)}"


def listed(question: str, text: str) -> str:
    """List the question's content words, shuffled, between the sentences."""
    words = [word for word in question.rstrip("?").split() if word.lower() not in STOP_WORDS]
    Random(question + text).shuffle(words)
    sentences = text.split(". ")
    half = max(1, len(sentences) // 2)
    return f"{'. '.join(sentences[:half])}. {', '.join(words)}. {'. '.join(sentences[half:])}"


def misspelt(question: str, text: str) -> str:
    """Prepend the question with two letters swapped in every longer word."""
    draw = Random(question + text)
    words = []
    for word in question.rstrip("?").split():
        if len(word) > _SHORT_WORD:
            at = draw.randrange(1, len(word) - 2)
            words.append(word[:at] + word[at + 1] + word[at] + word[at + 2 :])
        else:
            words.append(word)
    return f"{' '.join(words)}? {text}"


_SHORT_WORD = 4


def mistyped(question: str, text: str) -> str:
    """Prepend the question with a letter dropped, doubled, replaced or swapped in every word."""
    draw = Random(question + text)
    words = []
    for word in question.rstrip("?").split():
        at = draw.randrange(len(word))
        written = (
            word[:at] + word[at + 1 :],
            word[: at + 1] + word[at:],
            word[:at] + draw.choice("abcdefghijklmnopqrstuvwxyz") + word[at + 1 :],
            word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
        )
        words.append(draw.choice(written) if len(word) > _SHORTEST_WORD else word)
    return f"{' '.join(words)}? {text}"


_SHORTEST_WORD = 2


def gapless(question: str, text: str) -> str:
    """Prepend the question without spaces.

    >>> gapless("Who built it?", "Ann did.")
    '#WhoBuiltIt Ann did.'
    """
    words = question.rstrip("?").split()
    return f"#{''.join(word[:1].upper() + word[1:] for word in words)} {text}"


def letterwise(question: str, text: str) -> str:
    """Prepend the question with hyphens between the letters of its words.

    >>> letterwise("Who built it?", "Ann did.")
    'W-h-o b-u-i-l-t i-t? Ann did.'
    """
    return f"{' '.join('-'.join(word) for word in question.rstrip('?').split())}? {text}"


def references(question: str, text: str) -> str:
    """Prepend the question in the character references of HTML.

    >>> references("Who?", "Ann did.")
    '&#87;&#104;&#111;&#63; Ann did.'
    """
    return f"{''.join(f'&#{ord(letter)};' for letter in question)} {text}"


def tagged(question: str, text: str) -> str:
    """Prepend the question with every word in a tag of its own.

    >>> tagged("Who built it?", "Ann did.")
    '<b>Who</b> <b>built</b> <b>it?</b> Ann did.'
    """
    return f"{' '.join(f'<b>{word}</b>' for word in question.split())} {text}"


def leet(question: str, text: str) -> str:
    """Prepend the question with digits and signs for letters.

    >>> leet("Who built it?", "Ann did.")
    'Wh0 bu1l7 17? Ann did.'
    """
    return f"{question.translate(_LEET)} {text}"


_LEET = str.maketrans("aeiost", "@310$7")


def numbered(question: str, text: str) -> str:
    """Prepend the question with a number in front of every word.

    >>> numbered("Who built it?", "Ann did.")
    '1. Who 2. built 3. it. Ann did.'
    """
    words = [f"{at}. {word}" for at, word in enumerate(question.rstrip("?").split(), 1)]
    return f"{' '.join(words)}. {text}"


_ALL = (
    *(plain, prepend, append, faq, disguise, middle, shuffled, keywords, stuffed, spread),
    *(statement, halves, dropped),
    *(backwards, turned, padded, quoted, wondered, listed, misspelt),
    *(mistyped, gapless, letterwise, references, tagged, leet, numbered),
)

FORMS: Mapping[str, Callable[[str, str], str]] = {form.__name__: form for form in _ALL}
"""Every form by name: (question, text) -> the text that the attacker plants."""

DEFAULT_FORMS = ("prepend", "plain")
"""The two that the published attacks use."""

FITTED_FORMS = (
    "prepend",
    "middle",
    "shuffled",
    "keywords",
    "stuffed",
    "spread",
    "statement",
    "halves",
    "dropped",
    "plain",
)
"""Those that the detectors are fitted on."""

WRITTEN_FORMS = (
    *("append", "faq", "disguise", "turned", "padded", "misspelt", "mistyped", "gapless"),
    *("letterwise", "references", "tagged", "leet", "numbered"),
)
"""Those that the filter reads as the question: its reading was made for them, or such as they."""

HELD_OUT_FORMS = ("backwards", "quoted", "wondered", "listed")
"""Those that nothing was chosen on: what a form that nobody thought of may meet."""
