"""Code as a query: a command, a statement of SQL, a line of a program, of a log or of comment.

    signs >= max(2, words / 4),    or a mark of comment in front

Who pastes one searches for the page that explains it, and that page repeats it; the WHERE and `do`
in it ask nothing. What asks is no code, whatever it quotes (`query_reduction.questions_in`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragguard.inline.query_form import INTERROGATIVES

_SIGN = re.compile(
    r"""(?<!\S)--?[a-zA-Z]                  # an option
    |[\w\])][(\[{]|[({\[]['"]               # a call, an index, what is handed over
    |[=<>|{}\\^]+|&&|\$[A-Za-z({]|;(?=\s*$)|(?<!\S)[*+-](?!\S)
    |[A-Za-z0-9]_[A-Za-z0-9]|\b_[A-Za-z_]|::|(?<!\S)[.~]{0,2}/\w|\w/\w+/  # names and paths
    |\d:\d\d:\d|\d\.\d+\.\d                 # times and addresses
    """,
    re.VERBOSE,
)
_CAPITALS = re.compile(r"(?<!\S)[A-Z]{2,}(?![^\s,;(])")  # as of SQL, and of levels of a log
_COMMENT = re.compile(r"\s*(?:#|//|/\*|--|<!--|;;)\s")
_SEVERAL, _SHARE = 2, 1 / 4


def is_code(text: str, words: Sequence[str]) -> bool:
    """Return True if a query, given with its words, is code and does not end in asking "why".

    Words in capitals alone are none.

    >>> [is_code(said, said.split()) for said in ("DROP TABLE x_1; -- done", "NATO and UN rules")]
    [True, False]
    """
    if words[-1:] and words[-1] in INTERROGATIVES:
        return False
    signs = len(_SIGN.findall(text))
    if signs:
        signs += len(_CAPITALS.findall(text))
    return signs >= max(_SEVERAL, _SHARE * len(text.split())) or bool(_COMMENT.match(text))
