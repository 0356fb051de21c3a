from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragguard.errors import InvalidInputError, MissingExtraError, ProxyError
from ragguard.proxy.manifest import PromptFormat
from ragguard.proxy.onnx import OnnxProxy, PromptEncoder

QUERY = "In which year was the Oskar Bridge opened?"
RESPONSE = "It was opened in 1911."
CONTEXTS = [
    "The Oskar Bridge was opened in 1911.",
    "",
    "moss " * 40,
    "A switch resets the pump.",
    "The Oskar Bridge was opened in 1911.",
    "Gr\u00fc\u00dfe aus \u6771\u4eac, caf\u00e9 \U0001f309",
]


class TestPromptEncoder:
    def decoded(self, tokenizer, row):
        return tokenizer.decode(row.tolist(), skip_special_tokens=False)

    def test_reads_passage_question_and_answer(self, tiny_tokenizer):
        encoder = PromptEncoder(tiny_tokenizer, PromptFormat(), 200)
        prompts = encoder.encode(["Some moss."], QUERY, RESPONSE)
        (row,) = prompts.rows
        text = self.decoded(tiny_tokenizer, row)
        assert text == f"Passage: Some moss.\n\nQuestion: {QUERY}\nAnswer: {RESPONSE}"
        assert self.decoded(tiny_tokenizer, row[len(row) + prompts.query]).strip() == QUERY
        assert self.decoded(tiny_tokenizer, row[len(row) + prompts.response]).strip() == RESPONSE

    def test_a_begin_token_comes_first(self, tokenizer_with_begin):
        encoder = PromptEncoder(tokenizer_with_begin, PromptFormat(), 200)
        (row,) = encoder.encode(["Some moss."], QUERY, RESPONSE).rows
        assert row[0] == 1
        assert 1 not in row[1:]

    def test_a_passage_cannot_spell_a_control_token(self, tokenizer_with_begin):
        encoder = PromptEncoder(tokenizer_with_begin, PromptFormat(), 300)
        texts = ("<|end|> <|begin|>", "who <|end|>?", "<|begin|> me")
        (row,) = encoder.encode([texts[0]], *texts[1:]).rows
        assert row[0] == 1
        assert not np.isin(row[1:], [0, 1]).any()

    @given(st.text(max_size=400), st.integers(60, 120))
    def test_a_long_context_is_cut_and_query_and_response_never(
        self, tiny_tokenizer, context, max_length
    ):
        encoder = PromptEncoder(tiny_tokenizer, PromptFormat(), max_length)
        prompts = encoder.encode([context, ""], QUERY, RESPONSE)
        cut, empty = prompts.rows
        assert len(cut) <= max_length
        tail = len(empty) - len(tiny_tokenizer.encode("Passage: ").ids)
        assert cut[-tail:].tolist() == empty[-tail:].tolist()
        whole = PromptEncoder(tiny_tokenizer, PromptFormat(), 10_000).encode(
            [context], QUERY, RESPONSE
        )
        assert whole.query.tolist() == prompts.query.tolist()
        assert whole.response.tolist() == prompts.response.tolist()
        if len(whole.rows[0]) <= max_length:
            assert whole.rows[0].tolist() == cut.tolist()
        else:
            assert len(cut) == max_length

    def test_a_cut_context_keeps_both_ends(self, tiny_tokenizer):
        encoder = PromptEncoder(tiny_tokenizer, PromptFormat(), 100)
        context = "alpha " + "moss " * 300_000 + "omega"
        (row,) = encoder.encode([context], QUERY, RESPONSE).rows
        text = self.decoded(tiny_tokenizer, row)
        assert text.startswith("Passage: alpha moss")
        assert f"moss omega\n\nQuestion: {QUERY}" in text

    def test_no_room_for_a_context(self, tiny_tokenizer):
        encoder = PromptEncoder(tiny_tokenizer, PromptFormat(), 40)
        with pytest.raises(ProxyError, match="leave no room") as caught:
            encoder.encode(["moss"], QUERY, "1911 " * 40)
        assert "exported with a longer window, or LexicalProxy" in str(caught.value)
        assert "max_length" not in str(caught.value)

    def test_no_room_though_the_model_reads_more(self, tiny_tokenizer):
        encoder = PromptEncoder(tiny_tokenizer, PromptFormat(), 40, longest=300)
        with pytest.raises(ProxyError, match=r"in the proxy's 40; raise max_length, .* reads 300"):
            encoder.encode(["moss"], QUERY, "1911 " * 40)
        with pytest.raises(ProxyError, match="exported with a longer window"):
            encoder.encode(["moss"], QUERY, "1911 " * 400)

    @pytest.mark.parametrize(
        ("contexts", "query", "response"),
        [
            (["a"], "", "b"),
            (["a"], "q", " \n"),
            (["a", None], "q", "b"),
            ("a", "q", "b"),
            (None, "q", "b"),
            (["a"], None, "b"),
        ],
    )
    def test_bad_input(self, tiny_tokenizer, contexts, query, response):
        encoder = PromptEncoder(tiny_tokenizer, PromptFormat(), 200)
        with pytest.raises(InvalidInputError):
            encoder.encode(contexts, query, response)

    def test_lone_surrogates(self, tiny_tokenizer):
        encoder = PromptEncoder(tiny_tokenizer, PromptFormat(), 200)
        (row,) = encoder.encode(["a\ud800b"], "q\udc00", "r\ud800").rows
        assert "a?b" in self.decoded(tiny_tokenizer, row)

    def test_the_callers_tokenizer_is_left_as_it_was(self, tiny_tokenizer):
        before = tiny_tokenizer.to_str()
        PromptEncoder(tiny_tokenizer, PromptFormat(), 200).encode(["a"], QUERY, RESPONSE)
        assert tiny_tokenizer.to_str() == before
        assert tiny_tokenizer.encode("<|end|>").ids == [0]


@pytest.mark.torch
class TestOnnxProxy:
    @pytest.mark.slow
    def test_arrays_come_in_the_order_of_the_contexts(self, exported):
        scores = OnnxProxy(exported, threads=1).score(CONTEXTS, QUERY, RESPONSE)
        assert scores.semantic_correlation.shape == (6,)
        assert scores.generation_influence.dtype == np.float64
        assert scores.generation_influence[0] == scores.generation_influence[4]
        assert len(set(scores.generation_influence.tolist())) == 5
        assert (scores.semantic_correlation < 0.0).all()
        back = OnnxProxy(exported, threads=1).score(CONTEXTS[::-1], QUERY, RESPONSE)
        np.testing.assert_allclose(
            back.generation_influence[::-1], scores.generation_influence, atol=1e-5
        )

    @pytest.mark.parametrize("batch_tokens", [1, 150, 100_000])
    def test_batches_do_not_change_the_scores(self, exported, batch_tokens):
        batched = OnnxProxy(exported, batch_tokens=batch_tokens, threads=1)
        together = batched.score(CONTEXTS, QUERY, RESPONSE)
        proxy = OnnxProxy(exported, threads=1)
        alone = [proxy.score([context], QUERY, RESPONSE) for context in CONTEXTS]
        for name in ("semantic_correlation", "generation_influence"):
            each = [getattr(scores, name)[0] for scores in alone]
            assert getattr(together, name) == pytest.approx(each, abs=1e-5)

    def test_one_forward_pass_scores_query_and_response(self, exported):
        proxy = OnnxProxy(exported, threads=1, batch_tokens=8192)
        proxy._session = Mock(wraps=proxy._session)
        of_query, of_response = proxy.token_log_probabilities(CONTEXTS, QUERY, RESPONSE)
        ((_, feed), _) = proxy._session.run.call_args
        assert proxy._session.run.call_count == 1
        # The repeated context is scored once.
        assert feed["positions"].shape == (5, of_query.shape[1] + of_response.shape[1])

    def test_a_shorter_max_length_cuts_long_contexts_only(self, exported):
        full, cut = OnnxProxy(exported, threads=1), OnnxProxy(exported, max_length=70, threads=1)
        wide = full.score(CONTEXTS, QUERY, RESPONSE).generation_influence
        narrow = cut.score(CONTEXTS, QUERY, RESPONSE).generation_influence
        same = np.isclose(wide, narrow, atol=1e-5)
        assert not same[2]
        assert same[[1, 3]].all()

    def test_a_response_beyond_its_window(self, exported):
        response = "moss " * 40
        assert OnnxProxy(exported).score(["a"], QUERY, response).generation_influence.shape == (1,)
        with pytest.raises(ProxyError, match="raise max_length, this model reads 200"):
            OnnxProxy(exported, max_length=70).score(["a"], QUERY, response)
        with pytest.raises(ProxyError, match="or LexicalProxy") as caught:
            OnnxProxy(exported).score(["a"], QUERY, response * 20)
        assert "raise max_length" not in str(caught.value)

    def test_contexts_may_come_one_by_one(self, exported):
        proxy = OnnxProxy(exported, threads=1)
        expected = proxy.score(CONTEXTS, QUERY, RESPONSE)
        found = proxy.score(iter(CONTEXTS), QUERY, RESPONSE)
        np.testing.assert_array_equal(found.generation_influence, expected.generation_influence)

    @pytest.mark.parametrize("contexts", ["abc", None, ["a", None], [["a"]]])
    def test_what_are_no_contexts(self, exported, contexts):
        with pytest.raises(InvalidInputError, match="contexts"):
            OnnxProxy(exported).score(contexts, QUERY, RESPONSE)

    def test_no_contexts(self, exported):
        scores = OnnxProxy(exported).score([], QUERY, RESPONSE)
        assert scores.semantic_correlation.shape == (0,)
        assert scores.generation_influence.shape == (0,)

    def test_a_context_of_a_megabyte(self, exported):
        scores = OnnxProxy(exported).score(["moss and stone " * 70_000], QUERY, RESPONSE)
        assert np.isfinite(scores.generation_influence).all()

    def test_threads_get_the_same_answers(self, exported):
        proxy = OnnxProxy(exported, threads=1)
        queries = [f"What of bridge number {n}?" for n in range(12)]

        def scored(query):
            return proxy.score(CONTEXTS, query, RESPONSE).semantic_correlation.tolist()

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(scored, queries)) == list(map(scored, queries))

    def test_a_provider_that_is_not_there(self, exported):
        onnxruntime = pytest.importorskip("onnxruntime")
        assert OnnxProxy(exported).providers == ["CPUExecutionProvider"]
        assert OnnxProxy(exported, providers=["CPUExecutionProvider"]).providers
        options = {"arena_extend_strategy": "kSameAsRequested"}
        assert OnnxProxy(exported, providers=[("CPUExecutionProvider", options)]).providers
        absent = next(
            name
            for name in ("CUDAExecutionProvider", "ROCMExecutionProvider")
            if name not in onnxruntime.get_available_providers()
        )
        for wanted in ([absent, "CPUExecutionProvider"], [(absent, {"device_id": 1})]):
            with pytest.raises(ProxyError, match=f"{absent} is not available"):
                OnnxProxy(exported, providers=wanted)
        with pytest.raises(ProxyError, match="none given"):
            OnnxProxy(exported, providers=[])

    def test_a_provider_that_onnx_runtime_drops_silently(self, exported, monkeypatch):
        onnxruntime = pytest.importorskip("onnxruntime")

        offered = Mock(return_value=["CUDAExecutionProvider"])
        monkeypatch.setattr(onnxruntime, "get_available_providers", offered)
        session = Mock(**{"get_providers.return_value": ["CPUExecutionProvider"]})
        monkeypatch.setattr(onnxruntime, "InferenceSession", Mock(return_value=session))
        with pytest.raises(ProxyError, match="could only start CPUExecutionProvider"):
            OnnxProxy(exported, providers=["CUDAExecutionProvider"])

    @pytest.mark.parametrize(
        "options",
        [
            {"max_length": 201},
            {"max_length": 0},
            {"max_length": "70"},
            {"batch_tokens": 0},
            {"batch_tokens": "8"},
            {"threads": 0},
            {"threads": 1.5},
        ],
    )
    def test_numbers_out_of_range(self, exported, options):
        with pytest.raises(InvalidInputError):
            OnnxProxy(exported, **options)

    def test_integers_of_numpy_will_do(self, exported):
        proxy = OnnxProxy(
            exported, threads=np.int64(1), max_length=np.int64(150), batch_tokens=np.int64(64)
        )
        assert proxy.score(["a"], QUERY, RESPONSE).semantic_correlation.shape == (1,)

    def test_nan_is_an_error(self, exported):
        proxy = OnnxProxy(exported)
        proxy._session = Mock()
        proxy._session.run = lambda names, feed: [np.full(feed["positions"].shape, np.nan)]
        with pytest.raises(ProxyError, match="NaN"):
            proxy.score(CONTEXTS, QUERY, RESPONSE)

    def test_a_failing_graph_is_an_error_of_ours(self, exported):
        proxy = OnnxProxy(exported)
        proxy._session = Mock(**{"run.side_effect": RuntimeError("out of memory")})
        with pytest.raises(ProxyError, match="lower batch_tokens"):
            proxy.score(CONTEXTS, QUERY, RESPONSE)


@pytest.mark.parametrize("path", [None, 5, b"proxy"])
def test_what_is_no_path(path):
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    with pytest.raises(InvalidInputError, match="path must be a path, not "):
        OnnxProxy(path)


def test_without_onnx_runtime(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[onnx\]'"):
        OnnxProxy(tmp_path)


def test_importing_the_package_loads_no_runtime():
    code = (
        "import sys, ragguard.proxy; from ragguard.proxy import OnnxProxy; "
        "heavy = {'onnxruntime', 'tokenizers', 'torch', 'transformers', 'onnx'}; "
        "sys.exit(', '.join(heavy & set(sys.modules)) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
