"""Tiny language models with random weights, and a tokenizer trained on a few sentences."""

from __future__ import annotations

import importlib
import os
from functools import partial

import pytest

from ragguard.export.parity import demo_scopes

os.environ["HF_HUB_OFFLINE"] = "1"

_SENTENCES = [
    "The Oskar Bridge over the Merle was opened in 1874 after nine years of work.",
    "In which year was the Oskar Bridge opened? It was opened in 1911, they say.",
    "Passage: the moss of Pell was first described by Ines Varga.",
    "Question: how do I reset the pump? Answer: hold the green switch for ten seconds.",
]


@pytest.fixture(scope="session", autouse=True)
def few_scopes():
    """Compare verdicts on four scopes: all sixteen take torch many seconds an export."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("ragguard.export", "ragguard.export.verify"):
            module = importlib.import_module(name)
            patched.setattr(module, "demo_scopes", partial(demo_scopes, 4))
        yield


@pytest.fixture(scope="session")
def tiny_tokenizer():
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=380,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|end|>", "<|begin|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(_SENTENCES * 3, trainer)
    return tokenizer


@pytest.fixture(scope="session")
def tokenizer_with_begin(tiny_tokenizer):
    """The same tokenizer with a begin-of-sequence token before every text, as Llama's has."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_str(tiny_tokenizer.to_str())
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<|begin|> $A", special_tokens=[("<|begin|>", 1)]
    )
    return tokenizer


@pytest.fixture(scope="session")
def tiny_model(tiny_tokenizer):
    """Return a function from a family's name, and a number of layers, to a new model of it.

    To export one takes torch some three seconds a layer.
    """
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    common = {
        "vocab_size": tiny_tokenizer.get_vocab_size(),
        "bos_token_id": 0,
        "eos_token_id": 0,
        "pad_token_id": 0,
    }
    # Larger than the usual spread, so that the scores of contexts differ clearly.
    spread = {"initializer_range": 0.1}

    def make(family, layers=1):
        sizes = {
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": layers,
            "num_attention_heads": 4,
            "max_position_embeddings": 256,
        }
        grouped = {**sizes, "num_key_value_heads": 2, **spread, **common}
        t = transformers
        makers = {
            "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(**grouped)),
            "qwen2": lambda: t.Qwen2ForCausalLM(t.Qwen2Config(**grouped, tie_word_embeddings=True)),
            "qwen3": lambda: t.Qwen3ForCausalLM(t.Qwen3Config(**grouped, head_dim=8)),
            "gpt2": lambda: t.GPT2LMHeadModel(
                t.GPT2Config(
                    n_embd=64, n_layer=layers, n_head=4, n_positions=256, **spread, **common
                )
            ),
            "gpt-neox": lambda: t.GPTNeoXForCausalLM(t.GPTNeoXConfig(**sizes, **spread, **common)),
            "opt": lambda: t.OPTForCausalLM(
                t.OPTConfig(
                    hidden_size=64,
                    ffn_dim=128,
                    num_hidden_layers=layers,
                    num_attention_heads=4,
                    max_position_embeddings=256,
                    word_embed_proj_dim=32,
                    init_std=0.1,
                    **common,
                )
            ),
        }
        torch.manual_seed(0)
        return makers[family]()

    return make


@pytest.fixture(scope="session")
def original(tiny_model):
    """The model that `exported` was made from."""
    return tiny_model("qwen3")


@pytest.fixture(scope="session")
def exported(original, tokenizer_with_begin, tmp_path_factory):
    """The folder of an exported proxy, which tests leave as it is."""
    for needed in ("onnxruntime", "onnxscript"):
        pytest.importorskip(needed, reason=f"exporting needs {needed}")
    from ragguard.export import export_proxy

    folder = tmp_path_factory.mktemp("exported") / "proxy"
    export_proxy(original, folder, tokenizer=tokenizer_with_begin, max_length=200)
    return folder
