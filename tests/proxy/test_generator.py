"""A small model that answers prompts, on ONNX Runtime."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import numpy as np
import pytest

from ragguard.attribution.text_model import as_text_model
from ragguard.errors import GenerationError, InvalidInputError, MissingExtraError, ProxyError
from ragguard.proxy import OnnxGenerator
from ragguard.proxy.manifest import Manifest

pytestmark = pytest.mark.timeout(600)  # two graphs are exported before the first test

TEMPLATE = (
    "{% for message in messages %}<|begin|>{{ message['role'] }}: {{ message['content'] }}\n"
    "{% endfor %}{% if add_generation_prompt %}Answer: {% endif %}"
)
PROMPT = "In which year was the Oskar Bridge opened?"


@pytest.fixture(scope="module")
def chatting(tiny_tokenizer):
    transformers = pytest.importorskip("transformers", reason="exporting needs transformers")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tiny_tokenizer, eos_token="<|end|>", chat_template=TEMPLATE
    )


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def original(request, tiny_model):
    return tiny_model(request.param, layers=2).eval()


@pytest.fixture(scope="module")
def folder(original, chatting, tmp_path_factory):
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    pytest.importorskip("onnxscript", reason="exporting needs onnxscript")
    from ragguard.export import export_proxy
    from ragguard.export.parity import demo_scopes

    out = tmp_path_factory.mktemp("generator") / "model"
    scopes = demo_scopes()[:1]
    export_proxy(original, out, tokenizer=chatting, generator=True, max_length=200, scopes=scopes)
    return out


def greedy(model, ids, count, stops):
    """Return what the original answers, by its own logits, one whole pass for each token."""
    import torch

    ids, answer = list(ids), []
    while len(answer) < count:
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0, -1].clone()
        if not answer:
            logits[list(stops)] = -torch.inf
        token = int(logits.argmax())
        if token in stops:
            break
        ids.append(token)
        answer.append(token)
    return answer


@pytest.mark.slow
@pytest.mark.torch
class TestOnnxGenerator:
    def test_answers_as_the_original_does(self, folder, original, tiny_tokenizer):
        generator = OnnxGenerator(folder, max_tokens=12, threads=1)
        ids = generator.tokens(PROMPT)
        expected = greedy(original, ids, 12, generator.manifest.chat.stops)
        assert generator(PROMPT) == tiny_tokenizer.decode(expected).strip()

    def test_logits_are_those_of_the_original_whatever_was_read_before(self, folder, original):
        import torch

        generator = OnnxGenerator(folder, threads=1)
        ids = generator.tokens(PROMPT)
        for read in (ids[:7], ids, [*ids[:9], 11, 12, 13], ids[:9], ids[:9], ids[:1]):
            with torch.no_grad():
                expected = original(torch.tensor([read])).logits[0, -1].numpy()
            np.testing.assert_allclose(generator.read(read), expected, atol=1e-4)

    def test_the_manifest_says_how_it_is_asked(self, folder, original):
        chat = Manifest.read(folder).chat
        assert (chat.before, chat.after) == ("<|begin|>user: ", "\nAnswer: ")
        assert chat.stops == (0,)
        assert chat.max_length == 256
        config = original.config
        heads = getattr(config, "num_key_value_heads", config.num_attention_heads)
        assert chat.past == (2, 2, heads, config.hidden_size // config.num_attention_heads)

    def test_a_prompt_cannot_spell_a_control_token(self, folder):
        generator = OnnxGenerator(folder)
        assert generator.tokens("moss")[0] == 1
        assert not np.isin(generator.tokens("<|begin|> <|end|>")[1:], [0, 1]).any()

    def test_what_is_drawn_depends_on_the_prompt_and_on_how_often_it_was_asked(self, folder):
        def drawing():
            return OnnxGenerator(folder, max_tokens=6, temperature=1.0, seed=3, threads=1)

        generator = drawing()
        first, other, second = generator("moss"), generator("stone"), generator("moss")
        assert first != second
        again = drawing()
        assert [again("stone"), again("moss"), again("moss")] == [other, first, second]
        greedy = OnnxGenerator(folder, max_tokens=6, threads=1)
        assert greedy("moss") == greedy("moss")

    def test_threads_take_turns(self, folder):
        generator = OnnxGenerator(folder, max_tokens=4, threads=1)
        prompts = [f"What of bridge number {n}?" for n in range(6)]
        expected = [generator(prompt) for prompt in prompts]
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(generator, prompts)) == expected

    def test_generates_behind_the_common_interface(self, folder):
        model = as_text_model(OnnxGenerator(folder, max_tokens=3))
        assert model.name == "OnnxGenerator"
        assert model.generate(PROMPT) == OnnxGenerator(folder, max_tokens=3)(PROMPT)

    def test_a_prompt_that_is_too_long(self, folder):
        with pytest.raises(InvalidInputError, match="the model reads 256; pass fewer or shorter"):
            OnnxGenerator(folder)("moss and stone " * 200)

    def test_a_failing_graph_is_an_error_of_ours(self, folder):
        generator = OnnxGenerator(folder)
        generator._session = Mock(**{"run.side_effect": RuntimeError("out of memory")})
        with pytest.raises(GenerationError, match="shorten the prompt"):
            generator("moss")

    @pytest.mark.parametrize(
        "options", [{"max_tokens": 0}, {"temperature": -1.0}, {"seed": -1}, {"threads": 0.5}]
    )
    def test_numbers_out_of_range(self, folder, options):
        with pytest.raises(InvalidInputError):
            OnnxGenerator(folder, **options)


@pytest.mark.slow
@pytest.mark.torch
def test_a_folder_that_only_scores(tiny_model, tiny_tokenizer, tmp_path):
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    pytest.importorskip("onnxscript", reason="exporting needs onnxscript")
    from ragguard.export import export_proxy
    from ragguard.export.parity import demo_scopes

    options = {"tokenizer": tiny_tokenizer, "max_length": 200, "scopes": demo_scopes()[:1]}
    model = tiny_model("llama")
    with pytest.raises(ProxyError, match="no chat template"):
        export_proxy(model, tmp_path / "out", generator=True, **options)
    export_proxy(model, tmp_path / "out", **options)
    with pytest.raises(ProxyError, match="export the model again with --generator"):
        OnnxGenerator(tmp_path / "out")


def test_without_onnx_runtime(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[onnx\]'"):
        OnnxGenerator(tmp_path)
