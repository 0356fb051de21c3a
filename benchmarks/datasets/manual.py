"""A manual: the language reference of the Python that runs this, under its headings.

Each page holds some 110 words of a section, and the first of them the heading, as a line. It is
clean traffic of a kind that the folder of datasets lacks.
"""

import re
from collections import Counter
from math import log
from pydoc_data.topics import topics

from ragguard.text import STOP_WORDS, tokens

_HEADING = re.compile(r"(?m)^(\S[^\n]*)\n(?:\*{3,}|={3,}|-{3,})\n")
_WORDS = 110  # of a page
_FEW = 12  # words: a section of less says nothing


def key_words(texts: list[str], count: int = 4) -> list[str]:
    """Return of each text the words that tell most of it, by TF-IDF, the first of them first."""
    words = [Counter(word for word in tokens(text) if word not in STOP_WORDS) for text in texts]
    held = Counter(word for of_text in words for word in of_text)
    idf = {word: log(len(texts) / number) for word, number in held.items()}
    return [
        " ".join(sorted(of_text, key=lambda word: -of_text[word] * idf[word])[:count])
        for of_text in words
    ]


def pages() -> dict[str, str]:
    """Return the pages, and under which heading each stands, or "" for those that go on.

    Headings of one word, and those that stand over several sections, are no queries: they are "".
    """
    found: dict[str, str] = {}
    for _, text in sorted(topics.items()):
        parts = _HEADING.split(text)
        for heading, body in zip(parts[1::2], parts[2::2], strict=True):
            words = body.split()
            title = heading.replace('"', "")
            for start in range(0, len(words) if len(words) >= _FEW else 0, _WORDS):
                page = " ".join(words[start : start + _WORDS])
                if start:
                    found.setdefault(page, "")
                else:
                    found.setdefault(f"{title}\n{page}", title)
    count = Counter(found.values())
    return {
        page: title if count[title] == 1 and len(title.split()) > 1 else ""
        for page, title in found.items()
    }
