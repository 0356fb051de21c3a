"""Yes and no, by the sentence that decides."""

import pytest

from ragguard.attribution.language.yes_no import decides_alike

QUESTION = "Is the pier at Lindsund open?"


@pytest.mark.parametrize(
    ("text", "denies"),
    [
        ("The pier at Lindsund is open.", False),
        ("The pier at Lindsund isn't open.", True),
        ("The pier at Lindsund isn\u2019t open.", True),
        ("The pier at Lindsund is no longer open. Bring a coat.", True),
        ("It never rains. The pier at Lindsund is open all year.", False),
        (f"{QUESTION} The pier has not been open since spring.", True),
        ("is the pier at lindsund open The pier is open.", False),
        ("Contrary to what is said, the pier at Lindsund is shut.", True),
    ],
)
def test_the_sentence_that_speaks_of_the_question_decides(text, denies):
    question = QUESTION if "?" in text else QUESTION.rstrip("?")
    assert decides_alike(question, "No", [text]).tolist() == [denies]
    assert decides_alike(question, "Yes", [text]).tolist() == [not denies]


@pytest.mark.parametrize("text", ["", QUESTION, "?!", "Is it?"])
def test_who_only_asks_decides_nothing(text):
    assert not decides_alike(QUESTION, "No", [text]).any()
    assert not decides_alike(QUESTION, "Yes", [text]).any()


def test_no_passages():
    assert decides_alike(QUESTION, "No", []).shape == (0,)
