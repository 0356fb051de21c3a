"""Passages: what makes one, what names its content, and what is refused."""

import copy
import pickle
import re
import unicodedata
from array import array
from collections import OrderedDict
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard import Passage
from ragguard.content import content_key
from ragguard.errors import EmbeddingError, InvalidInputError
from ragguard.passage import as_passages
from ragguard.text import tokens_whole
from ragguard.text.letters import RAISED

# Every string that Python can hold: lone surrogates and control characters as well.
ANY_TEXT = st.text(st.characters(exclude_categories=()))


def test_a_passage_keeps_what_it_is_given():
    vector, metadata = np.ones(3), {"page": 4}
    passage = Passage("text", id="a", score=0.5, embedding=vector, metadata=metadata)
    assert (passage.text, passage.id, passage.score) == ("text", "a", 0.5)
    assert passage.embedding is vector
    assert passage.metadata is metadata


def test_the_id_defaults_to_32_hex_digits_of_the_text():
    passage = Passage("text")
    assert len(passage.id) == 32
    assert set(passage.id) <= set("0123456789abcdef")
    assert passage.id == Passage("text", score=1).id
    assert passage.id != Passage("Text").id
    assert Passage("text", id="").id == ""


def test_two_passages_do_not_share_their_default_metadata():
    assert Passage("a").metadata is not Passage("b").metadata


def test_a_passage_is_frozen_hashable_and_compares_without_its_embedding():
    passage = Passage("text", embedding=np.ones(2))
    with pytest.raises(FrozenInstanceError):
        passage.text = "other"
    assert passage == Passage("text", embedding=np.zeros(2))
    assert hash(passage) == hash(Passage("text"))
    assert "embedding" not in repr(passage)


def test_a_passage_can_be_copied_pickled_and_replaced():
    passage = Passage("text", id="a", score=1, metadata={"b": [1]})
    assert pickle.loads(pickle.dumps(passage)) == passage
    assert copy.deepcopy(passage) == passage
    assert replace(passage, text="other") == Passage("other", id="a", score=1, metadata={"b": [1]})


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (None, {}),
        (b"bytes", {}),
        (5, {}),
        ("text", {"id": 5}),
        ("text", {"id": b"a"}),
        ("text", {"score": "high"}),
        ("text", {"score": [1.0, 2.0]}),
        ("text", {"score": 10**400}),
        ("text", {"score": 1j}),
        ("text", {"score": "0.5"}),
        ("text", {"score": b"1"}),
        ("text", {"score": bytearray(b"1")}),
        ("text", {"metadata": 5}),
        ("text", {"metadata": "page 4"}),
        ("text", {"metadata": [("page", 4)]}),
    ],
)
def test_what_is_no_passage_is_refused(text, options):
    with pytest.raises(InvalidInputError, match="passage"):
        Passage(text, **options)


@pytest.mark.parametrize("score", [1, True, np.float32(1), np.array(1.0), Decimal(1)])
def test_a_score_becomes_a_float(score):
    passage = Passage("text", score=score)
    assert type(passage.score) is float
    assert passage.score == 1.0


def test_metadata_may_be_any_mapping():
    for metadata in (MappingProxyType({"page": 4}), OrderedDict(page=4)):
        assert Passage("text", metadata=metadata).metadata is metadata


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_an_array_of_floats_is_kept_as_it_is(dtype):
    for vector in (np.ones(3, dtype), np.array([np.nan, 1.0], dtype), np.ones(6, dtype)[::2]):
        assert Passage("text", embedding=vector).embedding is vector


class Tensor:
    """What a framework keeps its numbers in."""

    def __array__(self, dtype=None, copy=None):
        return np.array([0.5, 2.0], np.float32)


@pytest.mark.parametrize(
    ("vector", "dtype"),
    [
        ([0.5, 2.0], np.float64),
        ((0.5, 2), np.float64),
        ([np.float32(0.5), np.float32(2.0)], np.float32),
        (np.array([0.5, 2.0], dtype=object), np.float64),
        (array("d", [0.5, 2.0]), np.float64),
        (Tensor(), np.float32),
    ],
    ids=["list", "tuple", "numbers of numpy", "objects", "array", "tensor"],
)
def test_what_converts_to_a_vector_becomes_one(vector, dtype):
    made = Passage("text", embedding=vector).embedding
    assert (type(made), made.dtype, made.tolist()) == (np.ndarray, dtype, [0.5, 2.0])


def test_a_vector_of_integers_becomes_one_of_floats():
    for vector in ([1, 2], np.array([1, 2]), np.array([1, 2], np.uint8)):
        assert Passage("text", embedding=vector).embedding.dtype == np.float64


def test_numbers_that_are_not_finite_are_left_to_who_compares_them():
    assert np.isnan(Passage("text", embedding=[1.0, float("nan")]).embedding[1])


class Remote:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("is on another device")


@pytest.mark.parametrize(
    ("vector", "said"),
    [
        ("[1.0, 2.0]", "dtype <U10"),
        (b"abc", "dtype"),
        (np.array(["a", "b"]), "dtype <U1"),
        (["1.0", "2.0"], "dtype <U3"),
        (1.0, r"shape \(\)"),
        ([], r"shape \(0,\)"),
        ([[1.0, 2.0]], r"shape \(1, 2\)"),
        ([[1.0], [1.0, 2.0]], "is no array"),
        ([1.0, None], "dtype object"),
        (np.array(["1", 2.0], dtype=object), "dtype object"),
        ([True, False], "dtype bool"),
        (np.array([1j, 1.0]), "dtype complex128"),
        ({"a": 1.0}, "dtype object"),
        (object(), "dtype object"),
        ([10**400, 1.0], "is no array"),
        (Remote(), "another device"),
    ],
)
def test_what_is_no_vector_is_refused(vector, said):
    with pytest.raises(EmbeddingError, match=f"passage 'a' carries an embedding.*{said}") as caught:
        Passage("text", id="a", embedding=vector)
    assert "give it a float vector of shape (d,), or none" in str(caught.value)


def test_strings_become_passages_and_passages_stay_the_same_object():
    passage = Passage("b")
    assert as_passages(["a", passage]) == [Passage("a"), passage]
    assert as_passages(["a", passage])[1] is passage
    assert as_passages(text for text in ("a", "b")) == [Passage("a"), Passage("b")]
    assert as_passages([]) == []


@pytest.mark.parametrize("passages", ["text", b"bytes", None, 5, Passage("text"), object()])
def test_what_is_no_sequence_of_passages_is_refused(passages):
    with pytest.raises(InvalidInputError, match="wrap a single passage in a list"):
        as_passages(passages)


@pytest.mark.parametrize("passages", [{"id": "text"}, {"text"}, frozenset(), {"a": 1}.keys()])
def test_what_has_no_order_is_refused(passages):
    with pytest.raises(InvalidInputError, match="pass a list, best first"):
        as_passages(passages)


@pytest.mark.parametrize("item", [None, 5, b"bytes", ["text"], {"text": "a"}])
def test_the_message_names_the_item_that_is_no_passage(item):
    with pytest.raises(InvalidInputError, match=r"passages\[1\] is of type "):
        as_passages(["a", item])


def test_case_white_space_and_compatibility_forms_do_not_change_the_key():
    key = content_key("The file no. 1 is bad")
    assert key == content_key("  the FILE\n\tno. 1   is BAD\r\n")
    assert key == content_key("The \ufb01le no. \uff11 is bad")
    assert key != content_key("The file no. 2 is bad")
    assert content_key("Stra\u00dfe") == content_key("STRASSE")


@given(ANY_TEXT)
def test_every_text_has_a_key_and_white_space_around_it_does_not_count(text):
    key = content_key(text)
    assert len(key) == 32
    assert key == content_key(f" \n{text}\t")


@given(st.text())
def test_normalisation_forms_of_a_text_have_one_key(text):
    # Ten to the sixth is not 106: the forms with a K make it so, and the key does not.
    forms = (
        ("NFC", "NFD")
        if re.search(f"[{RAISED}\uffe2\uffe9-\uffec]", text)
        else ("NFC", "NFD", "NFKC", "NFKD")
    )
    keys = {content_key(unicodedata.normalize(form, text)) for form in forms}
    assert keys == {content_key(text)}


@given(ANY_TEXT, ANY_TEXT)
def test_different_texts_have_different_ids(one, other):
    assert (Passage(one).id == Passage(other).id) == (one == other)


def test_content_key_sees_through_disguise():
    key = content_key("The answer is Leeds.")
    assert content_key("The ans\u200bwer is Leeds") == key
    assert content_key("The \u0430nswer is L\u00e9eds!") == key
    assert content_key("The answer is Leed.") != key


def has_no_signs(text):
    """Whether a text holds nothing but letters, plain digits and what parts words."""
    if re.search(f"[{RAISED}]", text):
        return False
    decomposed = unicodedata.normalize("NFKD", text)
    categories = {unicodedata.category(character) for character in decomposed}
    return categories.isdisjoint({"Sc", "Sm", "Mn", "Mc", "Me"}) and not set("-%#./") & {
        *decomposed
    }


@given(ANY_TEXT.filter(has_no_signs))
def test_content_key_is_that_of_the_words(text):
    words = tokens_whole(unicodedata.normalize("NFKC", text))
    assert (content_key(text) == content_key(" ".join(words))) or not words


def test_content_key_of_what_is_long_or_was_seen_before():
    for length in (10, 5_000, 50_000):
        text = "Word " * length
        assert content_key(text) == content_key(text) == content_key(f"{text}\u200b!")
        assert content_key(text) != content_key(text + "more")


def test_content_key_tells_texts_without_words_apart():
    assert content_key("?!") != content_key("...")
    assert content_key("x" * 30_000) != content_key("x" * 29_999)


class Lazy:
    """Raises whatever is read of it."""

    def __iter__(self):
        yield "the pier"
        raise ConnectionError("the index is gone")

    def __float__(self):
        raise RuntimeError("no")


def test_a_lazy_sequence_that_fails_is_an_error_of_ours():
    with pytest.raises(InvalidInputError, match="ConnectionError: the index is gone"):
        as_passages(Lazy())
    with pytest.raises(InvalidInputError, match="a number or None, not Lazy"):
        Passage("the pier", score=Lazy())
