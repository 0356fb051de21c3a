"""All three methods with a language model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import pytest
from rich.progress import Progress

from benchmarks import real_model
from benchmarks.chat import served
from benchmarks.influence import Event
from benchmarks.misgeneration import Selection
from ragguard.attribution import InfluenceScore, RAGForensics, RAGOrigin
from ragguard.attribution.ragforensics import read_label
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
    judged = {(row["method"], row["form"]): row for row in found["model_judges"]}
    methods = {"ragforensics", "ragforensics, yes or no", "ragorigin", "ragorigin, asking"}
    assert set(judged) == {(method, form) for method in methods for form in ("prepend", "plain")}
    assert {row["events"] for row in judged.values()} == {1}
    # Two tokens of random weights are neither yes nor no, and state no answer.
    assert judged["ragforensics", "plain"]["unreadable"] == 1.0
    assert judged["ragorigin", "plain"]["unreadable"] == 0.0
    # The project's own questions have fewer hits than the five of the other table.
    assert found["model_samples"] == []


@pytest.mark.slow
@pytest.mark.torch
def test_places_of_the_planted_passage(folder, monkeypatch):
    from ragguard.proxy import OnnxGenerator

    def planted(target, seed):
        texts = ("Nobody knows.", "It may be so.", *(passage.text for passage in PASSAGES))
        yield "plain", Event(target, tuple(map(Passage, texts)), seed)

    monkeypatch.setattr(real_model, "events", planted)
    model = OnnxGenerator(folder, max_tokens=2, temperature=0.7, threads=1)
    for misled in (False, True):
        monkeypatch.setattr(real_model, "says", lambda *_, misled=misled: misled)
        with Progress(disable=True) as progress:
            found = real_model.sampled(Selection(None, 1, 0, 1), model, 2, progress)
        assert [row["counted"] for row in found] == (["all", "misled"] if misled else ["all"])
        # Two samples of each passage, of all and of none.
        assert {(row["form"], row["events"], row["calls"]) for row in found} == {("plain", 1, 14)}
        assert all(0.0 <= row["top_1"] <= row["top_3"] <= 1.0 for row in found)


def test_the_short_prompt_of_the_judge():
    asked = real_model.yes_or_no_prompt("Who built it?", "Orla Venn built it.", "Orla Venn")
    assert asked.startswith("Orla Venn built it.\n\nQuestion: Who built it?\nAnswer: Orla Venn\n")
    assert [read_label(answer) for answer in ("Yes.", "No, it does not.", "It may.")] == [
        *(True, False, None)
    ]


@pytest.mark.slow
@pytest.mark.torch
def test_speed_counts_what_is_read_and_written(folder):
    found = real_model.speed(folder, 1)
    assert (found["threads"], found["written"]) == (1, 64)
    assert found["read"] > 100
    assert all(found[name] > 0 for name in ("scope_s", "read_s", "written_s"))


def test_its_tables_by_hand():
    row = {"form": "plain", "events": 7, "scope": 20.0}
    judges = [
        {"method": "ragorigin", "dacc": 0.9, "fpr": 0.05, "fnr": 0.2, "unreadable": 0.0, **row},
        {"method": "ragforensics", "dacc": 0.2, "fpr": 0.0, "fnr": 1.0, "unreadable": 0.9, **row},
    ]
    ranked = {
        **{"counted": "misled", "form": "prepend", "events": 4, "found": 0.5, "calls": 35.0},
        **{"top_1": 0.25, "top_2": 0.5, "top_3": 0.75, "words_read": 3865.4},
    }
    found = real_model.tables({"model_judges": judges, "model_samples": [ranked]})
    judging, sampling, speed = found
    assert judging.rows == (
        ("RAGOrigin, lexical proxy", "plain", "7", "90.0 / 5.0 / 20.0", ""),
        ("RAGForensics, our prompt", "plain", "7", "20.0 / 0.0 / 100.0", "90 %"),
    )
    assert sampling.rows == (
        ("the model was misled", "question in front", "4", "25 / 50 / 75", "50 %", "35", "3,865"),
    )
    assert speed.rows == ()
