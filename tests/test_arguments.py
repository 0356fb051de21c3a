"""What callers hand over: each wrong argument is refused by name, in ragguard's own words."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ragguard import Guard
from ragguard.arguments import (
    require_method,
    require_number,
    require_path,
    require_text,
    require_texts,
    require_whole,
)
from ragguard.attribution import RAGOrigin
from ragguard.errors import InvalidInputError
from ragguard.knowledge.memory import KnowledgeBase
from ragguard.proxy import LexicalProxy
from ragguard.trust import Trust

NO_WHOLE_NUMBERS = ["5", None, 1.5, 5.0, True, np.float64(5.0), [5]]


@pytest.mark.parametrize("value", [5, np.int64(5), np.uint8(5)])
def test_whole_numbers(value):
    number = require_whole("top_k", value)
    assert (type(number), number) == (int, 5)


@pytest.mark.parametrize("value", [*NO_WHOLE_NUMBERS, 0, -3, np.int64(0)], ids=repr)
def test_what_is_no_whole_number(value):
    with pytest.raises(InvalidInputError, match="top_k must be a whole number of at least 1, not"):
        require_whole("top_k", value)


def test_a_whole_number_below_its_least():
    assert require_whole("samples", 2, least=2) == 2
    with pytest.raises(InvalidInputError, match="samples must be a whole number of at least 2"):
        require_whole("samples", 1, least=2)


@pytest.mark.parametrize("value", [0.5, np.float32(0.5), np.float64(0.5), Fraction(1, 2)])
def test_numbers(value):
    number = require_number("similarity", value)
    assert (type(number), number) == (float, 0.5)


@pytest.mark.parametrize("value", ["0.5", None, True, [0.5], 0.5j, 10**400])
def test_what_is_no_number(value):
    with pytest.raises(InvalidInputError, match="similarity must be a number, not the"):
        require_number("similarity", value)


@pytest.mark.parametrize("path", ["a/b", Path("a/b")])
def test_paths(path):
    assert require_path("path", path) == Path("a/b")


@pytest.mark.parametrize("path", [None, 5, b"a", ["a"]])
def test_what_is_no_path(path):
    with pytest.raises(InvalidInputError, match="path must be a path, not "):
        require_path("path", path)


@pytest.mark.parametrize("given", [["a", "b"], ("a", "b"), iter(["a", "b"]), {"a": 1, "b": 2}])
def test_texts(given):
    assert require_texts("contexts", given) == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("abc", "contexts must be a sequence of str, not str"),
        (b"abc", "not bytes"),
        (None, "not NoneType"),
        (5, "not int"),
        (["a", None], r"contexts\[1\] is of type NoneType"),
        ([b"a"], r"contexts\[0\] is of type bytes"),
    ],
)
def test_what_are_no_texts(given, said):
    with pytest.raises(InvalidInputError, match=said):
        require_texts("contexts", given)


def _breaking(first):
    yield first
    raise OSError("gone")


def test_an_iterator_that_raises_is_told_by_name():
    with pytest.raises(InvalidInputError, match=r"contexts raised OSError \(gone\)"):
        require_texts("contexts", _breaking("a"))
    with Guard() as guard:
        for take, name in ((guard.calibrate, "traffic"), (guard.filter_batch, "queries_and_pass")):
            with pytest.raises(InvalidInputError, match=f"{name}.* raised OSError"):
                take(_breaking(("q?", ["a"])))


def test_what_is_no_path_in_a_file_s_place():
    for read in (KnowledgeBase.from_jsonl, Trust.from_json):
        with pytest.raises(InvalidInputError, match="3"):
            read(3)


@pytest.mark.parametrize("value", [None, 5, b"q", ["q"]])
def test_what_is_no_text(value):
    assert require_text("query", "") == ""
    with pytest.raises(InvalidInputError, match="query must be a str, not "):
        require_text("query", value)


def test_an_object_with_the_method():
    require_method("proxy", LexicalProxy(), "score(contexts, query, response)")


@pytest.mark.parametrize("value", [3, "lexical", object(), len])
def test_an_object_without_the_method(value):
    with pytest.raises(InvalidInputError, match=r"an object with a method score\(contexts, .*not"):
        require_method("proxy", value, "score(contexts, query, response)")


def test_a_class_in_place_of_an_instance():
    with pytest.raises(InvalidInputError, match=r"proxy is the class LexicalProxy; .* instance"):
        require_method("proxy", LexicalProxy, "score(contexts, query, response)")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"alpha": "0.01"}, "alpha must be a number, not the str '0.01'"),
        ({"alpha": True}, "alpha must be a number"),
        ({"alpha": 2}, "alpha must be between 0 and 1, not 2"),
        ({"attributor": 3}, "attributor must be an object with a method attribute"),
        ({"attributor": RAGOrigin}, "attributor is the class RAGOrigin"),
    ],
)
def test_options_of_a_guard(options, said):
    with pytest.raises(InvalidInputError, match=said):
        Guard(**options)


@pytest.mark.parametrize("alpha", [np.float64(0.05), np.float32(0.05), Fraction(1, 20)])
def test_alpha_may_be_a_number_of_another_library(alpha):
    with Guard(alpha=alpha) as guard:
        assert guard.filter("q?", ["a"]).error is None


def test_where_a_calibration_is_saved_to():
    with Guard(alpha=0.1) as guard:
        guard.calibrate((f"q{i}?", ["a", f"b{i}"]) for i in range(20))
        with pytest.raises(InvalidInputError, match="path must be a path, not NoneType"):
            guard.save_calibration(None)


@pytest.mark.parametrize("value", ["drop", 5, None, np.array(["filter", "monitor"]), ["filter"]])
def test_what_is_no_choice(value):
    with pytest.raises(InvalidInputError, match="mode must be one of filter, monitor; not"):
        Guard(mode=value)
