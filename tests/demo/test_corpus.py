import re

import pytest

from ragguard.demo.corpus import ATTACKS, load_corpus, poison
from ragguard.errors import InvalidInputError
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.text import tokens

CORPUS = load_corpus()
BY_ID = {passage.id: passage for passage in CORPUS.passages}


def holds(text: str, answer: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(answer.lower())}(?!\w)", text.lower()) is not None


def test_counts_and_ids():
    assert [p.id for p in CORPUS.passages] == [f"p{n:03d}" for n in range(1, 421)]
    assert [q.id for q in CORPUS.questions] == [f"q{n:02d}" for n in range(1, 65)]
    assert len({p.text for p in CORPUS.passages}) == 420
    assert len({q.text for q in CORPUS.questions}) == 64
    assert all(p.metadata["title"] for p in CORPUS.passages)


@pytest.mark.parametrize("question", CORPUS.questions, ids=lambda q: q.id)
def test_answers(question):
    assert 1 <= len(question.golden) <= 3
    for golden in question.golden:
        assert holds(BY_ID[golden].text, question.correct_answer)
    liars = [
        passage.id
        for passage in CORPUS.passages
        if holds(f"{passage.metadata['title']} {passage.text}", question.incorrect_answer)
    ]
    assert liars == []


@pytest.mark.parametrize("question", CORPUS.questions, ids=lambda q: q.id)
def test_poison_texts(question):
    counts = {attack: len(question.texts[attack]) for attack in ATTACKS}
    assert counts == {
        "statement": 5,
        "multi_answer": 4,
        "instruction": 3,
        "article": 2,
        "refusal": 2,
    }
    for attack in ("statement", "instruction", "article"):
        assert all(holds(text, question.incorrect_answer) for text in question.texts[attack])
    for attack in ("statement", "multi_answer", "instruction", "article"):
        assert not any(holds(text, question.correct_answer) for text in question.texts[attack])
    for text in question.texts["multi_answer"]:
        assert not holds(text, question.incorrect_answer)


def test_no_poison_text_is_a_benign_one():
    planted = [text for q in CORPUS.questions for attack in ATTACKS for text in q.texts[attack]]
    assert len(planted) == len(set(planted)) == 64 * 16
    assert not set(planted) & {passage.text for passage in CORPUS.passages}


def test_prepended_poison_starts_with_the_question_as_a_sentence():
    with_mark = next(q for q in CORPUS.questions if q.text.endswith("?"))
    without = next(q for q in CORPUS.questions if q.text[-1].isalnum())
    for question, end in ((with_mark, " "), (without, ". ")):
        planted = poison(question, "statement")
        assert [p.text for p in planted] == [
            question.text + end + text for text in question.texts["statement"]
        ]


def test_plain_poison_is_the_text_and_count_takes_the_first():
    question = CORPUS.questions[0]
    planted = poison(question, "article", form="plain", count=1)
    assert [p.text for p in planted] == [question.texts["article"][0]]


def test_poison_of_all_kinds_and_forms_has_unique_ids():
    question = CORPUS.questions[0]
    ids = [
        p.id for a in ATTACKS for f in ("plain", "prepended") for p in poison(question, a, form=f)
    ]
    assert len(ids) == len(set(ids)) == 32


@pytest.mark.parametrize("count", [0, 6, -1])
def test_count_out_of_range(count):
    with pytest.raises(InvalidInputError, match="count must be 1 to 5"):
        poison(CORPUS.questions[0], "statement", count=count)


def test_some_pages_repeat_the_question_word_for_word():
    benign = [f" {' '.join(tokens(p.text))} " for p in CORPUS.passages]
    asked = [f" {' '.join(tokens(q.text))} " for q in CORPUS.questions]
    assert sum(any(question in text for text in benign) for question in asked) == 8


def test_golden_passages_are_found():
    base = KnowledgeBase(CORPUS.passages)
    found = [any(p.id in q.golden for p in base.retrieve(q.text, 5)) for q in CORPUS.questions]
    assert sum(found) == 64
