"""Markup: what a passage says once a browser has drawn it.

People and language models read through markup; a comparison word for word would not. Taken out are
tags, character references, percent-encoding, the codes of terminals, and the escapes by which
programs, mails and style sheets write a character by its number. What a tag holds besides its name
is text to a retriever, so it is put behind the text, and so is a declaration. A name that is no
element's and that no tag closes, nor itself by a stroke, is a word in angle brackets, and stays.
Where an element begins a new line, a line begins.
"""

from __future__ import annotations

import re
from html import unescape

from ragguard.text import MOST_CHARS, both_ends

# Python refuses to read a number of thousands of digits; seven are more than any character has.
_LEADING_ZEROS = re.compile(r"&#0+(?=[0-9])")
_NO_CHARACTER = re.compile(r"&#[0-9]{8,};?")
_REENCODED = re.compile(r"%(?:25)+(?=[0-9a-fA-F]{2})")  # a percent sign, once too often
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_ESCAPES = re.compile(r"(?:\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}))+")
_TAG = re.compile(
    r"<(?:/?([a-zA-Z][a-zA-Z0-9:-]*)((?:\s[^<>]*)?)(/?)|[?!](?!--|\[)([^<>]*))>"
)  # or a declaration, which no browser draws
_CLOSING = re.compile(r"</([a-zA-Z][a-zA-Z0-9]*)")
_BLOCKS = frozenset(
    """article blockquote br center dd div dl dt h1 h2 h3 h4 h5 h6 header hr li ol p pre section
    table tbody thead title tr ul""".split()
)
_ELEMENTS = _BLOCKS | frozenset(
    """a abbr b big cite code del em font i img ins kbd mark nobr q s samp small span strike strong
    sub sup td th tt u wbr""".split()
)
# A letter of ASCII by its number, as addresses, mails, programs and style sheets write it.
_LETTER = re.compile(
    r"""(?:[%=]|\\'|\\u\{0{0,4}|\\0{4}|U\+00|\#x)
    (4[1-9a-fA-F]|5[0-9aA]|6[1-9a-fA-F]|7[0-9aA])[};]?|\\(1[0-7]{2})""",
    re.VERBOSE,
)
_DRAWN = re.compile(r"\x1b?\[[0-9;]{1,8}m|\\f[BIPR]")  # colours of a terminal, fonts of troff
_SIGNS = "&<\\%=+#["  # without one of these nothing is to be done
# A run of asterisks is tried from its beginning alone, or one of n would take n * n steps.
_MARKDOWN = re.compile(r"^#{1,6}[ \t]+|(?<!\*)\*+(?=\w)|(?<=[\w.,:;!?)])\*+|`", re.MULTILINE)


def strip_markup(text: str) -> str:
    r"""Return a text with its markup undone; most texts have none and come back as they are.

    Of a very long text both ends alone are read.

    >>> strip_markup("<b>Who</b> <i>wr&#111;te</i>%20it?")
    ' Who   wrote  it?'
    >>> strip_markup(r"\u0057ho \x6cit it?")
    'Who lit it?'
    >>> strip_markup('So <a title="who wrote it">they</a> say')
    'So  they  say title="who wrote it"'
    >>> strip_markup("who <wrote> it"), strip_markup("who<x-y/> wrote<?php?> it")
    ('who  wrote  it', 'who  wrote  it x-y php?')
    """
    if not any(map(text.__contains__, _SIGNS)):
        return text
    text = _LETTER.sub(_letter, both_ends(text, MOST_CHARS))
    if "\\" in text:
        text = _ESCAPES.sub(_numbered, text)
    if "%25" in text:
        text = _REENCODED.sub("%", text)
    if "%20" in text:
        text = _PERCENT.sub(_decoded, text)
    text = _DRAWN.sub("", text)
    if "&" in text:
        # Twice, since text that was escaped once too often is as readable.
        text = _unescaped(_unescaped(text))
    if "<" not in text:
        return text
    held: list[str] = []
    names = _ELEMENTS.union(map(str.lower, _CLOSING.findall(text)))

    def drop(tag: re.Match[str]) -> str:
        name, rest, empty, declared = tag.groups()
        if name is None:
            held.append(declared)
            return " "
        if name.lower() not in names and not (rest or empty):
            return f" {name} "
        if name.lower() not in _ELEMENTS:
            held.append(name)
        if rest:
            held.append(rest.strip())
        return "\n" if name.lower() in _BLOCKS else " "

    shown = _TAG.sub(drop, text)
    return f"{shown} {' '.join(held)}" if held else shown


def strip_markdown(text: str) -> str:
    r"""Return a text without the signs of Markdown for headings, emphasis and code.

    >>> strip_markdown("# The pier\n- It is **old**, *very* old.")
    'The pier\n- It is old, very old.'
    """
    return _MARKDOWN.sub("", text) if any(map(text.__contains__, "#*`")) else text


def _numbered(escapes: re.Match[str]) -> str:
    units = escapes[0].encode().decode("unicode_escape")
    # Outside the basic plane two escapes are one sign.
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _letter(number: re.Match[str]) -> str:
    code = int(number[1], 16) if number[1] else int(number[2], 8)
    return chr(code) if chr(code).isalpha() else number[0]


def _decoded(octets: re.Match[str]) -> str:
    return bytes.fromhex(octets[0].replace("%", "")).decode("utf-8", "replace")


def _unescaped(text: str) -> str:
    if "&#" in text:
        text = _NO_CHARACTER.sub("\ufffd", _LEADING_ZEROS.sub("&#", text))
    return unescape(text)
