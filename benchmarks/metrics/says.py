"""Does a text say an answer, word for word?"""

from ragguard.stems import tokenize


def says(text: str, answer: str) -> bool:
    """Return True if the words of `answer` stand in `text` in a row.

    >>> says("It is in Oslo, Norway.", "oslo norway"), says("A newer Yorkshire.", "new york")
    (True, False)
    """
    return f" {' '.join(tokenize(answer))} " in f" {' '.join(tokenize(text))} "
