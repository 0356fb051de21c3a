"""The cache: each text embedded once, bounded, in the order of use, shared between threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ragguard.embedding import CachedEmbedder, HashedEmbedder
from ragguard.errors import EmbeddingError, ProxyError

ROW = 4 * 16  # bytes of one row of 16 float32


class Counting:
    """Counts how often each text is embedded."""

    name = "counting"

    def __init__(self):
        self.batches = []

    def embed(self, texts):
        self.batches.append(list(texts))
        return HashedEmbedder(16).embed(texts)


class Answering:
    name = "answering"

    def __init__(self, answer):
        self.answer = answer

    def embed(self, texts):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(texts) if callable(self.answer) else self.answer


def test_each_text_is_embedded_once_in_one_batch():
    inner = Counting()
    cache = CachedEmbedder(inner)
    first = cache.embed(["a", "b", "a", "c"])
    assert inner.batches == [["a", "b", "c"]]
    second = cache.embed(["c", "d", "b"])
    assert inner.batches == [["a", "b", "c"], ["d"]]
    assert (second[0] == first[3]).all()
    assert (first[0] == first[2]).all()
    assert cache.embed(["a", "d"]).shape == (2, 16)
    assert len(inner.batches) == 2


def test_what_has_a_cache_gets_no_second_one():
    cache = CachedEmbedder(Counting())
    assert CachedEmbedder.of(cache) is cache
    assert isinstance(CachedEmbedder.of(None), CachedEmbedder)


def test_a_question_and_texts_are_one_batch():
    inner = Counting()
    cache = CachedEmbedder(inner)
    row, rows = cache.embed_both("a", ["b", " ", "a"])
    assert inner.batches == [["a", "b"]]
    assert (row == cache.embed_query("a")).all()
    assert (rows == cache.embed(["b", " ", "a"])).all()


def test_the_cache_carries_the_name_of_its_space():
    assert CachedEmbedder(Counting()).name == "counting"


@pytest.mark.parametrize("blank", ["", " ", "\n\t\u3000"])
def test_a_blank_text_is_zero_and_never_embedded(blank):
    inner = Counting()
    cache = CachedEmbedder(inner)
    rows = cache.embed([blank, "a"])
    assert inner.batches == [["a"]]
    assert rows.shape == (2, 16)
    assert not rows[0].any()
    assert not cache.embed([blank, blank]).any()
    assert cache.embed([]).shape[0] == 0


def test_blank_texts_alone_have_the_length_that_the_embedder_answers():
    cache = CachedEmbedder(Counting())
    assert cache.embed(["", "  "]).shape == (2, 16)
    assert cache.embed_query(" ").shape == (16,)


def test_another_length_than_before_is_refused_also_when_nothing_is_cached():
    cache = CachedEmbedder(Answering(lambda texts: np.ones((len(texts), len(texts)))), max_bytes=0)
    cache.embed(["a"])
    with pytest.raises(EmbeddingError, match="before it was 1"):
        cache.embed(["b", "c"])


def test_what_the_caller_does_to_an_answer_stays_out_of_the_cache():
    cache = CachedEmbedder(Counting())
    cache.embed(["a"])[:] = 7.0
    rows = cache.embed(["a"])
    assert (rows == HashedEmbedder(16).embed(["a"])).all()
    rows[:] = 7.0
    assert (cache.embed(["a"]) == HashedEmbedder(16).embed(["a"])).all()


def test_the_least_recently_used_goes_first():
    inner = Counting()
    cache = CachedEmbedder(inner, max_bytes=3 * ROW)
    cache.embed(["a", "b", "c"])
    cache.embed(["a"])
    cache.embed(["d"])  # b goes
    del inner.batches[:]
    cache.embed(["a", "c", "d"])
    assert inner.batches == []
    cache.embed(["b"])
    assert inner.batches == [["b"]]


def test_a_cache_of_no_size_still_answers():
    inner = Counting()
    cache = CachedEmbedder(inner, max_bytes=0)
    assert (cache.embed(["a", "b"]) == HashedEmbedder(16).embed(["a", "b"])).all()
    assert (cache.embed(["a"]) == HashedEmbedder(16).embed(["a"])).all()
    assert inner.batches == [["a", "b"], ["a"]]


class CacheMachine(RuleBasedStateMachine):
    """The cache beside a list of its texts, the most recently used last."""

    def __init__(self):
        super().__init__()
        self.inner = Counting()
        self.cache = CachedEmbedder(self.inner, max_bytes=4 * ROW)
        self.model = []

    @rule(texts=st.lists(st.sampled_from("abcdefg"), max_size=6))
    def embed(self, texts):
        del self.inner.batches[:]
        rows = self.cache.embed(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in self.model]
        assert self.inner.batches == ([missing] if missing else [])
        if texts:
            assert (rows == HashedEmbedder(16).embed(texts)).all()
        for text in texts:
            if text in self.model:
                self.model.remove(text)
                self.model.append(text)
        self.model = [*self.model, *missing][-4:]

    @invariant()
    def bytes_are_bounded_and_counted(self):
        rows = [row for row, _ in self.cache._rows._entries.values()]
        assert self.cache._rows._bytes == sum(row.nbytes for row in rows) <= 4 * ROW

    @precondition(lambda self: self.model)
    @invariant()
    def rows_own_their_memory(self):
        assert all(row.base is None for row, _ in self.cache._rows._entries.values())


TestCacheMachine = pytest.mark.slow(CacheMachine.TestCase)


def test_rows_are_scaled_to_length_1():
    rows = CachedEmbedder(Answering([[3.0, 4.0], [0.0, 0.0]])).embed(["a", "b"])
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0.0, 0.0]]))
    assert rows.dtype == np.float32
    big = CachedEmbedder(Answering([[3e30, 4e30], [3e-30, 4e-30]])).embed(["a", "b"])
    assert big == pytest.approx(np.array([[0.6, 0.8], [0.6, 0.8]]))


@pytest.mark.parametrize(
    "answer",
    [
        np.ones(2),
        np.ones((1, 3)),
        np.ones((3, 3)),
        np.ones((2, 0)),
        np.ones((2, 3, 1)),
        np.array([[1.0, np.nan], [1.0, 0.0]]),
        np.array([[1.0, np.inf], [1.0, 0.0]]),
        np.array([[1e300, 1.0], [1.0, 0.0]]),
        [[1.0], [1.0, 2.0]],
        "no numbers",
        [["a"], ["b"]],
        None,
        ZeroDivisionError("broken"),
        ConnectionError("refused"),
        KeyError("data"),
    ],
    ids=str,
)
def test_whatever_goes_wrong_is_an_embedding_error_that_names_the_embedder(answer):
    cache = CachedEmbedder(Answering(answer))
    with pytest.raises(EmbeddingError, match="'answering'"):
        cache.embed(["a", "b"])
    assert cache._rows._bytes == 0


def test_an_error_of_our_own_is_passed_on():
    with pytest.raises(ProxyError):
        CachedEmbedder(Answering(ProxyError("x"))).embed(["a"])


def test_a_failure_keeps_nothing_and_does_not_last():
    inner = Answering(lambda texts: 1 / 0)
    cache = CachedEmbedder(inner)
    with pytest.raises(EmbeddingError):
        cache.embed(["a"])
    inner.answer = HashedEmbedder(16).embed
    assert cache.embed(["a"]).any()


def test_vectors_of_another_length_than_before_are_refused():
    inner = Answering(HashedEmbedder(16).embed)
    cache = CachedEmbedder(inner)
    cache.embed(["a"])
    inner.answer = HashedEmbedder(8).embed
    with pytest.raises(EmbeddingError, match="answers vectors of 8"):
        cache.embed(["a", "b"])


def test_threads_share_the_cache():
    inner = Counting()
    cache = CachedEmbedder(inner, max_bytes=20 * ROW)
    expected = HashedEmbedder(16).embed([f"text {number}" for number in range(40)])

    def ask(seed):
        order = np.random.default_rng(seed).permutation(40)[:10]
        rows = cache.embed([f"text {number}" for number in order])
        return bool((rows == expected[order]).all())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(200)))
    held = sum(row.nbytes for row, _ in cache._rows._entries.values())
    assert cache._rows._bytes == held <= 20 * ROW


@pytest.mark.slow
@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=4), max_size=6))
def test_any_texts_come_back_as_the_embedder_answers_them(texts):
    rows = CachedEmbedder(HashedEmbedder(1024)).embed(texts)
    assert len(rows) == len(texts)
    if any(text.strip() for text in texts):
        assert rows == pytest.approx(HashedEmbedder(1024).embed(texts), abs=1e-6)
