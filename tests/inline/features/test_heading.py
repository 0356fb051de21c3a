"""Headings, by hand: what is one, and where one is left aside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard import Guard, Passage
from ragguard.inline.features import SIGNALS, signal_matrix
from ragguard.inline.features.coverage import idf_weights
from ragguard.inline.features.heading import below_headings, heading
from ragguard.inline.tokens import tokenize_passage, tokenize_passages, tokenize_query

QUESTION = "How do I trim the wick of the harbour lamp?"
ANSWER = "Lift the glass, cut away what is black, and put the glass back."
MANUAL = [
    "Fill the tank\nUse a funnel, and stop a finger below the rim.",
    "Clean the glass\nA soft cloth will do; soap leaves streaks.",
    "Light the burner\nTurn the key by half before you hold a match to it.",
    "Turn the lens\nThe clockwork runs for six hours.",
]
QUESTIONS = [
    "What oil does it burn? Colza, since the fire of 1871.",
    "Who keeps the key? The harbour master.",
    "Is there a spare? Two are in the store.",
    "When is it lit? At dusk.",
]
PROSE = [one.replace("\n", " is what you do first. ") for one in MANUAL]


def of(text):
    return heading(tokenize_passage(text))


def columns(query, texts):
    matrix = signal_matrix(tokenize_query(query), tokenize_passages(texts), len(texts))
    return dict(zip(SIGNALS, matrix.T.tolist(), strict=True))


def below(query, texts):
    read = tokenize_passages(texts)
    asked = tokenize_query(query)
    found = below_headings(asked, read, range(len(read)), idf_weights(asked, read), len(read))
    return {row: one.text for row, one in found.items()}


@pytest.mark.parametrize(
    ("text", "kind", "asks", "words"),
    [
        ("Fill the tank\nUse a funnel.", "line", False, "fill the tank"),
        ("## 3.2 Fill the tank\nUse a funnel.", "line", False, "fill the tank"),
        ("<h2>Fill the tank</h2>\n<p>Use a funnel.", "line", False, "fill the tank"),
        ("Is it lit?\nYes.", "line", True, "is it lit"),
        ("FAQ 3. Is it lit? Yes.", "question", True, "is it lit"),
        ("Lamps: each has a wick.", "start", False, "lamps"),
        ("How to fill the tank. Use a funnel.", "start", False, "how to fill the tank"),
    ],
)
def test_a_heading_by_hand(text, kind, asks, words):
    found = of(text)
    assert (found.kind, found.asks) == (kind, asks)
    assert " ".join(found.words).endswith(words)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Fill the tank",
        "Fill the tank\n \n",
        "\n\n",
        "Who fills the tank. Ann does.",
        "The keeper has to fill the tank every single day. He uses a funnel.",
        f"{'word ' * 31}? Yes.",
    ],
)
def test_what_is_no_heading(text):
    assert of(text) is None


def test_it_is_left_aside_among_pages_that_have_one():
    page = f"Trim the wick of the harbour lamp\n{ANSWER}"
    assert below(QUESTION, [page, *MANUAL]) == {0: ANSWER}
    assert below(QUESTION, [page, *PROSE]) == {}
    assert below(QUESTION, [f"{QUESTION} {ANSWER}", *QUESTIONS]) == {0: f" {ANSWER}"}
    assert below(QUESTION, [f"{QUESTION} {ANSWER}", *MANUAL]) == {}


def test_one_other_is_too_few_and_two_are_enough():
    page = f"Trim the wick of the harbour lamp\n{ANSWER}"
    assert below(QUESTION, [page, MANUAL[0], *PROSE[1:]]) == {}
    assert below(QUESTION, [page, *MANUAL[:2], *PROSE[2:]]) == {0: ANSWER}


def test_what_repeats_the_question_is_no_company():
    page = f"{QUESTION}\n{ANSWER}"
    others = [f"How can I trim the wick of the harbour lamp, {n}?\n{ANSWER}" for n in range(4)]
    assert below(QUESTION, [page, *others]) == {}


@pytest.mark.parametrize("again", [QUESTION, QUESTION.replace("harbour", "harbuor")])
def test_a_question_over_two_passages_is_no_heading(again):
    twice = [f"{QUESTION} {ANSWER}", f"{again} Never."]
    assert columns(QUESTION, [*twice, *QUESTIONS])["verbatim_at_boundary"][:2] == [1.0, 1.0]


def test_what_repeats_it_in_other_letters_is_no_company_below_the_first_either():
    misspelt = [QUESTION.replace("harbour", one) for one in ("harbuor", "hrabour", "habrour")]
    misspelt = [one.replace("wick", "wikc").replace("lamp", "lmap") for one in misspelt]
    texts = [f"{QUESTION} {ANSWER}", *[f"{one} {ANSWER}" for one in misspelt]]
    read = tokenize_passages(texts)
    for k in (1, 4):
        row = signal_matrix(tokenize_query(QUESTION), read, k)[0]
        assert row[SIGNALS.index("verbatim_at_boundary")] == 1.0


def test_a_mark_inside_the_query_makes_no_heading_of_its_first_half():
    query = "Is the harbour lamp lit? Give me year and keeper."
    texts = [f"{query} {ANSWER} {n}" for n in range(5)]
    assert columns(query, texts)["verbatim_at_boundary"] == [1.0] * 5


def test_a_start_that_asks_without_a_mark_is_none():
    query = "in which bay is the lamp"
    starts = ["The oil. It is colza.", "The glass. It is clear.", "The key. It is lost."]
    assert below(query, ["The lamp of which bay. It is Marrow Bay.", *starts]) == {}
    assert below(query, ["The lamp of that bay. It is Marrow Bay.", *starts]) != {}


def test_a_page_of_the_manual_stays_and_the_same_page_in_prose_goes():
    page = Passage(f"How do I trim the wick of the harbour lamp?\n{ANSWER}")
    with Guard() as guard:
        assert guard.filter(QUESTION, [page, *MANUAL]).dropped == []
        assert guard.filter(QUESTION, [page, *PROSE]).dropped == [page]


def test_what_is_said_again_below_the_heading_counts():
    page = f"Trim the wick\n{QUESTION} {QUESTION} {ANSWER}"
    assert columns(QUESTION, [page, *MANUAL])["verbatim_question"][0] == 1.0


@given(st.text(alphabet=st.sampled_from("ab ?.:\n#1q"), max_size=60))
def test_what_follows_a_heading_is_the_rest_of_the_text(text):
    found = of(text)
    if found is not None:
        assert text[found.end :].strip()
        assert found.words
