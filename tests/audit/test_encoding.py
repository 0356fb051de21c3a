import json
import math
import subprocess
import sys
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

import numpy as np
import pytest
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
    assert from_json(to_json(value)) == {"a": 1, "self": "..."}


def test_depth_ends():
    value: list = []
    for _ in range(100_000):
        value = [value]
    assert json.loads(to_json(value))


@pytest.mark.parametrize("digits", [600, 700, 4300, 4301, 100_000])
def test_whole_numbers_of_any_length_are_kept(digits):
    number = 10**digits - 1
    for value in (number, -number):
        [kept], [key] = from_json(to_json([value])), from_json(to_json({value: None}))
        assert (int(kept, 16) if isinstance(kept, str) else kept) == value
        assert int(key, 16 if "x" in key else 10) == value


def test_what_can_be_written_can_be_read_under_any_setting():
    stored = to_json([-(2**bits) for bits in range(1990, 2010)])
    code = "import sys; sys.set_int_max_str_digits(640); import json; json.load(sys.stdin)"
    done = subprocess.run(
        [sys.executable, "-c", code], input=stored, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_parts_that_are_shared_do_not_multiply():
    value: object = "ha"
    for _ in range(90):
        value = [value, value]
    found = to_json({"laughs": value, "after": 1})
    assert '"..."' in found
    assert len(found) < 10_000_000
    assert json.loads(found)["after"] == 1


def _broken_mapping():
    class Broken(dict):
        def items(self):
            raise RuntimeError("no items")

    return Broken(a=1)


def _broken_list():
    class Broken(list):
        def __iter__(self):
            raise RuntimeError("no iteration")

    return Broken([1])


@pytest.mark.parametrize(
    "hostile",
    [
        Fraction(10**400, 3),  # no float is that large
        Decimal("1e400"),
        np.float32("nan"),
        np.array([1, 2]),
        b"\xff",
        memoryview(b"x"),
        _broken_mapping(),
        _broken_list(),
        {("a", "b"): {frozenset({1}): "\ud800\x00"}},
    ],
    ids=lambda value: type(value).__name__,
)
def test_hostile_values_do_not_cost_the_record(hostile):
    found = from_json(unescape(escape(to_json({"before": 1, "value": hostile, "after": "x"}))))
    assert (found["before"], found["after"]) == (1, "x")
    assert "value" in found
