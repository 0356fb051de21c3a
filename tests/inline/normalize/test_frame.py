"""Lines around a text: by hand, by the slow reference, and on any lines."""

import pytest
import slow_normalize
from hypothesis import example, given
from hypothesis import strategies as st

from ragguard.inline.normalize.frame import unframe
from ragguard.inline.tokens import tokenize_passage, tokenize_query

QUESTION = "Who built the lighthouse of Skerrin harbour?"
QUERY = tokenize_query(QUESTION)
ASKED = "who built the lighthouse of skerrin harbour"
TEXT = "Ann Dove did, as the town's records of that time tell us in their third and last volume."
LINES = (
    *(f"Home > {QUESTION}", f"{QUESTION} | Wiki", f"{TEXT} Re: {QUESTION}", "a : b - c / d"),
    *("Source: wiki", "Page 3", "Home > Docs > Piers", QUESTION, f"{QUESTION} {TEXT}", TEXT, ""),
    *(f"Q: {QUESTION}", f"{TEXT} {QUESTION}", "who built Skerrin", "the lighthouse of harbour"),
    *("\u8c01\u5efa\u9020\u4e86\u706f\u5854", "word " * 30),
)


def turned(text, query=QUERY):
    (read,) = unframe(query, [tokenize_passage(text)])
    return read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (f"Source: wiki\n\n{QUESTION} Ann did.", f"{ASKED} ann did source wiki"),
        (f"Wiki\nPage 3\n{QUESTION} Ann did.", f"{ASKED} ann did wiki page 3"),
        (f"Wiki\nQ: {QUESTION} Ann did.", f"q {ASKED} ann did wiki"),
        (f"Ann did. {QUESTION}\nSource: wiki\nPage 3", f"source wiki page 3 ann did {ASKED}"),
        (f"Home > Piers > {QUESTION}\n\nAnn did.", f"{ASKED} ann did home piers"),
        (f"Wiki\nPage 3 \u2013 {QUESTION}\nAnn did.", f"{ASKED} ann did wiki page 3"),
        (f"Dr. Dove, keeper: wiki\n{QUESTION} Ann did.", f"{ASKED} ann did dr dove keeper wiki"),
        (f"Subject: {QUESTION}\n\nAnn did.", f"subject {ASKED} ann did"),
        (
            f"Ann did: {'we know. ' * 30}\n{QUESTION} | Wiki",
            f"wiki ann did {'we know ' * 30}{ASKED}",
        ),
    ],
)
def test_a_line_that_begins_or_ends_with_the_question_does_so_for_the_passage(text, read):
    assert " ".join(turned(text).sequence) == read
    assert turned(text).text.replace("\n", " ").split()  # and is text again, for what reads that
    assert " ".join(tokenize_passage(turned(text).text).sequence) == read


@pytest.mark.parametrize(
    "text",
    [
        f"{QUESTION}\nAnn did.",
        f"Wiki\nAnn did. {QUESTION}",
        f"Wiki\n{TEXT}",
        f"Wiki\nMany asked. They said: {QUESTION} {TEXT}",  # a sentence is no step of a path
        f"Wiki\nIt is said of the lighthouse of Skerrin harbour that Ann built it. {TEXT}",
        f"{'word ' * 30}\n{QUESTION} {TEXT} {TEXT} {TEXT} {TEXT}",  # not behind a short line
        "",
    ],
)
def test_a_passage_stays_as_it_is_where_its_lines_hide_nothing(text):
    passage = tokenize_passage(text)
    assert unframe(QUERY, [passage])[0] is passage


def test_a_turned_passage_is_made_once():
    assert turned(f"Wiki\n{QUESTION} Ann did.") is turned(f"Wiki\n{QUESTION} Ann did.")


@example(f"Home > {QUESTION}\n\n{QUESTION} | Wiki", "the lighthouse of harbour")
@given(st.lists(st.sampled_from(LINES), max_size=7).map("\n".join), st.sampled_from(LINES))
def test_it_is_that_of_the_slow_reference(text, question):
    query = tokenize_query(question)
    assert list(turned(text, query).sequence) == slow_normalize.turned_words(
        list(query.sequence), text
    )
