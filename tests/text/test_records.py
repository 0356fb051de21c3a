"""What a field of a record says, and that nothing else is taken for a record."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.text.records import field_of

FIELDS = ("answer", "text")


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ('{"answer": "Ann", "text": "Bo"}', "Ann"),
        ('{"text": "Bo", "answer": ""}', "Bo"),
        ('{"answer": 12}', "12"),
        ('{"result": {"text": "Bo"}, "more": {"answer": "Ann"}}', "Bo"),
        ('{"arguments": "{\\"answer\\": \\"Ann\\"}"}', "Ann"),
        ('{"answer": "{\\"text\\": \\"Bo\\"}"}', "Bo"),
        ("{'answer': 'Ann', 'ok': True}", "Ann"),
        ('{"messages": [{"role": "user", "text": "A"}, {"role": "user", "text": "B"}]}', "B"),
        ('{"messages": [{"role": "user", "text": "A"}, {"role": "bot", "text": "B"}]}', "A"),
    ],
)
def test_by_hand(record, said):
    assert field_of(record, FIELDS) == said


@pytest.mark.parametrize(
    "text",
    [
        "{answer}",
        "who lit {it}",
        '{"other": "Ann"}',
        '["answer", "Ann"]',
        "{" * 5_000,
        '{"a":' * 2_000 + "1" + "}" * 2_000,
        '{"answer": "' + "a" * 30_000 + '"}',
        "",
    ],
    ids=len,
)
def test_anything_else_comes_back_as_it_is(text):
    assert field_of(text, FIELDS) == text


@given(st.text())
def test_what_was_written_as_json_is_read(said):
    expected = said or json.dumps({"answer": said})
    assert field_of(json.dumps({"answer": said}), FIELDS) in (expected, field_of(said, FIELDS))
