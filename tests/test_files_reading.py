"""JSON lines: what is read, and how bad lines are named."""

from __future__ import annotations

import gzip
import io
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.errors import InvalidInputError
from ragguard.files import passage_from_json, read_json, read_lines, require_fields

NO_PASSAGE = 'f:1: expected a string or an object with "text" (str), got'
_VECTOR = 'f:1: expected "embedding" to be a list of finite numbers'
LINE = "f:2: expected one JSON value on the line, but "

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(_VALUES, max_size=6), st.sampled_from([b"\n", b"\r\n", b"\n\n"]))
def test_reads_back_what_json_wrote(values, newline):
    raw = newline.join(json.dumps(value).encode() for value in values)
    lines = list(read_lines(io.BytesIO(raw), "f"))
    assert [line.value for line in lines] == values


def test_counts_blank_lines_and_names_the_place():
    lines = list(read_lines(io.BytesIO(b"\xef\xbb\xbf1\n\n  \n2\n"), "f"))
    assert [(line.place, line.value) for line in lines] == [("f:1", 1), ("f:4", 2)]


def test_reads_an_escaped_lone_surrogate_as_it_stands():
    (line,) = read_lines(io.BytesIO(b'"\\ud800"\n'), "f")
    assert line.value == "\ud800"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'"caf\xe9"', "f:2: byte 5 (0xe9) is not UTF-8; convert the file to UTF-8"),
        (b'"\xed\xa0\x80"', "f:2: byte 2 (0xed) is not UTF-8"),  # a surrogate in UTF-8's clothes
        (b'{"a": }', LINE + "at column 7: "),
        (b"{} {}", LINE + "at column 4: "),
        (b"nonsense", LINE + "at column 1: "),
        (b'{"a" 1}', LINE + "at column 6: "),
        (b'{"a": 1 "b"}', LINE + "at column 9: "),
        (b"{a: 1}", LINE + "at column 2: "),
        (b'{"a": "x\ty"}', LINE + "at column 9: "),
        (b'{"a": "\\x"}', LINE + "at column 8: "),
        (b'{"a": "\\u12"}', LINE + "at column 9: "),
        (b'{"a": "x', LINE + "at column 7: "),
        (b'{"a": [1, 2', LINE + "at column 12: "),
        (b"[", LINE + "it holds only a part of one: a file of JSON lines has one whole object a"),
        (b"  },", LINE + "it holds only a part of one"),
        (b'{"a": NaN}', LINE + "NaN is no JSON; write null"),
        (b"-Infinity", LINE + "-Infinity is no JSON; write null"),
        (b"[" * 100_000, LINE + "its brackets are nested too deep"),
        (b"9" * 5_000, LINE + "a number is too long"),
    ],
)
def test_names_a_bad_line_after_the_good_ones(raw, message):
    lines = read_lines(io.BytesIO(b"1\n" + raw + b"\n3\n"), "f")
    assert next(lines).value == 1
    with pytest.raises(InvalidInputError) as caught:
        next(lines)
    assert str(caught.value).startswith(message)


def test_passage_with_everything():
    value = {"text": "t", "id": 3, "score": 1, "embedding": [1, 2.5], "metadata": {"a": 1}, "x": 0}
    passage = passage_from_json(value, "f:1")
    assert (passage.text, passage.id, passage.score) == ("t", "3", 1.0)
    assert dict(passage.metadata) == {"a": 1}
    assert passage.embedding.dtype == np.float64
    assert passage.embedding.tolist() == [1.0, 2.5]


def test_null_counts_as_absent():
    nothing = dict.fromkeys(["id", "score", "embedding", "metadata"])
    assert passage_from_json({"text": "t", **nothing}, "f:1") == passage_from_json("t", "f:1")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, f"{NO_PASSAGE} a number"),
        (None, f"{NO_PASSAGE} null"),
        ({"id": "a"}, f'{NO_PASSAGE} one without "text"'),
        ({"page_content": "a"}, f'{NO_PASSAGE} one without "text"; rename "page_content"'),
        (
            {"query": "q", "passages": []},
            'f:1: expected "text", which is not there; this is traffic as `ragguard filter` reads',
        ),
        ({"text": None}, f'{NO_PASSAGE} one whose "text" is null'),
        ({"text": ["a"]}, f'{NO_PASSAGE} one whose "text" is a list'),
        ({"text": "a", "id": True}, 'f:1: expected "id" to be a string or an integer, got a boo'),
        ({"text": "a", "id": 1.5}, 'f:1: expected "id" to be a string or an integer, got a numb'),
        ({"text": "a", "score": "1"}, 'f:1: expected "score" to be a finite number, got a string'),
        ({"text": "a", "score": 1e999}, 'f:1: expected "score" to be a finite number, got one th'),
        ({"text": "a", "score": 10**400}, 'f:1: expected "score" to be a finite number'),
        ({"text": "a", "score": True}, 'f:1: expected "score" to be a finite number, got a bool'),
        ({"text": "a", "metadata": []}, 'f:1: expected "metadata" to be an object, got a list'),
        ({"text": "a", "embedding": 1}, 'f:1: expected "embedding" to be a list of finite numb'),
        ({"text": "a", "embedding": []}, 'f:1: expected "embedding" to be a list of finite num'),
        ({"text": "a", "embedding": ["1"]}, 'f:1: expected "embedding" to be a list of finite'),
        ({"text": "a", "embedding": [[1]]}, 'f:1: expected "embedding" to be a list of finite'),
        ({"text": "a", "embedding": [1e999]}, 'f:1: expected "embedding" to be a list of fini'),
        ({"text": "a", "embedding": []}, f"{_VECTOR}, one at least, got a list"),
        (
            {"text": "a", "embedding": [1, "1"]},
            f"{_VECTOR}, one at least, got one whose number 2 is a",
        ),
        (
            {"text": "a", "embedding": [1, 2, None]},
            f"{_VECTOR}, one at least, got one whose number 3 is null",
        ),
        (
            {"text": "a", "embedding": [1, -1e999, []]},
            f"{_VECTOR}, one at least, got one whose number 2 is not finite",
        ),
    ],
)
def test_refuses_what_is_no_passage(value, message):
    with pytest.raises(InvalidInputError) as caught:
        passage_from_json(value, "f:1")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("name", ["t.jsonl.gz", "<stdin>"])
def test_what_is_compressed_is_told(name):
    packed = io.BytesIO(gzip.compress(b'{"query": "q", "passages": []}\n'))
    message = f"^{name}:1: this is gzip; run gunzip on the file first$"
    with pytest.raises(InvalidInputError, match=message):
        list(read_lines(packed, name))


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ({"query": "q", "contexts": []}, 'got one without "passages"; rename "contexts"'),
        ({"question": "q", "contexts": []}, 'got one without "query"; rename "question"'),
        ({"query": "q", "texts": []}, 'got one without "passages"'),
    ],
)
def test_a_field_by_another_name_is_named(value, hint):
    with pytest.raises(InvalidInputError) as caught:
        require_fields(value, "f:1", query=str, passages=list)
    assert str(caught.value).endswith(hint)


def test_reads_one_document(tmp_path):
    path = tmp_path / "event.json"
    path.write_bytes(b'\xef\xbb\xbf{\n "query": "q"\n}\n')
    assert read_json(path) == {"query": "q"}
    path.write_bytes(b"\xff")
    with pytest.raises(InvalidInputError, match=r"event\.json: byte 1 \(0xff\) is not UTF-8"):
        read_json(path)
    for unreadable in (tmp_path, "a\0.json"):
        with pytest.raises(InvalidInputError, match="cannot read"):
            read_json(unreadable)
    path.write_bytes(b'{\n "query": "q",\n "response" 1\n}')
    with pytest.raises(
        InvalidInputError, match=r"event\.json: expected one JSON value, but .* line 3"
    ):
        read_json(path)


def test_what_opens_and_cannot_be_read_is_named():
    class Broken(io.BytesIO):
        def __next__(self):
            raise OSError(5, "Input/output error")

    with pytest.raises(InvalidInputError, match="cannot read f: Input/output error; pass a file"):
        list(read_lines(Broken(), "f"))


@given(st.binary(max_size=12) | st.text('[]{}":,\\u01aNf.-+e ', max_size=12).map(str.encode))
def test_whatever_stands_there_is_read_or_refused_with_its_place(raw):
    message = "f:1: "
    try:
        list(read_lines(io.BytesIO(raw), "f"))
    except InvalidInputError as error:
        message = str(error)
    assert re.match("f:[0-9]+: ", message)
