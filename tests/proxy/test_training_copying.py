"""First weights that copy."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("transformers", reason="training needs transformers")

from ragguard.proxy.training.shape import SHAPES, Shape, make_model  # noqa: E402

pytestmark = pytest.mark.torch

SMALLER = Shape(1024, 96, 128, 2, 2, length=128, rows=1, learning_rate=1e-3)
ONE_LAYER = Shape(512, 32, 64, 1, 2, length=64, rows=1, learning_rate=1e-3)


def surprise(model, tokens):
    """Return each token's negative log-probability but the first's, nats."""
    with torch.no_grad():
        of_next = model(input_ids=tokens).logits.log_softmax(-1)[:, :-1]
    return -of_next.gather(2, tokens[:, 1:, None])[..., 0]


def random_tokens(vocabulary, length, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, vocabulary, (4, length), generator=generator)


@pytest.fixture(scope="module", params=["tiny", "small"])
def model(request):
    torch.manual_seed(0)
    shape = SHAPES[request.param]
    return make_model(shape, shape.vocabulary)


class TestANewModel:
    def test_expects_what_it_has_read_before_to_go_on(self, model):
        once = random_tokens(model.config.vocab_size, 40)
        found = surprise(model, torch.cat([once, once], dim=1))
        first, again = (float(part.mean()) for part in (found[:, :39], found[:, 40:]))
        # A uniform guess, and a third of it or less.
        assert first == pytest.approx(math.log(model.config.vocab_size), rel=0.1)
        assert again < first / 3

    def test_goes_on_after_the_very_token_and_not_the_place(self, model):
        once = random_tokens(model.config.vocab_size, 40)
        moved = torch.roll(once, 17, dims=1)
        found = surprise(model, torch.cat([once, moved], dim=1))
        assert found[:, 41:].mean() < found[:, :39].mean() / 3

    def test_expects_nothing_of_tokens_in_another_order(self, model):
        once = random_tokens(model.config.vocab_size, 40)
        mixed = once[:, torch.randperm(40, generator=torch.Generator().manual_seed(3))]
        ordered = surprise(model, torch.cat([once, once], dim=1))[:, 40:].mean()
        assert surprise(model, torch.cat([once, mixed], dim=1))[:, 40:].mean() > 2 * ordered


def test_it_is_drawn_from_the_random_state():
    weights = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        weights.append(make_model(SMALLER, 1024).model.layers[1].self_attn.q_proj.weight)
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_a_model_of_one_layer_starts_quietly():
    torch.manual_seed(0)
    model = make_model(ONE_LAYER, 512)
    assert not model.model.layers[0].self_attn.o_proj.weight.any()
    assert not model.model.layers[0].mlp.down_proj.weight.any()
