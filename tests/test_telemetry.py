"""Spans and attributes: counts and names, never a text."""

import json
import time
from types import SimpleNamespace

import pytest

from ragguard import Guard, Passage
from ragguard.errors import EmbeddingError
from ragguard.inline.screening import screened
from ragguard.telemetry import SPAN, attributes

QUESTION = "When was the lighthouse of Marrow Bay built?"
POISON = [f"{QUESTION} It was built in 19{year} by the crown." for year in (11, 12, 13)]
QUIET = ["Wool was sold on Mondays by the church.", "A mill stood by the ford until the flood."]
SET = [Passage(text, id=f"p{place}") for place, text in enumerate([*POISON, *QUIET])]


@pytest.fixture(scope="module")
def exporter():
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="needs opentelemetry-sdk")
    from opentelemetry import trace
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(exporter):
    exporter.clear()
    return lambda: [span for span in exporter.get_finished_spans() if span.name == SPAN]


def test_what_a_verdict_comes_to():
    with Guard() as guard:
        clean, attacked = guard.filter("Who sold wool?", QUIET), guard.filter(QUESTION, SET)
    assert attributes(clean) == {
        "ragguard.mode": "filter",
        "ragguard.attacked": False,
        "ragguard.p_value": clean.p_value,
        "ragguard.kept": 2,
        "ragguard.dropped": 0,
        "ragguard.marked": 0,
        "ragguard.failed": False,
    }
    assert "evidence" not in clean.__dict__
    found = attributes(attacked)
    assert found["ragguard.verdict_id"] == attacked.id
    assert (found["ragguard.dropped"], found["ragguard.flagged"]) == (3, 3)
    assert (found["ragguard.quarantined"], found["ragguard.undecided"]) == (0, 0)
    assert found["ragguard.signals"] == ["verbatim_at_boundary"]


@pytest.mark.parametrize("how", ["filter", "filter_batch"])
def test_a_span_a_verdict_without_texts_or_ids(spans, how):
    with Guard() as guard:
        if how == "filter":
            guard.filter(QUESTION, SET)
        else:
            guard.filter_batch([(QUESTION, SET)])
    (span,) = spans()
    told = dict(span.attributes)
    assert told["gen_ai.operation.name"] == "run_guardrail"
    assert told["gen_ai.security.guardrail.name"] == "ragguard"
    assert told["ragguard.dropped"] == 3
    assert tuple(told["ragguard.signals"]) == ("verbatim_at_boundary",)
    assert span.end_time > span.start_time
    everything = span.to_json()
    assert "lighthouse" not in everything
    assert "p0" not in json.dumps(list(told.values()))


def test_in_a_batch_each_span_begins_before_its_set_is_read(spans, monkeypatch):
    read = []

    def noting(*args):
        read.append(time.time_ns())
        return screened(*args)

    monkeypatch.setattr("ragguard.filtering.screened", noting)
    with Guard() as guard:
        guard.filter_batch([(QUESTION, SET), ("Who sold wool?", QUIET)])
    first, second = spans()
    assert first.start_time <= read[0] <= second.start_time <= read[1] <= first.end_time


async def test_an_asynchronous_call_has_its_span_below_the_callers(spans):
    from opentelemetry import trace

    with Guard() as guard, trace.get_tracer("test").start_as_current_span("outer") as outer:
        await guard.afilter(QUESTION, SET)
    (span,) = spans()
    assert span.parent.span_id == outer.get_span_context().span_id


def test_an_error_ends_its_span_and_names_its_class_alone(spans):
    class Down:
        name = "down"

        def embed(self, texts):
            raise EmbeddingError("no route to 10.1.1.1")

    with (
        Guard.ragdefender(embedder=Down(), on_error="raise") as guard,
        pytest.raises(EmbeddingError),
    ):
        guard.filter(QUESTION, SET)
    (span,) = spans()
    assert span.attributes["error.type"] == "EmbeddingError"
    assert "10.1.1.1" not in span.to_json()


def test_tracing_that_fails_costs_no_verdict(monkeypatch, caplog):
    def fail(*_, **__):
        raise OSError("the collector is down")

    span = SimpleNamespace(is_recording=fail, set_attribute=fail, end=fail)
    with Guard() as guard:
        for start in (fail, lambda *_, **__: span):
            monkeypatch.setattr(guard._parts.filtering._spans, "_start", start)
            assert len(guard.filter(QUESTION, SET).dropped) == len(POISON)
    assert "no span is told (1 times so far): the collector is down" in caplog.text


def test_without_the_library_there_are_no_spans(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry", None)
    with Guard() as guard:
        assert guard.filter(QUESTION, SET).dropped
