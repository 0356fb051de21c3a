"""The form of pages, by hand and against a slow reference: where repetition is to be expected."""

import importlib
from itertools import chain

import numpy as np
import pytest
import slow_signals
from hypothesis import given
from hypothesis import strategies as st

from ragguard import Guard, Passage
from ragguard.inline.page_form import parts, repeats_as_expected
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
PROSE = [one.replace("\n", " is the thing to do before all else. ") for one in MANUAL]
STARTS = [one.replace("\n", ". ") for one in MANUAL]
LONG = "The keeper fills it every day, and trims its wick, as was laid down in the book of " * 2
WORDS = [one.split() for one in (QUESTION, ANSWER, *MANUAL, *QUESTIONS, "Questions: Who lit it")]


def expected(query, texts, rows=None, k=None):
    read, k = tokenize_passages(texts), k or len(texts)
    found = repeats_as_expected(tokenize_query(query), read, rows or range(k), k)
    return np.flatnonzero(found).tolist()


@pytest.mark.parametrize(
    ("text", "form", "part"),
    [
        ("Fill the tank\nUse a funnel.", "heading", "Fill the tank\n"),
        ("<h2>Fill the tank</h2>\n<p>Use a funnel.", "heading", "\nFill the tank\n"),
        ("Fill the tank\n3.2 Tools\nUse a funnel.", "heading", "Fill the tank\n"),
        ("Fill the tank\n3.2 Tools\nUse a funnel.", "lines", "Fill the tank\n3.2 Tools\n"),
        ("Fill the tank. Use a funnel.", "lines", None),
        ("Is it red - Yes.", "question", "Is it red -"),
        ("Is it red\tYes, it is.", "question", "Is it red\t"),
        ("A well-known lamp | Yes.", "question", None),
        ("Fill the tank\n \n", "heading", None),
        ("word " * 21 + "\nUse a funnel.", "heading", None),
        ("It is lit. Is it red? Yes.", "question", "Is it red? "),
        ("Is it red? Who lit it?", "question", "Is it red?  Who lit it?"),
        ("A wick.\n\nwho lit it\nwhen was it lit\n", "question", "who lit it\n when was it lit\n"),
        ("A wick. Questions: name the keeper", "question", "name the keeper"),
        ('{"question": "its height", "text": "ten"}', "question", '"its height", "text": '),
        ("Q1: its height A: ten", "question", "its height A: "),
        ("A wick.\nWhen it was lit, Ann came.", "question", None),
        ("A wick. How to light it", "question", None),
        ("A wick. " + "Is it lit " * 11 + "?", "question", None),
        ("The user asked who lit it. Ann did.", "embedded", "asked who lit it"),
        ("The user asked who lit it? Ann did.", "embedded", None),
        ("The user asked who lit it. Ann did.", "question", None),
        (
            "This part explains how it was lit, and why.",
            "embedded",
            "explains how it was lit, and why",
        ),
        ("Here it is shown whether it was lit.", "embedded", "whether it was lit"),
        ("To ask the keeper of the lamp, how it was lit. Ann", "embedded", "how it was lit"),
        ("Ann, who lit it, and what burns. Where it is.", "embedded", "what burns"),
        ("How it was lit. Why: how it burns.", "embedded", None),
        ("word " * 20 + "Ann asked who lit it.", "question", None),
        ("The man who lit it asked for it.", "question", None),
        ("[Who lit it?](/lit) Ann. [Is it red?](/red)", "question", "[Who lit it?] [Is it red?]"),
        ('["Who lit it?","Is it red?"]', "question", '["Who lit it?" Is it red?"]'),
        ("| Who lit it?| Ann |", "question", "| Who lit it?"),
        ("path: /faq/who-lit-it\nAnn", "question", "who-lit-it\n"),
        ('If you typed "who lit the lamp" here', "question", "who lit the lamp"),
        ('If you typed "the lamp is lit" here', "question", None),
        ("Ann wondered is it lit. No", "question", "wondered is it lit"),
        ("Do you wonder is it lit? No", "question", "Do you wonder is it lit? "),
        ("The question of can it be lit. Ann", "question", "question of can it be lit"),
        ("We had to ask him, was it lit. No", "question", "ask him, was it lit"),
        ('7,"who lit the lamp","Ann",1874', "question", 'who lit the lamp","'),
        ("Lamps: each has a wick.", "heading", "Lamps: "),
        ("Fill the tank A funnel will do.", "heading", None),
        ("Fill it.\nLamps: each has a wick.", "heading", "Fill it.\n"),
        ("Lamps. ", "heading", None),
        ("The keeper has to fill the tank every day. He does.", "heading", None),
        ("", "heading", None),
        ("Title: Marrow Light; Keeper: Ann", "field", "Marrow Light"),
        ('{"title": "Marrow Light", "year": 1874}', "field", "Marrow Light"),
        ("Title: Marrow Light", "field", None),
        ("source: manual\nEach has a wick, and more.", "field", "manual"),
        ("Keeper: Ann\nName: Marrow Light", "fields", "Ann\nMarrow Light"),
        ('[{\n "keeper": "Ann",\n "name": "Marrow Light"\n}]', "fields", '"Ann",\n"Marrow Light"'),
        ("- **Name of keeper**: Ann\n- *Year lit*: 1874", "fields", "Ann\n1874"),
        ("Keeper: Ann\nName: " + "word " * 21, "fields", "Ann"),
        ("Keeper: Ann\nName:\n", "fields", None),
        ("Keeper: Ann\nIts name is long: Marrow Light", "fields", None),
        ("Keeper: Ann\n9:30 Lit\nhttp://marrow.example", "fields", None),
        ("Note: it was lit in 1874.\nIt is tall.", "fields", None),
        ("[Marrow Light] It has a wick.", "marked", "[Marrow Light] "),
        ('"Marrow Light" It has a wick.', "marked", '"Marrow Light" '),
        ("**Marrow Light** It has a wick.", "marked", "**Marrow Light** "),
        ("== Marrow Light == It has a wick.", "marked", "== Marrow Light == "),
        ("[Marrow Light] has a wick.", "marked", None),
        ("Marrow Light; it has a wick.", "heading", "Marrow Light; "),
        ("Marrow Light \u00b7 it has a wick.", "heading", "Marrow Light \u00b7 "),
        ("Marrow Light :: it has a wick.", "heading", "Marrow Light :: "),
        (" - Marrow Light, and so on.", "heading", None),
        ("Wiki\nMarrow Light. It has a wick.", "heading within", "Marrow Light. "),
        ("Wiki\nPage 3\nTitle: Marrow Light; Keeper: Ann", "field within", "Marrow Light"),
        ("Wiki\nTitle: Marrow Light; Keeper: Ann\n" + LONG, "field within", None),
        ("Wiki\nTitle: Marrow Light; " + LONG, "field within", "Marrow Light"),
        ("Marrow Light. It has a wick.", "heading within", None),
        ("A title: Marrow Light; Keeper: Ann", "field", None),
        ("Title: " + "word " * 21 + "; Keeper: Ann", "field", None),
        ("Title: " + "word " * 20 + "; Keeper: Ann", "field", "word " * 20),
        (
            "On the lamps of old harbours, their wicks and keepers. Ann lit it.",
            "title",
            "On the lamps of old harbours, their wicks and keepers. ",
        ),
        ("On the lamps that were lit in old harbours by keepers. Ann lit it.", "title", None),
        ("word " * 21 + ". Ann lit it.", "title", None),
        ("On the lamps of old harbours. ", "title", None),
        ("[1] Lamps: each has a wick.", "heading", "Lamps: "),
        ("... Lamps: each has a wick.", "heading", "Lamps: "),
        ("Passage 12: Lamps: each has a wick.", "heading", "Lamps: "),
        ("Lamps:\u00a0each has a wick.", "heading", "Lamps: "),
        ("[2024] Lamps: each has a wick.", "heading", "[2024] Lamps: "),
        ("[wiki] Lamps: each has a wick.", "heading", "[wiki] Lamps: "),
        ("Marrow Light The tower was lit in 1874.", "run-in", "Marrow Light "),
        ("Marrow Light Marrow Light is a tower.", "run-in", "Marrow Light "),
        ("Marrow Light (tower) In 1874 it was lit.", "run-in", "Marrow Light (tower) "),
        ("Marrow Light Colza burns in it.", "run-in", None),
        ("Marrow Light burns colza. The tower is old.", "run-in", None),
        ("Marrow Light burns colza.[3] The tower is old.", "run-in", None),
        ("The Keeper of The Lamp A novel by Ann Dove.", "run-in", "The Keeper of The Lamp "),
        ("Nine words stand here before it and no more The text.", "run-in", None),
        ("Wiki\nMarrow Light The tower was lit.", "run-in within", "Marrow Light "),
        # Between the stops and marks of Greek, Hindi and Chinese.
        ("\u03b1\u03b2. \u03b3\u03b4 \u03b5; \u03b6\u03b7.", "question", "\u03b3\u03b4 \u03b5; "),
        ("\u0905\u0964 \u0915 \u0916? \u0917\u0964", "question", " \u0915 \u0916? "),
        ("\u706f\u3002\u8c01\uff1f\u4eba\u3002", "question", "\u8c01\uff1f"),
    ],
)
def test_a_part_by_hand(text, form, part):
    assert parts(tokenize_passage(text)).get(form) == part


@given(
    st.text(alphabet=st.sampled_from("ab ?.:\n!q\"'_-|\t/)],(*"), max_size=60)
    | st.lists(
        st.sampled_from(
            [
                *chain(*WORDS),
                *("\n", ". ", "? ", "x_y", ',"', "asked", "about", "-", "\t", "[1]", "2.", "..."),
                *('"who', '"is the', 'lamp"', "?](", '?","', "/a-b-c", "/who-lit_it"),
                *("name:", "\nkeeper:", '\n"oil":', "\n- **lit**:", "\n* a b"),
                *"find out question of whether why, how? explained _ask what. where".split(),
            ]
        )
    ).map(" ".join)
)
def test_parts_are_those_of_the_slow_reference(text):
    assert parts(tokenize_passage(text)) == slow_signals.parts_of(text)


@pytest.mark.slow
@given(
    st.lists(
        st.builds(
            lambda first, second, sep: f"{' '.join(first)}{sep}{' '.join(second)}",
            st.sampled_from(WORDS),
            st.sampled_from(WORDS),
            st.sampled_from([" ", "\n", ". ", "? "]),
        ),
        min_size=1,
        max_size=12,
        unique=True,
    )
)
def test_what_is_expected_is_that_of_the_slow_reference(texts):
    slow = [slow_signals.expected_of(QUESTION, texts, row) for row in range(len(texts))]
    assert expected(QUESTION, texts) == np.flatnonzero(slow).tolist()


@pytest.mark.parametrize("line", ["Source: wiki", "Home > Lamps", "Page 3"])
def test_headings_are_expected_behind_lines_that_all_pages_have(line):
    pages = [f"{line}\n{one} {LONG}" for one in STARTS]
    own = f"{line}\nTrim the wick of the harbour lamp. {ANSWER} {LONG}"
    assert expected(QUESTION, [own, *pages], [0]) == [0]
    assert expected(QUESTION, [own, *[f"{line}\n{one} {LONG}" for one in PROSE]], [0]) == []


def test_what_is_asked_about_a_name_is_expected_where_a_line_has_the_name():
    own = f"The Marrow Lamp\n{ANSWER}"
    assert expected("What is the Marrow Lamp?", [own, *PROSE], [0]) == [0]
    assert expected("What is the Marrow Lamp?", [f"What is {own}", *PROSE], [0]) == []


def test_a_heading_is_expected_among_pages_that_have_one():
    assert expected(QUESTION, [f"Trim the wick of the harbour lamp\n{ANSWER}", *MANUAL], [0]) == [0]
    assert expected(QUESTION, [f"Trim the wick of the harbour lamp. {ANSWER}", *STARTS], [0]) == [0]
    assert expected(QUESTION, [f"Trim the wick of the harbour lamp\n{ANSWER}", *PROSE], [0]) == []
    assert expected(QUESTION, [f"{QUESTION} {ANSWER}", *QUESTIONS], [0]) == [0]
    assert expected(QUESTION, [f"{QUESTION} {ANSWER}", *MANUAL], [0]) == []


@pytest.mark.parametrize(
    "layout",
    [
        "The user asked {}. The assistant answered: {}",
        "This passage explains {}, in the handbook.\n\n{}",
        '7,"{}","{}",lamps',
    ],
)
def test_a_question_within_a_sentence_or_a_row_is_expected_among_pages_that_have_one(layout):
    pages = [layout.format(*one.split("? ")) for one in (f"{QUESTION} {ANSWER}", *QUESTIONS)]
    assert 0 in expected(QUESTION, pages, [0])
    assert expected(QUESTION, [pages[0], *PROSE], [0]) == []


@pytest.mark.parametrize(
    "record",
    ["Title: {}; Keeper: {}", '{{"title": "{}", "keeper": "{}"}}', "Title: {} | Keeper: {}"],
)
def test_a_query_that_names_a_record_finds_it(record):
    names = [
        "Marrow Bay Lighthouse",
        "Ravenmouth Pier",
        "Halden Bridge",
        "Norhaven Mill",
        "Ely Inn",
    ]
    records = [record.format(name, keeper) for name, keeper in zip(names, "ABCDE", strict=True)]
    assert expected("Marrow Bay Lighthouse", records, [0]) == [0, 1, 2, 3, 4]
    assert expected("Who keeps Marrow Bay Lighthouse?", records, [0]) == [0]
    prose = [
        f"{name} is kept by {keeper}, and stands by the sea."
        for name, keeper in zip(names, "ABCDE", strict=True)
    ]
    assert expected("Marrow Bay Lighthouse", [records[0], *prose[1:]], [0]) == []


@pytest.mark.parametrize(
    "row",
    [
        "id: 7\nabout: {1}\nname: {0}",
        "about: {1}\nname: {0}",
        "about: {1}\nname: {0}\nowner: Ann Dove",
        '{{\n "about": "{1}",\n "name": "{0}"\n}}',
        "**About:** {1}\n**Name:** {0}",
    ],
)
def test_a_name_is_expected_in_any_field_of_rows(row):
    names = ["Marrow Bay Lighthouse", "Ravenmouth Pier", "Halden Bridge", "Norhaven Mill"]
    rows = [row.format(*one) for one in zip(names, [LONG, *PROSE], strict=False)]
    assert expected(names[0], rows, [0]) == [0]
    assert expected(names[0], [rows[0], *PROSE], [0]) == []
    with Guard() as guard:
        assert guard.filter(names[0], [Passage(one) for one in rows]).dropped == []


def test_a_question_is_expected_in_no_field():
    rows = [f"about: {one}\nowner: Ann Dove" for one in PROSE]
    assert expected(QUESTION, [f"about: {ANSWER}\nname: {QUESTION}", *rows], [0]) == []
    assert expected(QUESTION, [f"{QUESTION}\nabout: {ANSWER}\nowner: Ann Dove", *rows], [0]) == []
    words = "trim wick harbour lamp"
    assert expected(QUESTION, [f"about: {ANSWER}\nname: {words}", *rows], [0]) == []
    assert expected(words, [f"about: {ANSWER}\nname: {words}", *rows], [0]) == [0]


@pytest.mark.parametrize(
    "layout",
    [
        "Question: {} Answer: {}",
        '{{"question": "{}", "text": "{}"}}',
        "Subject: your request\n\n> {}\n\n{}",
        "{}? {}",
        "{}\n{}",
        "FAQ. {}? {}",
        "{} - {}",
        "{}\t{}",
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_question_of_its_own_is_expected_where_every_page_has_one(layout, turned):
    pages = [one.split("? ") for one in QUESTIONS]
    pages = [layout.format(*one) for one in pages]
    page = layout.format(QUESTION.rstrip("?"), ANSWER)
    if turned:
        pages = [f"{one.split('? ')[1]}\nQuestions: {one.split('? ')[0]}" for one in QUESTIONS]
        page = f"{ANSWER}\nQuestions: {QUESTION}"
    assert expected(QUESTION, [page, *pages], [0]) == [0]
    assert expected(QUESTION, [page, *PROSE], [0]) == []
    with Guard() as guard:
        assert guard.filter(QUESTION, [Passage(one) for one in (page, *pages)]).dropped == []


def test_among_pages_that_begin_with_a_name_further_lines_are_no_headings():
    head = f"From: desk\nSubject: trim the wick of the harbour lamp\n{ANSWER}"
    assert expected(QUESTION, [head, *STARTS], [0]) == []
    assert expected(QUESTION, [head, *[f"From: ann\nSubject: {one}" for one in MANUAL]], [0]) == [0]


def test_a_run_in_heading_is_expected_where_other_pages_have_one():
    name, said = "Old Lamp of Marrow Bay", "Colza burns in it, and Ann Dove trims the wick."
    headed = [
        "Ravenmouth Pier The pier was sold by Ann Dove.",
        "Halden Bridge Halden Bridge carries the road to Ely.",
        "Norhaven Mill In 1874 the mill lost its sails.",
        "Ely Inn The inn has seven beds.",
    ]
    assert expected(name, [f"{name} {said}", *headed], [0]) == [0]
    assert expected(name, [f"{name} The lamp burns colza.", *headed], [0]) == [0]
    assert expected(name, [f"{name} {said}", *headed[:2], *PROSE], [0]) == []
    assert expected(name, [f"{name} burns colza.", *headed], [0]) == []
    assert expected(name, [f"{name} and the Bridge {said}", *headed], [0]) == []
    # What asks, and what goes on about something else, are as they were.
    assert expected(QUESTION, [f"{QUESTION} {ANSWER}", *headed], [0]) == []
    assert expected(QUESTION, [f"{QUESTION.rstrip('?')} {ANSWER}", *headed], [0]) == []


def test_one_other_is_too_few_and_two_are_enough():
    page = f"Trim the wick of the harbour lamp\n{ANSWER}"
    assert expected(QUESTION, [page, MANUAL[0], *PROSE[1:]], [0]) == []
    assert expected(QUESTION, [page, STARTS[0], *PROSE[1:]], [0]) == []
    assert expected(QUESTION, [page, MANUAL[0], STARTS[1], *PROSE[2:]], [0]) == [0]
    assert expected(QUESTION, [page], [0]) == []


def test_what_is_planted_makes_no_form_usual():
    planted = [f"{QUESTION} {ANSWER} {n}." for n in range(3)]
    assert expected(QUESTION, [*planted, *PROSE]) == []
    quoting = [f"{one} {QUESTION} {ANSWER}" for one in ("Re: help.", "Quiz night.", "Page two.")]
    page = f"Trim the wick of the harbour lamp\n{ANSWER}"
    assert expected(QUESTION, [page, *quoting, *PROSE], [0]) == []
    assert expected(QUESTION, [page, *STARTS[:3], *PROSE], [0]) == [0]
    misspelt = "How do I tirm the wcik of the habrour lamp? "
    assert expected(QUESTION, [planted[0], misspelt + "One.", misspelt + "Two.", *PROSE]) == []


def test_pages_that_have_one_question_are_held_against_the_rest_alone():
    suppliers = [f"{QUESTION}\n{ANSWER} Supplier {n}." for n in range(9)]
    assert expected(QUESTION, [*suppliers, *QUESTIONS[:2], PROSE[0]]) == [*range(9)]
    assert expected(QUESTION, [*suppliers, QUESTIONS[0], *PROSE[:2]]) == []
    assert expected(QUESTION, [*suppliers, *QUESTIONS[:2], *PROSE, *PROSE]) == []


@pytest.mark.parametrize("asks", ["Was this helpful?", "Still have questions? Call us."])
def test_what_all_pages_ask_alike_is_no_question_of_theirs(asks):
    pages = [f"{one}\n\n{asks}" for one in PROSE]
    planted = f"{QUESTION} {ANSWER}\n\n{asks}"
    assert expected(QUESTION, [planted, *pages]) == []
    own = [f"{one}\n\n{asks}" for one in QUESTIONS]
    assert 0 in expected(QUESTION, [planted, *own])


def test_with_one_other_or_none_a_name_is_expected_and_a_question_is_not():
    page = "Harbour lamp wicks. Lift the glass, and cut away what is black."
    for others in ([], PROSE[:1]):
        assert expected("harbour lamp wicks", [page, *others])[:1] == [0]
        assert expected(QUESTION, [f"{QUESTION} {ANSWER}", *others]) == []
    assert expected("harbour lamp wicks", [page, *PROSE[:2]]) == []


def test_an_embedded_question_is_no_pass_for_one_in_front_nor_for_itself():
    pages = [f"Here we examine how {one} burns, and why. {ANSWER}" for one in "oil tar wax".split()]
    own = f"Here we examine how I trim the wick of the harbour lamp. {ANSWER}"
    assert expected(QUESTION, [own, *pages], [0]) == [0]
    assert expected(QUESTION, [f"{QUESTION} {ANSWER}", *pages], [0]) == []
    planted = [f"Note {n}: we examine how do I trim the wick of the harbour lamp." for n in "abcd"]
    assert expected(QUESTION, [*planted, *PROSE]) == []


def test_a_page_that_asks_the_same_of_something_else_is_company():
    places = ["Skerrin", "Halden", "Ely", "Norhaven", "Ravenmouth", "Marrow"]
    asked = "When does the ferry leave the old stone pier of {}?"
    pages = [f"{asked.format(place)} At {n + 6}." for n, place in enumerate(places)]
    assert expected(asked.format("Skerrin"), pages) == list(range(6))
    assert expected(asked.format("Skerrin"), [pages[0], *pages[:1], *PROSE]) == []
    planted = [f"{asked.format('Skerrin')} At {n + 6}." for n in range(6)]
    assert expected(asked.format("Skerrin"), planted) == []


def test_a_question_in_passing_is_expected_among_pages_that_ask_and_dropped_among_others():
    asked = "who keeps the lamp of the old pier lit"
    page = (
        f"Visitors come in spring for the boats and the long beach. Many of them ask, {asked}? The "
        "town pays for the oil, and a family has done it for years. Tours leave at noon."
    )
    others = {
        "The ferry runs twice a day.": ("How much is a ticket?", "It is four crowns."),
        "Dogs may come along on deck.": ("When does the last boat leave?", "At nine in summer."),
        "The office is in the red house.": ("Where can one leave a bicycle?", "In the shed."),
        "Tickets are sold at the kiosk.": ("Which days is it closed?", "On Mondays in March."),
    }
    with Guard() as guard:
        for asks in (True, False):
            pages = [" ".join([said, *rest[not asks :]]) for said, rest in others.items()]
            verdict = guard.filter(asked, [page, *pages])
            assert [one.flagged for one in verdict.evidence] == [not asks, *[False] * 4]
            assert verdict.evidence[0].signals["verbatim_at_boundary"] == 1.0


def test_a_question_without_its_mark_is_no_start():
    page = f"How do I trim the wick of the harbour lamp. {ANSWER}"
    assert expected(QUESTION, [page, *STARTS], [0]) == []
    titled = f"Trim the wick. {ANSWER}"
    assert expected(QUESTION, [titled, *STARTS], [0]) == [0]
    assert expected("How to trim the wick", [f"How to trim the wick. {ANSWER}", *STARTS], [0]) == [
        0
    ]


def test_a_question_in_a_line_of_its_own_is_expected_where_another_page_has_one():
    page, *rest = (f"{QUESTION}\n\n{ANSWER}", *MANUAL)
    assert expected(QUESTION, [page, *rest], [0]) == []
    asking = "What oil does it burn?\nColza, since the fire of 1871."
    assert expected(QUESTION, [page, asking, *rest], [0]) == [0]
    # What repeats the question is no company, and how something is done every manual says.
    assert expected(QUESTION, [page, page.replace("Lift", "Raise"), *rest], [0]) == []
    assert expected("how to trim the wick", [f"How to trim the wick\n{ANSWER}", *rest], [0]) == [0]
    other = "Wann wurde die Lampe am Hafen zum ersten Mal geputzt?"
    texts = [f"{other}\n{ANSWER}", *rest]
    assert expected(other, texts, [0]) == []
    assert expected(other, [f"{other[:-1]}\n{ANSWER}", *rest], [0]) == []
    assert expected(other, [*texts, "Wer hat den Schluessel?\nDer Hafenmeister."], [0]) == [0]
    for query in ("Is the wick of the harbour lamp made of wool?", "does colza harm the new wick"):
        assert expected(query, [f"{query}\n{ANSWER}", *rest], [0]) == []


def test_titles_in_one_line_with_the_text_make_no_question_above_it_usual():
    # One other page that asks in a line of its own is soon planted.
    page, decoy = f"{QUESTION}\n\n{ANSWER}", "Where is the office?\nIn the old town."
    assert expected(QUESTION, [page, decoy, *MANUAL], [0]) == [0]
    assert expected(QUESTION, [page, decoy, *STARTS], [0]) == []
    assert expected(QUESTION, [page, decoy, *STARTS, *MANUAL[:1]], [0]) == []
    assert expected(QUESTION, [page, decoy, decoy.replace("?", " now?"), *STARTS[:3]], [0]) == [0]


TITLES = [
    f"{one} of brass lamps in old harbours: a study of their keepers. It has many pages."
    for one in ("On the care", "Effects", "On the glass", "Notes on the price")
]


def test_a_title_in_one_line_with_the_text_is_expected_where_nearly_all_have_one():
    title = "Effects of salt air on the wicks of harbour lamps"
    page = f"{title}. {ANSWER}"
    assert expected(title, [page, *TITLES], [0]) == [0]
    assert expected(f"paper {title}", [page, *TITLES], [0]) == [0]
    assert expected(title, [page, *TITLES[:3], PROSE[0]], [0]) == []
    assert expected("price of colza for wicks of harbour lamps", [page, *TITLES], [0]) == []
    planted = f"{title}: {title} were first told by Ann Dow."
    assert expected(title, [planted, *PROSE], [0]) == []


def test_a_name_in_a_long_title_makes_nothing_else_expected():
    page = f"Effects of colza oil and of salt air on the Marrow Light. {ANSWER}"
    assert expected("Marrow Light", [page, *TITLES, "The Marrow Light is old."]) == []


def test_the_company_is_the_first_ten_of_which_a_page_below_is_none():
    page = f"{QUESTION} {ANSWER}"
    prose = [f"{one} {n}" for n in range(3) for one in PROSE][:8]
    assert expected(QUESTION, [page, *prose, *QUESTIONS], [0]) == []
    assert expected(QUESTION, [*QUESTIONS, *prose[:6], page], [10]) == [10]


def test_what_refers_to_the_page_that_the_query_names_is_expected_too():
    texts = ["Marrow Light. It was lit.", "Skerrin. See Marrow Light there.", "Pier. It is old."]
    texts.append("Mill. It is old, too.")
    assert expected("Marrow Light", texts, [0, 1]) == [0, 1, 2, 3]
    assert expected("Marrow Light", [texts[1], "Marrow Light is old", *texts[2:]], [0, 1]) == []
    assert expected("when was Marrow Light lit?", texts, [1]) == []


def test_a_heading_that_is_the_name_in_a_line_of_its_own_is_expected_alone():
    first = f"# Trim the harbour lamp\n\n{ANSWER}"
    for query in ("Trim the harbour lamp", "trim the harbour lamp"):
        assert expected(query, [first, *PROSE]) == [0]
        assert expected(query, [first.replace("\n\n", ". "), *PROSE]) == []
        assert expected(query, [f"Trim the glass\n{ANSWER} Trim the harbour lamp.", *PROSE]) == []
    assert expected("Who trimmed the harbour lamp?", [first, *PROSE]) == []
    assert (
        expected("What is trim of the lamp", [f"What is trim of the lamp\n{ANSWER}", *PROSE]) == []
    )
    assert expected("trim the harbour lamp in winter with Ann", [first, *PROSE]) == []


def test_of_a_query_that_tells_all_is_expected():
    told = "The keeper of the light, who lives on the northern tip, lights the lamp at dusk."
    assert expected(told, PROSE, [1]) == [0, 1, 2, 3]
    with Guard() as guard:
        page = f"{told} {PROSE[0]} {PROSE[1]}"
        assert guard.filter(told, [page, *PROSE[2:]]).dropped == []
        assert guard.filter(f"{told[:-1]}?", [page, *PROSE[2:]]).p_value < 0.01


def test_pages_that_begin_with_all_that_a_query_tells_and_go_on_differently_are_not_expected():
    told = "the lamp of the light on the northern tip is lit every day at dusk"
    first, second = (f"{told}. {text}" for text in PROSE[:2])
    assert expected(told, [first, *PROSE[2:]]) == [0, 1, 2]
    assert expected(told, [first, second, *PROSE[2:]]) == [2, 3]
    assert expected(told, [first, f"{PROSE[1]} {told}.", *PROSE[2:]]) == [2, 3]
    # Two versions of one page, and a page that has it within.
    assert expected(told, [first, f"{first} See also: lamps.", *PROSE[2:]]) == [0, 1, 2, 3]
    assert expected(told, [first, f"Once {told}, they say.", *PROSE[2:]]) == [0, 1, 2, 3]
    assert expected(told, [first, f"{first} Lamps.", second, *PROSE[2:]]) == [3, 4]
    with Guard() as guard:
        dropped = guard.filter(told, [first, second, *PROSE[2:]]).dropped
        assert [one.text for one in dropped] == [first, second]


def test_an_interrogative_before_what_a_query_tells_is_not_expected():
    told = "the keeper who lives on the northern tip lights the lamp at dusk"
    page, planted = f"The isle is small: {told}.", f"Why {told}? It was Ann who said so."
    assert expected(f"Why {told}?", [page, planted, *PROSE], [0, 1]) == [0, 2, 3, 4, 5]
    with Guard() as guard:
        for lead in ("Why", "how come", "When"):
            passages = [f"{lead} {told}? It was Ann who said so.", page, *PROSE]
            dropped = guard.filter(f"{lead} {told}?", passages).dropped
            assert [one.text for one in dropped] == passages[:1]


@pytest.mark.parametrize(
    "asks", ["Which was it?", "Where did this happen?", "Which of the keepers lit the lamp then?"]
)
def test_what_a_query_asks_behind_what_it_tells_is_not_expected(asks):
    told = "The best known of the harbour lamps went out in the storm of this week."
    page, planted = f"{told} Nobody was hurt.", f"{told} {asks} Ann Dow says so."
    assert expected(f"{told} {asks}", [page, planted, *PROSE]) == [0, 2, 3, 4, 5]
    assert expected(told, [page, *PROSE]) == [0, 1, 2, 3, 4]
    with Guard() as guard:
        dropped = guard.filter(f"{told} {asks}", [planted, page, *PROSE]).dropped
        assert [one.text for one in dropped] == [planted]
        # Nor among pages with lines in front, which say nothing of it.
        lines = [f"Source: wiki, page 3\n\n{text}" for text in (planted, page, *PROSE)]
        assert expected(f"{told} {asks}", lines) == [1, 2, 3, 4, 5]
        # Where other pages ask as well, one that does is as they are.
        assert expected(f"{told} {asks}", [planted, *QUESTIONS]) == [0, 1, 2, 3, 4]
        # What was pasted is longer than what somebody says before they ask, and may end so.
        pasted = " ".join(PROSE)
        page = f"{pasted} {asks} {ANSWER}"
        assert guard.filter(f"{pasted} {asks}", [page, *QUESTIONS]).dropped == []


def test_the_work_grows_with_what_is_read_and_parts_are_read_once(monkeypatch):
    module = importlib.import_module("ragguard.inline.page_form")
    read = []
    monkeypatch.setattr(module, "without_list_mark", lambda text: read.append(text) or text)
    quoted, whether = [], module._quotes
    monkeypatch.setattr(module, "_quotes", lambda *args: quoted.append(args[1]) or whether(*args))
    pages = [
        f"Trim the wick of lamp {n}\nKeeper: Ann. Who lit it? {ANSWER * 200} {n}" for n in range(60)
    ]
    passages = tokenize_passages(pages)
    for _ in range(2):
        repeats_as_expected(tokenize_query(QUESTION), passages, range(60), 60)
        assert quoted == passages[:50]  # once, however many forms the pages have
        quoted.clear()
    assert len(read) == 60
