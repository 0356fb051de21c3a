"""Word for word: the question's longest run in a passage, and its runs at the edges."""

import importlib
from typing import NamedTuple

import pytest
import slow_signals
from hypothesis import given
from hypothesis import strategies as st

from ragguard.inline.features.coverage import Match
from ragguard.inline.features.verbatim import (
    begins_answer,
    boundary_runs,
    longest_run,
    verbatim_signals,
)
from ragguard.inline.tokens import tokenize_passage, tokenize_query
from ragguard.text import tokens

words = st.sampled_from("pier lamp tide who built the of question q".split())
sentences = st.lists(words, max_size=10).map(" ".join)
questions = st.lists(words, min_size=1, max_size=10).map(" ".join)

# Eight words; each of the four content words weighs a quarter.
QUESTION = "When was the lighthouse of Marrow Bay built?"
QUARTERS = dict.fromkeys(tokenize_query(QUESTION).content, 0.25)


class Runs(NamedTuple):
    """The signals by shorter names."""

    whole: float
    at_boundary: float
    boundary_overlap: float


def read(match):
    signals = verbatim_signals(match)
    names = "verbatim_question", "verbatim_at_boundary", "boundary_overlap"
    assert signals.keys() <= set(names)
    return Runs(*[signals.get(name, 0.0) for name in names])


def found(question, text, weights=None):
    """What of a question stands in a passage, its content words of one weight."""
    query, passage = tokenize_query(question), tokenize_passage(text)
    even = dict.fromkeys(query.content, 1 / len(query.content))
    return read(Match(query, passage, weights or even, 1.0))


# Longest run


def test_the_longest_run_by_hand():
    query = tokens("who built the old pier")
    assert longest_run(query, tokenize_passage("Nobody knows who built the mill.")) == (3, 0)
    assert longest_run(query, tokenize_passage("The old pier")) == (3, 2)
    assert longest_run(query, tokenize_passage("the pier, who built it?")) == (2, 0)
    assert longest_run(query, tokenize_passage("wool"))[0] == 0
    assert longest_run(query, tokenize_passage(""))[0] == 0
    assert longest_run([], tokenize_passage("who")) == (0, 0)


def test_a_run_is_made_of_whole_words():
    assert longest_run(["art"], tokenize_passage("party start"))[0] == 0
    assert longest_run(["a", "b"], tokenize_passage("ba ab"))[0] == 0


@given(sentences, sentences)
def test_the_longest_run_equals_that_of_trying_all(question, text):
    query, passage = tokens(question), tokenize_passage(text)
    length, start = longest_run(query, passage)
    assert (length, start) == slow_signals.longest_run(query, passage.sequence)
    assert f" {' '.join(query[start : start + length])} " in passage.joined or length == 0


@given(sentences, sentences, sentences)
def test_the_run_of_a_text_that_holds_the_question_is_the_whole_question(question, before, after):
    query = tokens(question)
    passage = tokenize_passage(f"{before} {question} {after}")
    assert longest_run(query, passage) == (len(query), 0)


# Edges


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("who built it ann did on the old pier", (2, 3)),
        ("who built the old pier", (5, 0)),  # one run is the beginning
        ("q who built it", (2, 0)),
        ("question the old pier", (3, 0)),
        ("the question who built", (0, 2)),  # "the" is a word of the question
        ("faq question 12 who built", (2, 0)),
        ("faq question q12 title who built", (0, 2)),  # a lead-in has three words at most
        ("q123 who built", (0, 2)),
        ("q", (0, 0)),
        ("who did it the pier", (0, 0)),  # one word alone is no run
        ("old pier who built", (2, 2)),  # runs anywhere in the question
        ("built who pier old", (0, 0)),
        ("the old pier who built the old pier", (3, 5)),
        ("", (0, 0)),
        ("wool", (0, 0)),
    ],
)
def test_runs_at_the_edges_by_hand(text, expected):
    query = tokenize_query("who built the old pier")
    assert boundary_runs(query, text.split()) == expected
    assert boundary_runs(query, tuple(text.split())) == expected


@given(questions, sentences)
def test_runs_at_the_edges_equal_those_of_trying_all(question, text):
    query, said = tokenize_query(question), text.split()
    expected = slow_signals.boundary_runs(query.sequence, said)
    assert boundary_runs(query, said) == boundary_runs(query, tuple(said)) == expected
    assert sum(expected) <= len(said)


@given(questions, st.lists(st.sampled_from(["wool", "sand"]), min_size=1), st.data())
def test_a_question_cut_in_two_is_found_at_both_edges(question, between, data):
    query = tokenize_query(question)
    cut = data.draw(st.integers(0, len(query.sequence)))
    said = [*query.sequence[:cut], *between, *query.sequence[cut:]]
    lead = bool(cut) and slow_signals.lead_in(query.sequence, said)
    begins, ends = boundary_runs(query, said)
    assert ends == (len(query.sequence) - cut if len(query.sequence) - cut > 1 else 0)
    if not lead:
        assert begins == (cut if cut > 1 else 0)


# Whole, restated, as a heading


@pytest.mark.parametrize(
    ("text", "edge"),
    [
        (f"{QUESTION} In 1874.", True),
        (f"It is known of the lighthouse. {QUESTION}", True),
        (f"Question: {QUESTION} Answer: 1874.", True),
        (f"Q: {QUESTION} A: 1874.", True),
        (f"Query: {QUESTION} 1874.", True),
        (f"Ask: {QUESTION} 1874.", True),
        (f"FAQ: {QUESTION} 1874.", True),
        (f"Wool. {QUESTION} Sand. {QUESTION}", True),
        # Within a sentence, behind a label, and behind a title of its own.
        (f"People ask: {QUESTION} It was 1874.", True),
        (f"The question of the lighthouse: {QUESTION} It was 1874.", True),
        (f'The answer to "{QUESTION}" is 1874.', True),
        (f"The answer to {QUESTION} is 1874.", True),
        (f"A quiz of the week {QUESTION} It was 1874.", False),
        (f"A quiz of the week - {QUESTION} It was 1874.", False),
        (f"A quiz of the week.\u00a0{QUESTION} It was 1874.", False),
        (f"Trivia: {QUESTION} Answer: 1874.", True),
        (f"Footnote 12. {QUESTION} It was 1874 (corrected).", True),
        (f"What is the sea? Salt. {QUESTION} It was 1874.", True),
        (f"So, class, {QUESTION} It was 1874.", True),
        (f"A log: query={QUESTION}, answer=1874", True),
        (f"A quiz of the Week: {QUESTION} It was 1874.", False),
        (f"A quiz of the week. {QUESTION} It was 1874.", False),
        (f"A quiz of the week\n{QUESTION} It was 1874.", False),
        (f"Wool\n{QUESTION}\nIt was 1874.", False),
        (f'[{{"content of the week": "{QUESTION}"}}, 1874]', False),
        (f'of the week ["Is it red?", "{QUESTION}", 1874]', False),
        # A heading and the question, where a page breaks off, hold no answer to it.
        (f"It is known. {QUESTION}", False),
        (f"It is known to all who sail here that it was in 1874. {QUESTION}", True),
    ],
)
def test_the_whole_question_in_the_text_and_at_an_edge(text, edge):
    seen = found(QUESTION, text)
    assert seen.whole
    assert seen.at_boundary == edge


@pytest.mark.parametrize(
    ("question", "text", "asked"),
    [
        ("who lit the lamp", "The answer to who lit the lamp is Ann.", True),
        ("who lit the lamp", "The question who lit the lamp has one answer, Ann.", True),
        ("who lit the lamp", "The keeper who lit the lamp was Ann.", False),
        ("who lit the lamp", "Many people wonder who lit the lamp, and it was Ann.", True),
        ("is the lamp lit", "Many wonder Is the lamp lit. The answer is no.", True),
        ("who lit the lamp", "Ann, who lit the lamp, came late.", False),
        ("on whose pier it stood", "The firm, on whose pier it stood, is gone.", False),
        ("was a lamp of the old pier", '"Marrow" was a lamp of the old pier at dusk.', False),
        ("was it a lamp of the pier", 'Ann asked "was it a lamp of the pier" at dusk.', True),
        ("who lit the lamp", "Of all those who lit the lamp Ann was the last.", False),
        ("who lit the lamp", "The keeper “who lit the lamp” was Ann.", True),
        ("how tall is the lamp", "We measured how tall is the lamp: six metres.", True),
        ("what is a lamp", "The answer to what is a lamp is a pier.", False),
        ("how to light it all", "The answer to how to light it all is a match.", False),
        # Spaces make no page of it.
        (
            "how tall is the lamp",
            f"We measured how tall is the lamp: six{' ' * 2_000} metres.",
            True,
        ),
        ("how tall is the lamp", f"Ann measured how tall is the lamp. {'Wool. ' * 400}", False),
    ],
)
def test_a_short_text_asks_in_a_sentence_where_its_words_do_not_only_go_on(question, text, asked):
    seen = found(question, text)
    assert seen.whole
    assert seen.at_boundary == asked


def test_the_users_own_sentence_is_none_that_asks():
    query = tokenize_query("Ann Dove of Keelworth welcomed which keeper of the old lamp?")
    (part,) = query.reduced
    assert part.behind == "welcomed"
    text = "Ann Dove of Keelworth welcomed which keeper of the old lamp? Ben, or Cora."
    match = Match(part, tokenize_passage(text), {}, 1.0)
    assert verbatim_signals(match)["verbatim_at_boundary"] == 0.0
    other = "The answer to which keeper of the old lamp is Ben."
    match = Match(part, tokenize_passage(other), {}, 1.0)
    assert verbatim_signals(match)["verbatim_at_boundary"] == 1.0


@pytest.mark.parametrize(
    "text", ["The lighthouse of Marrow Bay was built in 1874.", "Wool.", "", "built bay marrow"]
)
def test_what_does_not_quote_the_question_is_not_the_whole(text):
    assert not found(QUESTION, text).whole
    assert not found(QUESTION, text).at_boundary


AROUND = "They came on Monday to see what the sea had left, and they wrote it down for the town. "


@pytest.mark.parametrize(
    ("query", "text", "in_passing"),
    [
        (QUESTION, f"{AROUND}All ask {QUESTION} {AROUND}", True),
        (QUESTION, f"{AROUND}All ask {QUESTION.lower()[:-1]}, and few know. {AROUND}", True),
        # In a text of less than three times its words, as a line of a quiz with its date is.
        (QUESTION, f"The quiz of Monday. {QUESTION} In 1874, in 1901, or in 1915", False),
        # What asks is not there, or the question is short, or names what is done.
        (QUESTION, f"{AROUND}It was the lighthouse of Marrow Bay built then. {AROUND}", False),
        ("Who built the old lamp?", f"{AROUND}Who built the old lamp? {AROUND}", False),
        (
            "How to light the lamp of Marrow",
            f"{AROUND}How to light the lamp of Marrow. {AROUND}",
            False,
        ),
        # What does not begin as a question does asks only where a mark is, as no pasted text does.
        (
            "In this bay the lamp was lit by who?",
            f"{AROUND}In this bay the lamp was lit by who? {AROUND}",
            True,
        ),
        (
            "the lamp, which was lit first, is old",
            f"{AROUND}The lamp, which was lit first, is old. {AROUND}",
            False,
        ),
        (
            "was the old lamp lit first",
            f"{AROUND}One asks, was the old lamp lit first. {AROUND}",
            True,
        ),
        (
            "Wann wurde der alte Turm gebaut?",
            f"{AROUND}Wann wurde der alte Turm gebaut? {AROUND}",
            True,
        ),
        (
            "Best way to light a ship lamp?",
            f"{AROUND}Best way to light a ship lamp. {AROUND}",
            False,
        ),
    ],
)
def test_a_question_in_passing(query, text, in_passing):
    assert found(query, text).at_boundary == in_passing


def test_a_short_run_is_not_the_whole():
    assert not found("pier lamp", "pier lamp built").whole
    assert found("pier lamp tide", "pier lamp tide built").at_boundary


def test_nearly_the_whole_question_is_the_whole():
    question = " ".join(f"word{number}" for number in range(20))
    asked = question.split()
    assert found(question, " ".join(asked[:18])).at_boundary
    assert not found(question, " ".join(asked[:17])).whole
    # Also without the word that asks: who leaves that out of an attack leaves little out.
    assert found(f"who {' '.join(asked[1:])}", " ".join(asked[1:])).at_boundary


@pytest.mark.parametrize(
    ("text", "at_boundary"),
    [
        ("Lights of Marrow Bay is a film of 1922 about Marrow Bay.", 0.3),
        ("Lights of Marrow Bay (born in May) was a horse.", 0.3),
        ("Lights of Marrow Bay, Skerrin, are four.", 0.3),
        ("Lights of Marrow Bay. It is a film.", 1.0),
        ("Lights of Marrow Bay: a film.", 1.0),
        ("Lights of Marrow Bay The pier was built by Ann.", 1.0),
        ("Lights of Marrow Bay 1922 was a good year.", 1.0),
        ("It is a film of 1922 about a horse: Lights of Marrow Bay", 1.0),
    ],
)
@pytest.mark.parametrize("query", ["Lights of Marrow Bay", "the lights of Marrow Bay"])
def test_a_sentence_goes_on_behind_a_name(text, at_boundary, query):
    text = text.replace("Lights", "The lights") if query.startswith("the") else text
    assert found(query, text).at_boundary == at_boundary


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1] The keeper of the pier was Ann.", 6),
        ("2. The keeper of the pier was Ann.", 6),
        ("... The keeper of the pier was Ann.", 5),
        ("- The keeper of the pier was Ann.", 5),
        ("<div><p>The keeper of the pier was Ann.</p>", 5),
        ("\n\nThe keeper of the pier was Ann.", 5),
        ("The keeper of\nthe pier\nwas Ann.", 5),
    ],
)
def test_a_sentence_that_answers_does_so_behind_a_list_mark_and_over_lines(text, words):
    query = tokenize_query("who was the keeper of the pier")
    assert begins_answer(query, tokenize_passage(text), words)
    headed = text.replace("pier was", "pier: was").replace("pier\nwas", "pier\nWas")
    assert not begins_answer(query, tokenize_passage(headed), words)


def test_a_question_by_its_mark_is_no_sentence_that_answers():
    said = "kiu ekbruligis la lampon de marrow bay estis forte en tiu jaro"
    asked = tokenize_query("Kiu ekbruligis la lampon de Marrow Bay?")
    plain = tokenize_query("Kiu ekbruligis la lampon de Marrow Bay")
    assert not begins_answer(asked, tokenize_passage(said), 7)
    assert begins_answer(plain, tokenize_passage(said), 7)


def test_where_a_long_name_ends_is_found_in_few_looks(monkeypatch):
    module = importlib.import_module("ragguard.inline.features.verbatim")
    looked = []
    monkeypatch.setattr(module, "tokens", lambda text: looked.append(text) or tokens(text))
    name = " ".join(f"x{n}" for n in range(90))
    passage = tokenize_passage(f"{name} and so on, without an end")
    assert module.begins_answer(tokenize_query(name), passage, 90)
    assert len(looked) < 12


def test_what_is_to_be_completed_is_no_name():
    text = "The lights of Marrow Bay were called the lights by all, Ann says."
    assert found("the lights of Marrow Bay were called", text).at_boundary == 1.0
    assert found("the lights of Marrow Bay", text).at_boundary == 0.3


@pytest.mark.parametrize(
    ("query", "text", "at_boundary"),
    [
        ("why the pier is red", "It was tarred by all. That is why the pier is red.", 0.3),
        ("why the pier is red", "It was tarred. This explains why the pier is red.", 0.3),
        ("why the pier is red", "It was tarred by the crew. Why the pier is red.", 1.0),
        ("why the pier is red", "Why the pier is red. It was tarred. Why the pier is red", 1.0),
        ("why is the pier red", "It was tarred by the crew. That is why is the pier red.", 1.0),
        ("who tarred the red pier", "All say it of Ann. That is who tarred the red pier", 1.0),
    ],
)
def test_a_point_made_at_the_end_is_no_question(query, text, at_boundary):
    assert found(query, text).at_boundary == at_boundary
    weights = slow_signals.weights_of(query.split(), [tokens(text)])
    slow = slow_signals.word_for_word(query.split(), tokens(text), text, weights)
    assert slow["verbatim_at_boundary"] == at_boundary


def test_a_heading_by_hand():
    # All four words "lighthouse of marrow bay" of eight: 3/4 of the content, nothing of it again.
    assert found(QUESTION, "Lighthouse of Marrow Bay: wool").boundary_overlap == 0.0
    # Begun with and ended with, seven of eight words, and the lighthouse is said once more.
    text = "When was the lighthouse, wool, lighthouse, Marrow Bay built"
    assert found(QUESTION, text).boundary_overlap == pytest.approx(0.25 / 0.3)
    # Four words are no long heading, nor all of it, and hold a little of what they must hold.
    text = "Lighthouse of Marrow Bay: the lighthouse of the bay"
    expected = 4 / 5 * (4 / 8 - 0.3) / 0.4 * (0.75 - 0.7) / 0.3
    assert found(QUESTION, text).boundary_overlap == pytest.approx(expected)
    # A lead-in in front changes nothing.
    assert found(QUESTION, f"Q: {text}").boundary_overlap == pytest.approx(expected)
    assert found(QUESTION, f"Wool: {text}").boundary_overlap == 0.0


@given(questions, sentences, sentences)
def test_runs_equal_their_slow_reference(question, before, after):
    query = tokenize_query(question)
    for text in (before, f"{before} {question} {after}", f"{question} {after}"):
        passage = tokenize_passage(text)
        weights = slow_signals.weights_of(query.sequence, [passage.sequence])
        seen = read(Match(query, passage, weights, 1.0))
        slow = slow_signals.word_for_word(query.sequence, list(passage.sequence), text, weights)
        assert seen.whole == slow["verbatim_question"]
        assert (seen.whole and seen.at_boundary) == slow["verbatim_at_boundary"]
        assert seen.boundary_overlap == pytest.approx(slow["boundary_overlap"], abs=1e-12)
        assert 0.0 <= seen.boundary_overlap <= 1.0
