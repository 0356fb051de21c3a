import json
import math
from enum import StrEnum

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from ragguard.audit.encoding import escape, from_json, to_json, unescape

any_text = st.text(st.characters(exclude_categories=()))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | any_text,
    lambda inner: st.lists(inner) | st.dictionaries(any_text, inner),
    max_leaves=10,
)


@given(any_text)
@example("\x100000")
@example("\x10\x00")
@example("\ud83d\ude00")
def test_texts_survive(text):
    stored = escape(text)
    assert unescape(stored) == text
    assert "\x00" not in stored
    stored.encode("utf-8")


@given(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00\x10")))
def test_ordinary_texts_are_stored_as_they_are(text):
    assert escape(text) == text


@given(json_values)
@example({"a": "\ud83d\ude00"})
def test_json_survives_the_way_into_a_text_column(value):
    assert from_json(unescape(escape(to_json(value)))) == value


def test_numpy_numbers_stay_numbers():
    value = {"a": np.float32(0.5), "b": np.int64(3), "c": np.bool_(True)}
    assert from_json(to_json(value)) == {"a": 0.5, "b": 3, "c": True}


def test_nan_and_infinity_survive():
    nan, infinity = from_json(to_json([math.nan, math.inf]))
    assert math.isnan(nan)
    assert infinity == math.inf


def test_what_json_cannot_hold_becomes_its_str():
    class Colour(StrEnum):
        RED = "red"

    assert from_json(to_json({"s": {1}, "o": 1j, "e": Colour.RED, 3: b"x"})) == {
        "s": "{1}",
        "o": "1j",
        "e": "red",
        "3": "b'x'",
    }


def test_a_value_that_has_no_str_is_kept_by_its_type():
    class Mute:
        def __str__(self):
            raise RuntimeError("no words")

    assert "Mute" in from_json(to_json({"m": Mute()}))["m"]


def test_a_cycle_ends():
    value: dict = {"a": 1}
    value["self"] = value
    assert from_json(to_json(value)) == {"a": 1, "self": "{'a': 1, 'self': {...}}"}


def test_depth_ends():
    value: list = []
    for _ in range(100_000):
        value = [value]
    assert json.loads(to_json(value))
