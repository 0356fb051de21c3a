"""The built-in embedder: unit rows, the same in every process."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragguard.embedding import HashedEmbedder
from ragguard.embedding.hashed import _LONGEST_WORD, _recent_word_features
from ragguard.errors import InvalidInputError
from ragguard.text import tokens

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(st.lists(ANY_TEXT, max_size=5), st.sampled_from([1, 2, 64, 1024]))
def test_rows_have_length_1_or_are_zero(texts, dimensions):
    rows = HashedEmbedder(dimensions).embed(texts)
    assert rows.shape == (len(texts), dimensions)
    assert rows.dtype == np.float32
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    for text, length in zip(texts, lengths, strict=True):
        if not tokens(text):
            assert length == 0.0
        elif dimensions == 1024:  # in few dimensions, features may cancel out
            assert length == pytest.approx(1.0, abs=1e-6)
        else:
            assert length == 0.0 or length == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("text", ["", " \n\t", "?!", "\ud800", "\x00", "\u200b"])
def test_a_blank_text_is_zero(text):
    assert not HashedEmbedder().embed([text]).any()


@settings(max_examples=30)
@given(st.lists(ANY_TEXT, min_size=1, max_size=5))
def test_a_text_is_embedded_the_same_alone_and_in_a_batch(texts):
    embedder = HashedEmbedder(64)
    together = embedder.embed(texts)
    assert (together == np.concatenate([embedder.embed([text]) for text in texts])).all()


def test_reading_decides_so_disguises_make_no_difference():
    embedder = HashedEmbedder()
    plain, disguised = embedder.embed(["The old pier", "THE  \uff4fld, p\u0456er!"])
    assert (plain == disguised).all()


def cosine(one, other):
    first, second = HashedEmbedder().embed([one, other])
    return float(first @ second)


def test_texts_with_more_in_common_are_closer():
    text = "The lighthouse of Marrow Bay was built in 1874."
    assert cosine(text, text) == pytest.approx(1.0, abs=1e-6)
    close = cosine(text, "The lighthouse at Marrow Bay was finished in 1874.")
    topic = cosine(text, "A lighthouse keeper lives alone.")
    far = cosine(text, "Wool prices fell sharply.")
    assert close > topic > far
    assert abs(far) < 0.15


def test_letters_count_so_forms_of_a_word_are_close():
    assert cosine("lighthouse", "lighthouses") > 0.3 > cosine("lighthouse", "windmill")


def test_the_order_of_words_counts_a_little():
    assert 0.7 < cosine("the dog bit the man", "the man bit the dog") < 1.0


def test_function_words_hardly_count():
    assert cosine("the pier", "of pier") > 0.9
    assert cosine("the pier", "the mill") < 0.3


@pytest.mark.parametrize("dimensions", [0, -1, 1.5, "64", None])
def test_dimensions_are_a_positive_int(dimensions):
    with pytest.raises(InvalidInputError, match="dimensions must be a positive int"):
        HashedEmbedder(dimensions)


def test_the_name_tells_spaces_apart():
    assert HashedEmbedder(64).name != HashedEmbedder(128).name


def test_overlong_words_are_embedded_but_not_remembered():
    embedder = HashedEmbedder()
    _recent_word_features.cache_clear()
    long = "x" * (_LONGEST_WORD + 1)
    assert embedder.embed([long]).any()
    assert _recent_word_features.cache_info().currsize == 0
    embedder.embed([long[1:]])
    assert _recent_word_features.cache_info().currsize == 1
    again, longer = embedder.embed([long, "x" * (_LONGEST_WORD + 2)])
    assert again @ longer > 0.3


TEXTS = ["When was the old pier built?", "caf\u00e9 na\u00efve \ud800", ""]
PROGRAM = f"""
import hashlib
from ragguard.embedding import HashedEmbedder
print(hashlib.sha256(HashedEmbedder().embed({TEXTS!a}).tobytes()).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "12345"])
def test_every_process_embeds_the_same(seed):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    rows = HashedEmbedder().embed(TEXTS)
    assert done.stdout.strip() == hashlib.sha256(rows.tobytes()).hexdigest()
