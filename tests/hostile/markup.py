"""Hostile markup: references of any length, tags in tags, percent signs."""

from __future__ import annotations

from collections.abc import Iterator
from html.entities import html5
from random import Random
from urllib.parse import quote

__all__ = [
    "ampersands",
    "asterisks",
    "broken_tags",
    "comments",
    "digit_reference",
    "entities",
    "escaped_twice",
    "escapes",
    "hex_reference",
    "letters_as_references",
    "nested_tags",
    "open_angles",
    "percent_encoded",
    "percent_signs",
    "short_references",
    "tag_attributes",
    "words_in_tags",
]

_NAMES = sorted(html5)
_TAGS = ("b", "i", "span", "div", "script", "x", "q", "td", "unknown", "br")


def digit_reference(draw: Random, question: str) -> Iterator[str]:
    """Yield one character reference of digits without end."""
    yield draw.choice(["", question + " ", "&amp;"])[: len(question) + 1]
    yield draw.choice(["&#", "&amp;#", "&#0"])
    while True:
        yield str(draw.randrange(10)) * draw.randint(1, 64)


def hex_reference(draw: Random, question: str) -> Iterator[str]:
    """Yield one hexadecimal reference without end."""
    del question
    yield draw.choice(["&#x", "&#X", "&amp;#x"])
    while True:
        yield "".join(draw.choices("0123456789abcdefABCDEF", k=16))


def short_references(draw: Random, question: str) -> Iterator[str]:
    """Yield references to any number, valid or not, closed or not."""
    del question
    while True:
        number = draw.randrange(10 ** draw.randint(1, 12))
        yield draw.choice([f"&#{number}", f"&#x{number:x}", f"&#{number:09}"])
        yield draw.choice([";", "", " ", "&"])


def letters_as_references(draw: Random, question: str) -> Iterator[str]:
    """Yield the question with letters written as references."""
    while True:
        for letter in question + " ":
            code = ord(letter)
            yield draw.choice([letter, f"&#{code};", f"&#x{code:x};", f"&#{code:0{5}}"])


def escaped_twice(draw: Random, question: str) -> Iterator[str]:
    """Yield the question as references that were escaped again and again."""
    while True:
        for letter in question + " ":
            yield "&" + "amp;" * draw.randint(1, 5) + f"#{ord(letter)};"


def entities(draw: Random, question: str) -> Iterator[str]:
    """Yield names of characters, and names that are nearly some."""
    del question
    while True:
        name = draw.choice(_NAMES)
        yield "&" + name[: draw.randint(1, len(name))] + draw.choice(["", ";", "x"])


def ampersands(draw: Random, question: str) -> Iterator[str]:
    """Yield signs that begin a reference."""
    del question
    while True:
        yield draw.choice(["&", "&#", "&#x", "&a", "&&#;"]) * draw.randint(1, 9)


def nested_tags(draw: Random, question: str) -> Iterator[str]:
    """Yield tags that open and never close."""
    del question
    while True:
        yield f"<{draw.choice(_TAGS)} "


def open_angles(draw: Random, question: str) -> Iterator[str]:
    """Yield what may begin a tag."""
    del question
    while True:
        yield draw.choice(["<", "</", "<a", "<a\t", "< ", "<<b"]) * draw.randint(1, 9)


def broken_tags(draw: Random, question: str) -> Iterator[str]:
    """Yield tags with odd white space and slashes."""
    words = question.split() or ["x"]
    while True:
        space = draw.choice([" ", "\t", "\n", "\u00a0", "/"]) * draw.randint(0, 12)
        yield f"<{draw.choice(['', '/'])}{draw.choice(_TAGS)}{space}"
        yield draw.choice([">", "/>", "", draw.choice(words)])


def tag_attributes(draw: Random, question: str) -> Iterator[str]:
    """Yield tags that hold the question and much else."""
    while True:
        yield f'<{draw.choice(_TAGS)} title="{question}" {"x" * draw.randint(0, 40)}> '


def words_in_tags(draw: Random, question: str) -> Iterator[str]:
    """Yield the question with each word in a tag of its own."""
    while True:
        for word in question.split():
            tag = draw.choice(_TAGS)
            yield f"<{tag}>{word}</{tag}>"
        yield " "


def comments(draw: Random, question: str) -> Iterator[str]:
    """Yield comments, open and closed."""
    while True:
        yield draw.choice(["<!--", "-->", "<!DOCTYPE ", "<![CDATA[", "]]>", "<?"])
        yield draw.choice([question, " ", ""])


def percent_encoded(draw: Random, question: str) -> Iterator[str]:
    """Yield the question percent-encoded, once or twice."""
    while True:
        once = quote(question + " ", safe="" if draw.random() < 0.5 else "/?")
        yield quote(once) if draw.random() < 0.3 else once


def asterisks(draw: Random, question: str) -> Iterator[str]:
    """Yield runs of asterisks that nothing follows, as signs of Markdown."""
    yield question + " "
    while True:
        yield "*" * draw.choice([1, 2, 1000]) + draw.choice(["", " ", " *"])


def escapes(draw: Random, question: str) -> Iterator[str]:
    """Yield letters by their number, as in JSON, whole and broken off."""
    yield "".join([f"\\u{ord(letter):04x}" for letter in question])
    while True:
        yield draw.choice(["\\u0061", "\\x61", "\\ud83d", "\\u00", "\\"]) * draw.randint(1, 64)


def percent_signs(draw: Random, question: str) -> Iterator[str]:
    """Yield escapes that are broken or are no UTF-8."""
    del question
    while True:
        yield draw.choice(["%20", "%", "%2", "%zz", f"%{draw.randrange(256):02x}", "%C3", "%u0041"])
