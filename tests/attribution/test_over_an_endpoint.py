"""All three methods, and the plug-ins of suites, with an exported language model."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from benchmarks.attributors import influence_score, ragforensics_smollm2
from ragguard.attribution import InfluenceScore, RAGForensics, RAGOrigin
from ragguard.passage import Passage
from tests.served import served
from tests.tiny_models import tiny_model, tiny_tokenizer

__all__ = ["tiny_model", "tiny_tokenizer"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.torch,
    pytest.mark.timeout(600),  # two graphs are exported before the first test
]

PASSAGES = [
    Passage("The Halden bridge was designed by Orla Venn, as the town archive shows."),
    Passage("The Halden bridge was designed by the engineer Piet Aster."),
    Passage("Bridges of timber rot where the posts enter the water."),
]


@pytest.fixture(scope="module")
def folder(tiny_model, tiny_tokenizer, tmp_path_factory):
    """An export of a tiny model with random weights, which answers nonsense in every form."""
    transformers = pytest.importorskip("transformers", reason="exporting needs transformers")
    pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    pytest.importorskip("onnxscript", reason="exporting needs onnxscript")
    from ragguard.export import export_proxy
    from ragguard.export.parity import demo_scopes

    model = tiny_model("llama")
    # Rotary positions have no end of their own.
    model.config.max_position_embeddings = 8192
    chatting = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tiny_tokenizer,
        eos_token="<|end|>",
        chat_template="{% for message in messages %}{{ message['content'] }}{% endfor %}",
    )
    out = tmp_path_factory.mktemp("real") / "model"
    export_proxy(
        model, out, tokenizer=chatting, generator=True, max_length=200, scopes=demo_scopes()[:1]
    )
    return out


def attributed(methods):
    return [
        method.attribute("Who designed the Halden bridge?", "Orla Venn", lambda _, n: PASSAGES[:n])
        for method in methods
    ]


def test_all_three_methods_run_over_the_endpoint(folder):
    from ragguard.proxy import OnnxGenerator

    model = OnnxGenerator(folder, max_tokens=3, threads=1)

    def spoken(prompt):
        text = model(prompt)
        usage = {"input_tokens": len(model.tokens(prompt)), "output_tokens": len(text.split())}
        return SimpleNamespace(content=text, usage_metadata=usage)

    with served(spoken) as ask:
        found = attributed(
            [
                RAGForensics(judge=ask, top_k=3),
                InfluenceScore(generate=ask, samples=2, top_k=3),
                RAGOrigin(proxy="lexical", generate=ask, judge=ask, top_k=3),
            ]
        )
    # One call a passage; two samples of three passages, of all and of none.
    assert [one.details["calls"] for one in found[:2]] == [3, 10]
    assert found[2].details["calls"] > 0
    assert all(one.details["input_tokens"] > 100 for one in found)
    assert all(len(one.scores) == 3 for one in found)


def test_the_plugins_ask_the_exported_model(folder, monkeypatch):
    for plugin in (influence_score, ragforensics_smollm2):
        monkeypatch.setattr(plugin, "export_folder", lambda _: folder)
        monkeypatch.setattr(plugin, "_TOKENS", 2)
    setting = SimpleNamespace(k=3, seed=0)
    made = [plugin.ATTRIBUTOR.make(setting) for plugin in (influence_score, ragforensics_smollm2)]
    sampled, judged = attributed(made)
    # Five samples of each passage, of all and of none; one judgement a passage.
    assert (sampled.details["calls"], judged.details["calls"]) == (25, 3)
    # Two tokens of random weights are neither yes nor no.
    assert len(judged.details["unreadable"]) == 3
