"""Trains a very small proxy on the demo's passages."""

from __future__ import annotations

import json
import shutil
from random import Random

import numpy as np
import pytest

from ragguard.demo.corpus import load_corpus
from ragguard.errors import InvalidInputError, ProxyError
from ragguard.proxy.prompt import PromptEncoder, PromptFormat
from ragguard.proxy.training import Corpus, Settings, Shape, train_proxy
from ragguard.proxy.training.examples import ExampleSource, cloze, fact_list, fresh

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("transformers", reason="training needs transformers")
pytest.importorskip("onnxscript", reason="exporting needs onnxscript")
pytest.importorskip("onnxruntime", reason="exporting needs onnxruntime")

from ragguard.proxy import OnnxProxy, default  # noqa: E402
from ragguard.proxy.training import loop as loop_module  # noqa: E402
from ragguard.proxy.training.loop import Loop, losses  # noqa: E402
from ragguard.proxy.training.optimizer import Optimizer, orthogonal  # noqa: E402
from ragguard.proxy.training.packing import pack  # noqa: E402
from ragguard.proxy.training.shape import make_model, train_tokenizer  # noqa: E402

pytestmark = pytest.mark.torch

CORPUS = Corpus((), tuple(passage.text for passage in load_corpus().passages))
LEARNER = Shape(512, 64, 128, 2, 4, length=192, rows=8, learning_rate=5e-3)
MINIMAL = Shape(300, 16, 32, 1, 2, length=128, rows=2, learning_rate=1e-3)


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def trained(tmp_path_factory, _one_thread):
    folder = tmp_path_factory.mktemp("training") / "proxy"
    return folder, train_proxy(CORPUS, folder, Settings(LEARNER, steps=300))


class TestTrainProxy:
    def test_the_loss_falls_on_what_was_kept_back(self, trained):
        log = trained[1].log
        assert log[-1]["step"] == trained[1].steps == 300
        for name in ("held_out_query_loss", "held_out_response_loss"):
            assert log[-1][name] < log[0][name] - 1.0

    def test_a_copied_answer_scores_above_a_random_one(self, trained):
        """Each context is paired with itself, another made-up name in place of the answer."""
        proxy, rng, margins = OnnxProxy(trained[0], threads=1), Random(7), []
        held_out = CORPUS.split()[1].passages
        while len(margins) < 100:
            example = cloze(rng.choice(held_out), rng) or fact_list(rng)
            other = example.context.replace(example.answer, fresh(example.answer, rng))
            if other != example.context:
                stated, unstated = proxy.score(
                    [example.context, other], example.question, example.answer
                ).generation_influence
                margins.append(stated - unstated)
        # By chance half of them are positive, and 65 of a hundred once in a thousand tries.
        assert np.sum(np.array(margins) > 0) >= 65
        assert np.mean(margins) > 0

    def test_the_folder_says_what_it_is(self, trained):
        folder, result = trained
        record = json.loads((folder / "training.json").read_text())
        assert record["steps"] == 300
        assert record["log"] == result.log
        assert record["plans"] == [[0, 300]]
        assert record["settings"]["shape"]["hidden"] == 64
        card = (folder / "README.md").read_text()
        assert f"{result.parameters:,} parameters" in card
        assert f"{result.log[-1]['held_out_response_loss']:.3f}" in card
        assert result.manifest.precision in ("int8", "fp16-weights", "fp32")
        assert default(folder).manifest == result.manifest

    def test_a_finished_folder_is_not_overwritten(self, trained):
        with pytest.raises(ProxyError, match="pass a new folder"):
            train_proxy(CORPUS, trained[0], Settings(LEARNER, steps=300))

    def test_a_run_of_other_settings_is_not_gone_on_with(self, trained, tmp_path):
        shutil.copytree(trained[0] / "training", tmp_path / "run" / "training")
        with pytest.raises(InvalidInputError, match="other settings or texts"):
            train_proxy(CORPUS, tmp_path / "run", Settings(LEARNER, steps=300, seed=1))


@pytest.mark.parametrize(
    "given",
    [{}, {"steps": 1, "minutes": 1.0}, {"steps": 0}, {"minutes": 0.0}, {"minutes": float("nan")}],
)
def test_settings_that_cannot_be_met_are_refused(given):
    with pytest.raises(InvalidInputError, match=r"steps|minutes"):
        Settings(**given)


class StopHereError(Exception):
    pass


class InterruptedSource(ExampleSource):
    """Stops a run in the middle of its fourth batch."""

    def __init__(self, corpus):
        super().__init__(corpus)
        self.generators = set()

    def draw(self, rng, progress=1.0):
        self.generators.add(rng)
        if len(self.generators) == 4:
            raise StopHereError
        return super().draw(rng, progress)


@pytest.fixture
def new_loop(tmp_path):
    kept, held_out = CORPUS.split()
    tokenizer = train_tokenizer(kept.passages, MINIMAL)

    def make(name, source=ExampleSource, **given):
        torch.manual_seed(0)
        return Loop(
            **{
                "model": make_model(MINIMAL, tokenizer.get_vocab_size()),
                "encoder": PromptEncoder(tokenizer, PromptFormat(), MINIMAL.length),
                "shape": MINIMAL,
                "train": source(kept),
                "held_out": ExampleSource(held_out),
                "seed": 0,
                "steps": 6,
                "minutes": None,
                "checkpoint": tmp_path / f"{name}.pt",
                "identity": "same",
                **given,
            }
        )

    return make


def weights(loop):
    return {name: value.numpy() for name, value in loop.model.state_dict().items()}


class TestOptimizer:
    def test_steps_of_matrices_are_orthogonal(self):
        for shape in ((24, 24), (64, 24), (24, 64)):
            given = torch.randn(shape, generator=torch.Generator().manual_seed(1))
            found = orthogonal(given)
            values = torch.linalg.svdvals(found)
            assert values.min() > 0.5
            assert values.max() < 1.3
            left, _, right = torch.linalg.svd(given, full_matrices=False)
            assert (
                torch.nn.functional.cosine_similarity(
                    found.flatten(), (left @ right).flatten(), dim=0
                )
                > 0.95
            )

    def test_a_matrix_steps_three_times_the_rate_and_by_its_shape(self):
        torch.manual_seed(0)
        model = make_model(MINIMAL, 300)
        weight = model.model.layers[0].mlp.gate_proj.weight
        before = weight.detach().clone()
        model(input_ids=torch.tensor([[1, 2, 3]])).logits.sum().backward()
        for parameter in model.parameters():
            parameter.grad = torch.randn(
                parameter.shape, generator=torch.Generator().manual_seed(2)
            )
        Optimizer(model).step(0.01)
        length = torch.linalg.svdvals((weight - before).detach()).max()
        # 32 x 16: a height twice the width.
        assert float(length) == pytest.approx(0.03 * 2**0.5, rel=0.3)
        assert all(parameter.grad is None for parameter in model.parameters())


class TestLoop:
    def test_a_seed_decides_the_weights(self, new_loop):
        runs = [new_loop("a"), new_loop("b"), new_loop("c", seed=1)]
        for run in runs:
            run.run()
        one, same, other = map(weights, runs)
        assert all(np.array_equal(one[name], same[name]) for name in one)
        assert any(not np.array_equal(one[name], other[name]) for name in one)
        assert runs[0].log[-1]["held_out_query_loss"] == runs[1].log[-1]["held_out_query_loss"]

    def test_an_interrupted_run_ends_as_one_that_was_not(self, new_loop, monkeypatch):
        monkeypatch.setattr(loop_module, "_CHECKPOINT_SECONDS", -1.0)
        whole, broken = new_loop("whole"), new_loop("broken", InterruptedSource)
        whole.run()
        with pytest.raises(StopHereError):
            broken.run()
        assert broken.step == 3
        resumed = new_loop("broken")
        resumed.run()
        assert resumed.step == 6
        one, same = weights(whole), weights(resumed)
        assert all(np.array_equal(one[name], same[name]) for name in one)
        with pytest.raises(InvalidInputError, match="other settings"):
            new_loop("broken", identity="other").run()

    def test_the_context_is_predicted_too_and_every_fourth_batch_is_of_long_rows(self, new_loop):
        run = new_loop("dense")
        batches = [setattr(run, "step", step) or run._batch() for step in range(5)]
        full, half = (2, 128), (4, 64)
        assert [batch.tokens.shape for batch in batches] == [full, half, half, half, full]
        shares = [batch.context.sum() / (batch.positions > 0).sum() for batch in batches]
        assert 0.05 < np.mean(shares) < 0.2
        run.steps, run.step = 1, 0
        run.run()
        assert run.log[-1]["context_loss"] > 1.0

    def test_a_run_that_is_gone_on_with_may_end_sooner(self, new_loop, monkeypatch):
        monkeypatch.setattr(loop_module, "_CHECKPOINT_SECONDS", -1.0)
        with pytest.raises(StopHereError):
            new_loop("sooner", InterruptedSource).run()
        with pytest.raises(InvalidInputError, match="at step 3; pass at least as many steps"):
            new_loop("sooner", steps=2).run()
        shorter = new_loop("sooner", steps=4)
        shorter.run()
        assert shorter.step == 4
        assert shorter.plans == [[0, 6], [3, 4]]

    def test_minutes_become_steps_after_the_warm_up(self, new_loop):
        run = new_loop("minutes", steps=None, minutes=1e-6)
        run.run()
        assert run.steps == run.step == 2 * loop_module.WARM_UP

    def test_a_prompt_does_not_see_its_neighbours(self, new_loop):
        run = new_loop("blind")
        batch = pack(run.train.draw, run.encoder, 1, 3 * MINIMAL.length, Random(0))
        first = batch.prompts[0] == 0
        later = batch.prompts[0] > 0
        assert later.any()
        batch.query[0, later] = batch.response[0, later] = False
        before = [float(loss.detach()) for loss in losses(run.model, batch)]
        assert before[2] == 0.0
        batch.tokens[0, later] = 7
        assert [float(loss.detach()) for loss in losses(run.model, batch)] == before
        # The same prompt alone, through the model's own loss-free forward pass.
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            tokens = torch.from_numpy(batch.tokens[:, first])
            logits = run.model(input_ids=tokens).logits[0].float().log_softmax(-1)
        at = np.flatnonzero(batch.response[0, first])
        expected = -float(logits[at - 1, batch.tokens[0, first][at]].mean())
        assert before[1] == pytest.approx(expected, abs=0.02)
