"""All three methods with a language model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import pytest
from rich.progress import Progress

from benchmarks import real_model
from benchmarks.chat import served
from ragguard.attribution import InfluenceScore, RAGForensics, RAGOrigin
from ragguard.passage import Passage
from tests.tiny_models import tiny_model, tiny_tokenizer

__all__ = ["tiny_model", "tiny_tokenizer"]

pytestmark = pytest.mark.timeout(600)  # two graphs are exported before the first test

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


@pytest.mark.slow
@pytest.mark.torch
def test_all_three_methods_run_over_the_endpoint(folder):
    from ragguard.proxy import OnnxGenerator

    model = OnnxGenerator(folder, max_tokens=3, threads=1)
    with served(real_model.spoken(model)) as ask:
        methods = [
            RAGForensics(judge=ask, top_k=3),
            InfluenceScore(generate=ask, samples=2, top_k=3),
            RAGOrigin(proxy="lexical", generate=ask, judge=ask, top_k=3),
        ]
        found = [
            method.attribute(
                "Who designed the Halden bridge?", "Orla Venn", lambda _, n: PASSAGES[:n]
            )
            for method in methods
        ]
    # One call a passage; two samples of three passages, of all and of none.
    assert [one.details["calls"] for one in found[:2]] == [3, 10]
    assert found[2].details["calls"] > 0
    assert all(one.details["input_tokens"] > 100 for one in found)
    assert all(len(one.scores) == 3 for one in found)


@pytest.mark.slow
@pytest.mark.torch
def test_the_tables_of_the_projects_own_data(folder):
    from ragguard.proxy import OnnxGenerator

    def make(**options):
        return OnnxGenerator(folder, **{**options, "max_tokens": 2}, threads=1)

    with Progress(disable=True) as progress:
        found = real_model.run(None, make, half=1, limit=1, samples=2, seed=0, progress=progress)
    assert {row["method"] for row in found["forensics"]} == {
        *("ragforensics", "ragorigin", "ragorigin, asking")
    }
    assert {row["events"] for row in found["forensics"]} == {1}
    assert {row["form"] for row in found["forensics"]} == {"prepend", "plain"}
    assert found["influence_asked"] <= 2
    # Two tokens of random weights state no answer.
    assert found["influence"] == []


@pytest.mark.slow
@pytest.mark.torch
def test_speed_counts_what_is_read_and_written(folder):
    found = real_model.speed(folder, 1)
    assert (found["threads"], found["written"]) == (1, 64)
    assert found["read"] > 100
    assert all(found[name] > 0 for name in ("scope_s", "read_s", "written_s"))
