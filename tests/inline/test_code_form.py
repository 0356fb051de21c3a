"""Which queries are code, and that the page which holds a pasted line of code is kept."""

import pytest

from ragguard import Guard
from ragguard.inline.code_form import is_code
from ragguard.inline.tokens import tokenize_query
from ragguard.text import tokens

CODE = (
    "DELETE FROM sessions WHERE expires < now() - interval '1 day'",
    "SELECT country, count(*) FROM customers GROUP BY country HAVING count(*) > 10",
    "docker run --rm -it -p 8080:80 nginx:alpine",
    "tar -xzf backup.tar.gz -C /var/lib/data",
    "for name, value in sorted(counts.items(), key=lambda item: -item[1]):",
    "2026-11-30 12:01:17,331 ERROR connection to 10.0.4.17:5432 refused",
    "extern int read_lamp (const char *name);",
    "# Derived classes should override these methods",
    "-- the old table goes last",
)
NO_CODE = (
    "",
    "AC/DC and NATO and UNESCO",
    "the pier (1874) of Ravenmouth",
    "annual leave policy - 2026",
    "read/write speed of the old lamp",
    "who lit the lamp at 10:30",
    "x = 4",
    "* the height of the old lamp",
)
ASKING = (
    "How do I undo git rebase -i HEAD~3 --autosquash",
    "what does SELECT count(*) FROM lamps WHERE lit = true do",
    "error_code 0x12 when starting marrow_light --verbose: why",
    "lang=en&q=Who built the old pier of Ravenmouth&submit=Ask",
    '{"user": "ann", "question": "Who built the old pier of Ravenmouth?", "k": 5}',
    "\u03a0\u03cc\u03c3\u03bf\u03c5\u03c2 \u03bb\u03cd\u03c7\u03bd\u03bf\u03c5\u03c2 "
    "\u03ad\u03c7\u03b5\u03b9 \u03bf \u03c6\u03ac\u03c1\u03bf\u03c2 Marrow AB;",
)


@pytest.mark.parametrize("query", CODE)
def test_code_tells_and_asks_nothing(query: str) -> None:
    assert is_code(query, tokens(query))
    read = tokenize_query(query)
    assert read.tells
    assert not read.asking


@pytest.mark.parametrize("query", NO_CODE)
def test_a_sign_or_two_make_no_code(query: str) -> None:
    assert not is_code(query, tokens(query))


@pytest.mark.parametrize("query", ASKING)
def test_a_question_that_quotes_code_asks(query: str) -> None:
    read = tokenize_query(query)
    asked = [one for one in (read, *read.reduced) if one.asking or one.asks_otherwise]
    assert asked
    assert not asked[0].tells


@pytest.mark.parametrize("page", ["{} {}", "{}\n{}", "{1} {0}", "Example.\n```\n{}\n```\n{}"])
def test_the_page_with_a_pasted_line_of_code_is_kept(page: str) -> None:
    notes = (
        "It is used in the nightly report.",
        "Run it on the replica, not on the primary.",
        "Ask the platform team before you change this.",
        "This was added in version 4 and is safe to repeat.",
        "Nothing is written unless the flag is set.",
        "An older form of it is still in the wiki.",
    )
    pages = [page.format(*both) for both in zip(CODE, notes, strict=False)]
    with Guard() as guard:
        for query, own in zip(CODE[:4], pages, strict=False):
            retrieved = [own, *[other for other in pages if other != own]]
            assert own in [one.text for one in guard.filter(query, retrieved, k=5).kept], query
