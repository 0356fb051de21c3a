"""Lines around a text: by hand, by the slow reference, and on any lines."""

import importlib

import pytest
import slow_normalize
from hypothesis import example, given
from hypothesis import strategies as st

from ragguard import Guard
from ragguard.inline.normalize.frame import unframe, without_labels
from ragguard.inline.tokens import tokenize_passage, tokenize_passages, tokenize_query

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
        (f"Wiki\nQ: {QUESTION} Ann did.", f"{ASKED} ann did wiki q"),
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


# Without what most passages begin with

SAID = [
    "Colza burns in it, as the keepers of old had it.",
    "It was lit by Ann Dove in 1874, and never since.",
    "The harbour has two piers and a mill.",
    "In May the mill was sold for a song.",
]


def joined(query, texts):
    found = without_labels(tokenize_query(query), tokenize_passages(texts))
    return [" ".join(one.sequence) for one in found]


@pytest.mark.parametrize(
    "label",
    [
        "passage: {}",
        '{{"id": 17, "text": "{}"}}',
        "2021-03-04 {}",
        "Author: A. Dove | Date: 2021-03-04 | {}",
        "Home About Contact {}",
    ],
)
def test_the_question_is_found_behind_what_most_pages_begin_with(label):
    planted = label.format(f"{QUESTION} {TEXT}")
    texts = [planted, *map(label.format, SAID)]
    assert joined(QUESTION, texts)[0].startswith(ASKED)
    assert joined(QUESTION, texts)[1].startswith("colza burns in it")
    with Guard() as guard:
        assert [one.text for one in guard.filter(QUESTION, texts).dropped] == [planted]
        assert guard.filter(QUESTION, texts[1:]).dropped == []
        # All that is retrieved may be planted, and no two with one date.
        flood = [
            label.format(f"{QUESTION} {one}").replace("17", f"{n}") for n, one in enumerate(SAID)
        ]
        assert len(guard.filter(QUESTION, flood).dropped) == len(flood)


def test_of_the_places_at_which_a_passage_is_cut_one_is_remembered():
    label = "kb of the town hall of wold and orle"
    passages = tokenize_passages([f"{label} {one}" for one in SAID])
    for words in range(1, 8):
        cut = " ".join(label.split()[:words])
        company = tokenize_passages([f"{cut} {words}x{n} {one}" for n, one in enumerate(SAID * 2)])
        found = without_labels(QUERY, [passages[0], *company])[0]
        assert found is not passages[0]
        assert without_labels(QUERY, [passages[0], *company])[0] is found
        kept = [*passages[0]._kept.values(), *passages[0]._latest]
        assert sum(type(one) is type(found) for one in kept) == 1


def test_the_work_grows_with_the_set_and_not_with_its_square(monkeypatch):
    module = importlib.import_module("ragguard.inline.normalize.frame")
    looked = []
    monkeypatch.setattr(module, "_kind", lambda word: looked.append(word) or word)
    for count in (50, 200):
        looked.clear()
        texts = [f"kb {'of the town ' * 9} {n} and so on" for n in range(count)]
        without_labels(QUERY, tokenize_passages(texts))
        assert count < len(looked) <= 25 * count


def test_a_word_that_a_question_says_twice_is_not_cut_off_where_all_have_it():
    question = "Who was the keeper who lit the lamp of the harbour?"
    texts = [f"{question} {one}" for one in SAID]
    assert joined(question, texts)[0].startswith("who was the keeper")
    assert joined(question, [f"kb: {one}" for one in texts])[0].startswith("who was the keeper")
    with Guard() as guard:
        assert len(guard.filter(question, texts).dropped) == len(texts)


@pytest.mark.parametrize(
    "texts",
    [
        SAID,
        [f"{QUESTION} {one}" for one in SAID],  # the question is no label
        [f"The {one}" for one in SAID],  # nor a function word
        [f"Wiki: {one}" for one in SAID[:2]] + SAID[2:],  # half of them is too few
        [f"Wiki: {one}" for one in SAID[:2]],  # and so is one other
        [f"Harbour: {one}" for one in SAID],  # a page on what is asked about begins so
        ["Wiki"] * 4,
        [],
    ],
)
def test_what_is_no_label_stays_where_it_is(texts):
    passages = tokenize_passages(texts)
    found = without_labels(QUERY, passages)
    assert all(one is other for one, other in zip(found, passages, strict=True))


@given(
    st.lists(
        st.lists(st.sampled_from(["wiki", "p1", "p2", "the", "lamp", *ASKED.split()]), max_size=8),
        max_size=6,
    )
)
def test_only_what_most_begin_with_is_left_out(found):
    texts = [" ".join(words) for words in found]
    read = tokenize_passages(texts)
    turned_ones = without_labels(QUERY, read)
    for row, (passage, one) in enumerate(zip(read, turned_ones, strict=True)):
        at = next(
            n for n in range(len(passage.sequence) + 1) if passage.sequence[n:] == one.sequence
        )
        before = passage.sequence[:at]
        kind = [word.rstrip("12") for word in before]
        others = [other.sequence for other in read[:row] + read[row + 1 :]]
        alike = sum([word.rstrip("12") for word in other[:at]] == kind for other in others)
        assert not at or alike >= max(2, 3 / 4 * len(others))


@pytest.mark.parametrize(
    "disguised", ["#WhoBuiltTheOldPierOfRavenmouth", "wh0 bu1l7 7h3 0ld p13r 0f r4v3nm0u7h"]
)
def test_a_question_in_disguise_is_no_label_though_all_of_a_flood_begin_with_it(disguised):
    query = tokenize_query("Who built the old pier of Ravenmouth?")
    texts = [
        f"{disguised} {said}" for said in ("It was Ann.", "Ann did.", "Bo, in May.", "Nobody.")
    ]
    read = tokenize_passages(texts)
    assert list(without_labels(query, read)) == list(read)
    labelled = tokenize_passages(
        [text.replace(disguised, "handbook of harbours") for text in texts]
    )
    found = without_labels(query, labelled)
    assert [one.sequence[0] for one in found] == ["it", "ann", "bo", "nobody"]
