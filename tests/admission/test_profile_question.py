from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.admission.profile import answered_question, edges

pytestmark = pytest.mark.hypothesis


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Who lit the lamp? Ann lit the old lamp.", 2 / 3),  # lit, lamp: of three at least
        ("who built the old pier Ann built the old pier in 1874 with her own hands", 3 / 5),
        ("Ann built the old pier in 1874. Who built the old pier?", 1.0),
        ("Ann built the old pier in 1874.who built the old pier.", 1.0),
        ("Q: Who built the old pier? A: Ann.", 0.0),  # nothing is said again
        ("FAQ 3. Who built the old pier? The old pier? Ann built it.", 1.0),
        ("When the war was over the old pier was sold to Ann.", 0.0),
        ("The old pier was sold. The war was over.", 0.0),
        ("Who built the old pier?", 0.0),
        ("?", 0.0),
        ("", 0.0),
    ],
)
def test_the_share_is_counted_by_hand(text, share):
    assert answered_question(text) == pytest.approx(share)


def test_an_opening_question_without_a_mark_takes_fourteen_words():
    asked = "what is " + " ".join(f"name{n}" for n in range(13))
    assert answered_question(f"{asked} name0 name1 name12") == pytest.approx(2 / 12)


def test_a_mark_of_another_script_ends_a_question():
    assert (
        answered_question(
            "\u041a\u0442\u043e \u043f\u043e\u0441\u0442\u0440\u043e\u0438\u043b "
            "\u043c\u0430\u044f\u043a? "
            "\u041c\u0430\u044f\u043a \u043f\u043e\u0441\u0442\u0440\u043e\u0438\u043b "
            "\u0410\u043d\u043d\u0430 \u041a\u0442\u043e."
        )
        == 1.0
    )


def test_edges_are_without_labels():
    assert edges("Question: one two three four five six seven eight nine ten eleven") == (
        "one two three four five",
        "seven eight nine ten eleven",
    )
    assert edges("too short a text") == ("", "")


@given(st.text(max_size=400))
def test_any_text_has_a_share_and_edges(text):
    assert 0.0 <= answered_question(text) <= 1.0
    assert all(len(edge.split()) in (0, 5) for edge in edges(text))
